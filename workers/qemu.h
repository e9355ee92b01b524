#pragma once
/*
 * One QEMU process: its command line, its monitor and the two ways to bring a guest up (cold, or
 * as a clone of a template). Knows nothing of uids, rows or frames; whoever calls has dropped its
 * privileges already (the shim), or does not need to (image building).
 *
 * The guest's only ways out are the channel (virtio-serial port "asb") and the serial console, of
 * which the last 64 KiB are kept. There is no network device.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"
#include "err.h"

struct pool;

#define QEMU_PROGRAM "/usr/bin/qemu-system-x86_64"
/* All of the command line that is the same for each box. Memory and device state only fit the
 * machine they were saved from: this is part of a template's key. */
const char *qemu_machine_line(struct pool *pool, bool kvm);

struct qemu_spec {
	const char *marker;    /* -name: "asb-SITE-BOX", what process scans match */
	const char *image_dir; /* holds root.img, vmlinuz, initrd */
	const char *disk;      /* this box's writable disk (sparse file) */
	int64_t memory_bytes;
	int64_t cpus;
	/* a clone of a template: all three, else -1: cold boot */
	int mem_fd;   /* sealed memfd with the template's memory */
	int state_fd; /* device state, opened anew for this clone */
	/* making a template: memory in this file, shared */
	const char *mem_path; /* NULL but when a template is made */
	bool kvm;	      /* false: TCG */
};

struct qemu {
	struct child child;
	int channel; /* our end of the byte stream; the caller's */
	int qmp;     /* our end of the monitor */
	int console; /* our end of the console, read it into a ring or QEMU blocks */
};

/* Starts QEMU and returns when the guest's processors run: cold at once, a clone after
 * migrate-incoming and cont. Everything it opened is in *q; on failure nothing is left. */
bool qemu_start(
	struct pool *pool, const struct qemu_spec *spec, struct qemu *q, struct err *err) NODISCARD;
/* Kills the process if it lives and closes what is open. */
void qemu_kill(struct qemu *q);
/* stop and cont of the guest's processors. The caller sends CLOCK after a cont. */
bool qemu_pause(struct qemu *q, struct err *err) NODISCARD;
bool qemu_resume(struct qemu *q, struct err *err) NODISCARD;
/* What the running machine really is, asked of QEMU and not of its command line. */
struct qemu_facts {
	int64_t nics; /* network controllers on the PCI bus */
	int64_t memory_bytes;
	int64_t cpus;
};
bool qemu_inspect(struct qemu *q, struct qemu_facts *out, struct err *err) NODISCARD;
/* Template making: with the guest stopped, writes the device state to fd (x-ignore-shared). */
bool qemu_save(struct qemu *q, int fd, struct err *err) NODISCARD;
