#pragma once
/*
 * Real guests for tests and benches: the image is built and the template made where they are not
 * in the cache yet (ASB_CACHE_DIR, else /var/cache/agent-sandbox). Whatever fails here ends the
 * test program with a line saying why.
 */
#include <stdbool.h>
#include <stdint.h>

#include "boxlink.h"
#include "qemu.h"
#include "template.h"

struct pool;

/* What a test program holds from its first guest to its last. */
struct vms {
	struct pool *pool;
	const char *cache_dir;
	char dir[64]; /* for disks; removed by vms_done */
	struct image image;
	const struct size_class *size;
	struct template tpl; /* loaded by vms_template */
};
void vms_init(struct vms *v);
void vms_template(struct vms *v); /* made if need be, found and loaded */
void vms_done(struct vms *v);

struct vm {
	struct qemu q;
	struct boxlink link;
	const char *disk;
	uint32_t next_stream;
};
/* Starts a guest: a clone of tpl, or cold where tpl is NULL. Nothing was said to it yet. */
void vm_start(struct vms *v, const struct template *tpl, struct vm *vm);
/* Cold, with the guest's memory in this file, as template making does it. */
void vm_start_shared(struct vms *v, const char *mem_path, struct vm *vm);
/* HELLO (returned if wanted), WELCOME with the host's time, READY. */
void vm_open(struct vm *vm, const char *hostname, struct json_object **hello);
void vm_stop(struct vm *vm);

/* Runs a bash script as agent, wants exit code 0, returns its output in the pool. */
const char *vm_output(struct vms *v, struct vm *vm, const char *script);
/* The whole of a small file of the host. */
const char *host_file(struct pool *pool, const char *path);
/* Milliseconds on a clock that nothing sets. */
double now_ms(void);

/* Makes a call that takes `err` last and fails the test with its message. cmocka.h comes first. */
#define assert_done(call)                                    \
	do {                                                 \
		struct err err_ = {0}, *err = &err_;         \
		if (!(call))                                 \
			fail_msg("%s: %s", #call, err_.msg); \
	} while (0)
/* PROBE of a box that has no gate: the test refuses in its place. The caller's to put. */
bool vm_probe(struct vm *vm, struct json_object **out, struct err *err) NODISCARD;
