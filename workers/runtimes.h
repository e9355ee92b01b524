#pragma once
/*
 * THE table of runtimes: what a box can be made of. Above it nothing knows what QEMU is; below it
 * nothing knows what a run or a frame is. asb-spawn asks a row what a process of it must look like
 * (inspect), asb-shim starts and ends one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "qemu.h"

struct pool;

struct runtime_spec {
	const char *marker;    /* "asb-SITE-BOX" */
	const char *image_dir; /* of the image it boots */
	const char *disk;      /* its writable disk */
	const char *run_dir;   /* the box's, with its socket */
	const char *program;   /* process: the asb-boxd to run */
	int64_t memory_bytes;
	int64_t cpus;
	int mem_fd, state_fd; /* a template's, or both -1 */
};

/* A live box. channel is always there; console and qmp are -1 where a runtime has none. */
struct runtime_box {
	struct qemu vm;
};

/* What the command line of the process says it is. */
struct runtime_facts {
	int64_t memory_bytes;
	int64_t cpus;
	int64_t nics;
};

struct runtime {
	const char *name;
	const char *isolation; /* the class shown on every box */
	bool has_image;	       /* boots from an image and needs a disk */
	bool confined;	       /* the shim's seccomp filter is put on before it starts */
	bool is_container;     /* asb-spawn starts it (container.h); the rest of the row is empty */
	bool (*start)(struct pool *pool, const struct runtime_spec *spec, struct runtime_box *out,
		struct err *err);
	/* Kills what lives and closes what is open. */
	void (*destroy)(struct runtime_box *box);
	/* Reads the arguments of a running process, argv[argc] included being NULL. */
	bool (*inspect)(char *const *argv, size_t argc, struct runtime_facts *out, struct err *err);
	/* Stops it where it stands, and lets it go on. NULL: the runtime cannot, and has no pool.
	 */
	bool (*pause)(struct runtime_box *box, struct err *err);
	bool (*resume)(struct runtime_box *box, struct err *err);
	/* Network devices that the machine has in truth, whatever its arguments said. */
	bool (*count_nics)(struct runtime_box *box, int64_t *out, struct err *err);
};

extern const struct runtime runtime_docker;
extern const struct runtime runtime_msb;
extern const struct runtime runtime_podman;
extern const struct runtime runtime_qemu;
#ifdef ASB_TEST
/* asb-boxd as a plain process, for load and kill-point tests: no isolation at all. */
extern const struct runtime runtime_process;
#endif

/* NULL: no runtime of that name in this build. */
const struct runtime *runtime_find(const char *name);
/* The first row, then the next ones, NULL at the end: for doctor and for tests. */
const struct runtime *runtime_at(size_t i);
