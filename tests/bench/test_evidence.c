/*
 * Evidence in figures, on the site that with-site names, in turns with podman doing the same where
 * its command is given (of an image with the same root):
 *
 *	test_evidence create NAME ROUNDS [PODMAN-ARGUMENT...]   create_sandbox to ready, seal
 *proved; NAME is pool or template: which of them it is to come from test_evidence run ROUNDS
 *[PODMAN-ARGUMENT...]    `run` of a line of python, the interpreter's own time in the box beside it
 *	test_evidence density BOXES      what each idle sandbox costs of memory (PSS) and processor
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchsite.h"
#include "child.h"
#include "cleanup.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "text.h"

#define ROUNDS_MAX 500
#define WAIT_MS 60000
#define IDLE_S 20 /* how long idle boxes are watched */

static int64_t number_arg(const char *text)
{
	int64_t n;

	if (text && text_to_i64(text, 1, ROUNDS_MAX, &n))
		return n;
	(void)fprintf(stderr, "usage: test_evidence create pool|template ROUNDS [PODMAN...] | run "
			      "ROUNDS [PODMAN...] | density BOXES\n");
	exit(2);
}

static const char *sandbox_create(struct cli *cli)
{
	struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *box = NULL;
	struct err err = {0};

	json_add_text(body, "language", "python");
	json_add_i64(body, "wait_ms", WAIT_MS);
	box = bench_post(cli, "/create_sandbox.json", body);
	if (strcmp(cli_text(box, "state"), "ready") != 0) {
		(void)err_set(&err, ERR_UPSTREAM, "the sandbox is %s", cli_text(box, "state"));
		bench_fail("create", &err);
	}
	return pool_strdup(cli->pool, cli_text(box, "sandbox_id"));
}

static void sandbox_destroy(struct cli *cli, const char *id)
{
	struct json_object *body = json_new_object();

	json_add_text(body, "sandbox_id", id);
	json_add_i64(body, "wait_ms", WAIT_MS);
	json_free(bench_post(cli, "/destroy_sandbox.json", body));
}

static const char *sandbox_run(struct cli *cli, const char *id, const char *code)
{
	struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *result = NULL;
	struct err err = {0};
	int64_t exit_code = -1;

	json_add_text(body, "sandbox_id", id);
	json_add_text(body, "code", code);
	json_add_i64(body, "wait_ms", WAIT_MS);
	result = bench_post(cli, "/run.json", body);
	if (!json_get_i64(result, "exit_code", &exit_code) || exit_code) {
		(void)err_set(&err, ERR_UPSTREAM, "the run is %s: %.100s",
			cli_text(result, "state"), cli_text(result, "stderr"));
		bench_fail("run", &err);
	}
	return pool_strdup(cli->pool, cli_text(result, "stdout"));
}

static double podman_once(const char *const *argv)
{
	struct child c = {.argv = argv, .env = (const char *const *)environ};
	double start = bench_now_ms();
	struct err err = {0};
	int status = 0;

	if (!argv)
		return 0;
	if (!child_start(&c, &err) || !child_wait(&c, WAIT_MS, &status, &err) || status) {
		(void)fprintf(stderr, "podman: status %d %s\n", status, err.msg);
		exit(1);
	}
	return bench_now_ms() - start;
}

static void result_print(const char *name, double *ours, double *peer, size_t n, const char *more)
{
	double p50 = bench_rank(ours, n, 50), peer_p50 = bench_rank(peer, n, 50);

	(void)printf("bench %s ours=%.1f peer=%.1f ratio=%.2f ms_min=%.1f ms_max=%.1f%s n=%zu\n",
		name, p50, peer_p50, peer_p50 > 0 ? p50 / peer_p50 : 0, ours[0], ours[n - 1], more,
		n);
}

static void bench_create(struct cli *cli, const char *from, size_t n, const char *const *podman)
{
	static double ours[ROUNDS_MAX], peer[ROUNDS_MAX];
	bool pool = !strcmp(from, "pool");
	char more[64];

	for (size_t i = 0; i < n + 1; i++) {
		size_t at = i ? i - 1 : 0; /* the first only brings pages in */
		const char *id;
		double start;

		if (pool)
			bench_pool_settle(cli, 1);
		start = bench_now_ms();
		id = sandbox_create(cli);
		ours[at] = bench_now_ms() - start;
		sandbox_destroy(cli, id);
		peer[at] = podman_once(podman);
	}
	(void)snprintf(more, sizeof(more), " from=%s claimed=%lld", from,
		(long long)bench_pool_number(cli, "last_hour", "claimed"));
	result_print("create", ours, peer, n, more);
}

