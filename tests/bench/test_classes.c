/*
 * bench classes: for each size class a template (made where it is not in the cache: minutes under
 * emulation for the large ones), then clones of it. What the guest says of its memory, processors
 * and disk is compared with the class, so this is also the test that the large ones start at all.
 *
 *	test_classes [ROUNDS]
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "benchsite.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "vm.h"

#define ROUNDS_MAX 50

static void need(bool ok, const char *what, const char *got)
{
	struct err err;

	if (ok)
		return;
	(void)err_set(&err, ERR_UPSTREAM, "%.150s", got);
	bench_fail(what, &err);
}

/* "BYTES-OF-MEMORY CPUS BYTES-OF-DISK" as df and /proc have it. */
static void machine_check(struct vms *v, struct vm *vm)
{
	const char *text = vm_output(v, vm,
		"echo $(($(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo) * 1024)) "
		"$(nproc) $(df -B1 --output=size / | tail -n 1)");
	int64_t memory = 0, cpus = 0, disk = 0;

	need(sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &memory, &cpus, &disk) == 3,
		"machine", text);
	/* the kernel keeps a part for itself, the file system for its tables */
	need(memory <= v->size->memory_bytes && memory > v->size->memory_bytes * 9 / 10, "memory",
		text);
	need(cpus == v->size->cpus, "processors", text);
	need(disk <= v->size->disk_bytes && disk > v->size->disk_bytes * 9 / 10, "disk", text);
}

static double hello_once(struct vms *v)
{
	CLEANUP(json) struct json_object *hello = NULL;
	double start = now_ms(), took;
	struct err err = {0};
	struct vm vm;

	vm_start(v, &v->tpl, &vm);
	if (!boxlink_hello(&vm.link, 60000, &hello, &err))
		bench_fail("hello", &err);
	took = now_ms() - start;
	if (!boxlink_welcome(&vm.link, "bench", time_now_ms(), 60000, NULL, &err))
		bench_fail("welcome", &err);
	machine_check(v, &vm);
	vm_stop(&vm);
	return took;
}

int main(int argc, char **argv)
{
	double hello[ROUNDS_MAX];
	int64_t rounds = 5;
	struct vms v;

	if (argc > 1 && !text_to_i64(argv[1], 1, ROUNDS_MAX, &rounds)) {
		(void)fprintf(stderr, "usage: test_classes [ROUNDS]\n");
		return 2;
	}
	vms_init(&v);
	(void)printf("bench classes");
	for (v.size = size_classes; v.size->name; v.size++) {
		double start = now_ms();

		vms_template(&v);
		(void)printf(" %s_template_ms=%.0f", v.size->name, now_ms() - start);
		(void)hello_once(&v); /* pages of QEMU and of the image come in */
		for (int64_t i = 0; i < rounds; i++)
			hello[i] = hello_once(&v);
		(void)printf(" %s_hello_ms_p50=%.0f", v.size->name,
			bench_rank(hello, (size_t)rounds, 50));
		(void)fflush(stdout);
		cleanup_template(&v.tpl);
		v.tpl = TEMPLATE_INIT;
	}
	(void)printf(" n=%" PRId64 "\n", rounds);
	vms_done(&v);
	return 0;
}
