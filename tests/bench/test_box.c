/*
 * bench box: what a fresh microVM takes for each of the exchanges that stand between a job and its
 * first process, one after the other, QEMU alone. Everything a guest does for the first time costs
 * its translation.
 *
 *	test_box [ROUNDS]
 */
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

#define ROUNDS_MAX 200
#define AGAIN_TIMES 30

enum step { START, HELLO, READY, PROBE, EXEC, AGAIN, TOTAL, STEP__COUNT };
static const char *const step_names[] = {
	[START] = "start_ms",
	[HELLO] = "hello_ms",
	[READY] = "ready_ms",
	[PROBE] = "probe_ms",
	[EXEC] = "exec_ms",
	[AGAIN] = "again_ms",
	[TOTAL] = "total_ms",
};

static double lap(double *last)
{
	double now = now_ms(), took = now - *last;

	*last = now;
	return took;
}

static void need(bool ok, const char *what, const struct err *err)
{
	if (!ok)
		bench_fail(what, err);
}

static void exec_once(struct vm *vm)
{
	static const char *const argv[] = {"/bin/true", NULL};
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	struct err err = {0};

	need(boxlink_exec(&vm->link, vm->next_stream++, "agent", argv, 30000, &e, &err), "exec",
		&err);
}

static void once(struct vms *v, double took[STEP__COUNT])
{
	CLEANUP(json) struct json_object *hello = NULL, *ready = NULL;
	double from = now_ms(), last = from, again[AGAIN_TIMES];
	struct err err = {0};
	struct vm vm;

	vm_start(v, &v->tpl, &vm);
	took[START] = lap(&last);
	need(boxlink_hello(&vm.link, 60000, &hello, &err), "hello", &err);
	took[HELLO] = lap(&last);
	need(boxlink_welcome(&vm.link, "bench", time_now_ms(), 60000, &ready, &err), "welcome",
		&err);
	took[READY] = lap(&last);
	need(vm_probe(&vm, NULL, &err), "probe", &err);
	took[PROBE] = lap(&last);
	exec_once(&vm);
	took[EXEC] = lap(&last);
	took[TOTAL] = last - from;
	for (int i = 0; i < AGAIN_TIMES; i++) {
		exec_once(&vm);
		again[i] = lap(&last);
	}
	took[AGAIN] = bench_rank(again, AGAIN_TIMES, 50);
	vm_stop(&vm);
}

int main(int argc, char **argv)
{
	static double all[STEP__COUNT][ROUNDS_MAX];
	double took[STEP__COUNT];
	int64_t rounds = 10;
	struct vms v;

	if (argc > 1 && !text_to_i64(argv[1], 1, ROUNDS_MAX, &rounds)) {
		(void)fprintf(stderr, "usage: test_box [ROUNDS]\n");
		return 2;
	}
	vms_init(&v);
	vms_template(&v);
	once(&v, took); /* pages of QEMU and of the image come in */
	for (int64_t i = 0; i < rounds; i++) {
		once(&v, took);
		for (int s = 0; s < STEP__COUNT; s++)
			all[s][i] = took[s];
	}
	(void)printf("bench box");
	for (int s = 0; s < STEP__COUNT; s++)
		(void)printf(" %s=%.0f", step_names[s], bench_rank(all[s], (size_t)rounds, 50));
	(void)printf(" n=%lld\n", (long long)rounds);
	vms_done(&v);
	return 0;
}