/* The interpreter's own time: started again and again by one that is there already. */
static double own_ms(struct cli *cli, const char *id)
{
	const char *said = sandbox_run(cli, id,
		"import subprocess, time\n"
		"t = []\n"
		"for i in range(21):\n"
		"    s = time.monotonic()\n"
		"    subprocess.run(['python3', '-c', 'print(1)'], stdout=subprocess.DEVNULL)\n"
		"    t.append(time.monotonic() - s)\n"
		"print(sorted(t)[10] * 1000)\n");

	return strtod(said, NULL);
}

static void bench_run_code(struct cli *cli, size_t n, const char *const *podman)
{
	static double ours[ROUNDS_MAX], peer[ROUNDS_MAX];
	const char *id = sandbox_create(cli);
	double own = own_ms(cli, id);
	char more[64];

	for (size_t i = 0; i < n + 3; i++) {
		size_t at = i < 3 ? 0 : i - 3;
		double start;

		(void)usleep(250000);
		start = bench_now_ms();
		(void)sandbox_run(cli, id, "print(1)");
		ours[at] = bench_now_ms() - start;
		peer[at] = podman_once(podman);
	}
	(void)snprintf(more, sizeof(more), " own_ms=%.1f over_ms=%.1f", own,
		bench_rank(ours, n, 50) - own);
	result_print("run", ours, peer, n, more);
	sandbox_destroy(cli, id);
}

/* --- what boxes cost: the processes that carry the site's marker --- */

struct cost {
	int64_t pss_kb, ticks;
};

static bool file_read(const char *pid, const char *name, char *out, size_t size)
{
	char path[64];
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, name);
	CLEANUP(file) FILE *f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(out, 1, size - 1, f);
	for (size_t i = 0; i < n; i++)
		if (!out[i])
			out[i] = ' ';
	out[n] = '\0';
	return n > 0;
}

static void cost_add(const char *pid, struct cost *cost)
{
	char text[4096], *p;

	if (file_read(pid, "smaps_rollup", text, sizeof(text)) && (p = strstr(text, "\nPss:")))
		cost->pss_kb += strtol(p + 5, NULL, 10);
	if (file_read(pid, "stat", text, sizeof(text)) && (p = strrchr(text, ')'))) {
		/* utime and stime are the 12th and 13th after the name */
		for (int i = 0; p && i < 12; i++)
			p = strchr(p + 1, ' ');
		if (p)
			cost->ticks += strtol(p, &p, 10) + strtol(p, NULL, 10);
	}
}

static struct cost cost_now(const char *marker)
{
	struct cost cost = {0};
	char args[4096];
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
			file_read(e->d_name, "cmdline", args, sizeof(args)) && strstr(args, marker))
			cost_add(e->d_name, &cost);
	if (d)
		(void)closedir(d);
	return cost;
}

static void bench_density(struct cli *cli, size_t n)
{
	const char *marker = pool_printf(cli->pool, "asb-%s-box-", getenv("ASB_SITE"));
	struct cost before, after;

	for (size_t i = 0; i < n; i++)
		(void)sandbox_create(cli);
	(void)sleep(5);
	before = cost_now(marker);
	(void)sleep(IDLE_S);
	after = cost_now(marker);
	(void)printf("bench density boxes=%zu pss_bytes_a_box=%lld cpu_percent_a_box=%.2f\n", n,
		(long long)(after.pss_kb * 1024 / (int64_t)n),
		(double)(after.ticks - before.ticks) * 100 / (double)sysconf(_SC_CLK_TCK) / IDLE_S /
			(double)n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rounds_at = strcmp(what, "create") ? 2 : 3;
	const char **podman = NULL;
	struct cli cli;
	size_t n;

	n = (size_t)number_arg(argc > rounds_at ? argv[rounds_at] : NULL);
	bench_open(&cli);
	if (argc > rounds_at + 1) {
		podman = POOL_ARRAY(cli.pool, const char *, (size_t)argc);
		for (int i = rounds_at + 1; i < argc; i++)
			podman[i - rounds_at - 1] = argv[i];
	}
	if (!strcmp(what, "create"))
		bench_create(&cli, argv[2], n, podman);
	else if (!strcmp(what, "run"))
		bench_run_code(&cli, n, podman);
	else if (!strcmp(what, "density"))
		bench_density(&cli, n);
	bench_close(&cli);
	return 0;
}
