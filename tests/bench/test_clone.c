/*
 * bench clone, three things in turns on the same machine: a fresh microVM from nothing to its
 * answer to ATTACH (disk copy included, QEMU alone); on the site that with-site names, a job from
 * its row to the end of the first process that the box runs, which is a script of `true`; and
 * `podman run` of the same image's `true`. `ratio` is the first by the third. On a site with a
 *pool: jobs alone, each of which takes its box out of it.
 *
 *	test_clone [ROUNDS] [PODMAN-ARGUMENT...]     the arguments end with the image and command
 *	test_clone pool [ROUNDS]
 */
#include <sys/resource.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "benchsite.h"
#include "child.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "vm.h"

#define ROUNDS_MAX 200
#define PODMAN_MS 60000

/* Processor time of ended children: what a clone costs, also on a machine that is busy. */
static double children_cpu_ms(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static double clone_once(struct vms *v, double *cpu)
{
	double cpu_before = children_cpu_ms();
	CLEANUP(json) struct json_object *hello = NULL;
	double start = now_ms(), took;
	struct err err = {0};
	struct vm vm;

	vm_start(v, &v->tpl, &vm);
	if (!boxlink_hello(&vm.link, 60000, &hello, &err)) {
		(void)fprintf(stderr, "clone: %s\n", err.msg);
		exit(1);
	}
	took = now_ms() - start;
	vm_stop(&vm);
	*cpu = children_cpu_ms() - cpu_before;
	return took;
}

static double podman_once(const char *const *argv)
{
	struct child c = {.argv = argv, .env = (const char *const *)environ};
	double start = now_ms();
	struct err err = {0};
	int status = 0;

	if (!child_start(&c, &err) || !child_wait(&c, PODMAN_MS, &status, &err) || status) {
		(void)fprintf(stderr, "podman: status %d %s\n", status, err.msg);
		exit(1);
	}
	return now_ms() - start;
}

/* Where the time of a run goes, by the times in its rows. */
enum step { STEP_EXEC, STEP_CLAIM, STEP_READY, STEP_TREE, STEP_RUN, STEP__COUNT };
static const char *const step_names[] = {
	[STEP_EXEC] = "job_to_exec_ms_p50",
	[STEP_CLAIM] = "claim_ms",
	[STEP_READY] = "ready_ms",
	[STEP_TREE] = "tree_ms",
	[STEP_RUN] = "run_ms",
};

static void job_once(struct cli *cli, double step[STEP__COUNT])
{
	const char *session = bench_delegate(cli, "true", 60000);
	CLEANUP(json) struct json_object *run = bench_run(cli, session);
	double made = bench_ms_of(cli_text(run, "created_at"));
	double claimed = bench_ms_of(cli_text(run, "started_at"));
	double ready = bench_ms_of(cli_text(json_get(run, "box"), "ready_at"));
	double running = bench_row_ms(run, "system"), ended = bench_row_ms(run, "result");
	struct err err = {0};

	if (strcmp(cli_text(run, "state"), "done") || ended == 0) {
		(void)err_set(&err, ERR_UPSTREAM, "%s", cli_text(run, "text"));
		bench_fail(session, &err);
	}
	step[STEP_EXEC] = ended - made;
	step[STEP_CLAIM] = claimed - made;
	step[STEP_READY] = ready - claimed;
	step[STEP_TREE] = running - ready;
	step[STEP_RUN] = ended - running;
	bench_teardown(cli, session);
}

static void print_steps(double steps[STEP__COUNT][ROUNDS_MAX], size_t n)
{
	for (int s = 0; s < STEP__COUNT; s++)
		(void)printf(" %s=%.0f", step_names[s], bench_rank(steps[s], n, 50));
}

static void bench_pooled(struct cli *cli, size_t n)
{
	static double steps[STEP__COUNT][ROUNDS_MAX];
	double step[STEP__COUNT];

	for (size_t i = 0; i < n + 1; i++) { /* the first only brings pages in */
		bench_pool_settle(cli, 1);
		job_once(cli, step);
		for (int s = 0; i && s < STEP__COUNT; s++)
			steps[s][i - 1] = step[s];
	}
	(void)printf("bench clone from=pool");
	print_steps(steps, n);
	(void)printf(
		" claimed=%" PRId64 " n=%zu\n", bench_pool_number(cli, "last_hour", "claimed"), n);
}

int main(int argc, char **argv)
{
	bool pool = argc > 1 && !strcmp(argv[1], "pool");
	static double hello[ROUNDS_MAX], podman[ROUNDS_MAX], cpu[ROUNDS_MAX];
	static double steps[STEP__COUNT][ROUNDS_MAX];
	double step[STEP__COUNT], hello_p50, podman_p50;
	const char **podman_argv;
	int64_t rounds = 20;
	struct cli cli;
	struct vms v;
	size_t n;

	if (argc > 1 + pool && !text_to_i64(argv[1 + pool], 1, ROUNDS_MAX, &rounds)) {
		(void)fprintf(stderr, "usage: test_clone [pool] [ROUNDS] [PODMAN-ARGUMENT...]\n");
		return 2;
	}
	n = (size_t)rounds;
	bench_open(&cli);
	if (pool) {
		bench_pooled(&cli, n);
		bench_close(&cli);
		return 0;
	}
	vms_init(&v);
	vms_template(&v);
	podman_argv = POOL_ARRAY(v.pool, const char *, (size_t)argc + 1);
	for (int i = 2; i < argc; i++)
		podman_argv[i - 2] = argv[i];
	(void)clone_once(&v, cpu); /* pages of QEMU and of the image come in */
	job_once(&cli, step);
	for (size_t i = 0; i < n; i++) {
		hello[i] = clone_once(&v, &cpu[i]);
		job_once(&cli, step);
		for (int s = 0; s < STEP__COUNT; s++)
			steps[s][i] = step[s];
		podman[i] = argc > 2 ? podman_once(podman_argv) : 0;
	}
	hello_p50 = bench_rank(hello, n, 50);
	podman_p50 = bench_rank(podman, n, 50);
	(void)printf("bench clone hello_ms_p50=%.0f", hello_p50);
	print_steps(steps, n);
	(void)printf(" podman_ms_p50=%.0f ours=%.0f peer=%.0f ratio=%.2f hello_ms_min=%.0f "
		     "hello_ms_max=%.0f cpu_ms_p50=%.0f n=%" PRId64 "\n",
		podman_p50, hello_p50, podman_p50, podman_p50 > 0 ? hello_p50 / podman_p50 : 0,
		hello[0], hello[n - 1], bench_rank(cpu, n, 50), rounds);
	vms_done(&v);
	bench_close(&cli);
	return 0;
}
