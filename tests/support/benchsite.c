/*
 * Benchmarks' way to a site: the same HTTP client as the command line's, one connection kept open.
 */
#include "benchsite.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "http.h"
#include "json.h"
#include "pool.h"

#define BOX_WAIT_MS 120000
#define POOL_WAIT_MS 60000

void bench_fail(const char *what, const struct err *err)
{
	(void)fprintf(stderr, "bench: %s: %s %s\n", what, err->msg, err->fix);
	exit(1);
}

double bench_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void bench_open(struct cli *cli)
{
	struct err err = {0};

	*cli = (struct cli){.pool = pool_new()};
	if (!cli_connect(cli, &err))
		bench_fail("site", &err);
}

void bench_close(struct cli *cli)
{
	http_free(cli->http);
	pool_free(cli->pool);
}

struct json_object *bench_post(struct cli *cli, const char *path, struct json_object *body_taken)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *body = body_taken;
	struct json_object *reply = NULL;
	struct err err = {0};

	if (!http_post_json(cli->http, path, json_text(body, pool), &reply, &err))
		bench_fail(path, &err);
	return reply;
}

const char *bench_delegate(struct cli *cli, const char *task, int64_t wait_ms)
{
	struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *run = NULL;

	json_add_text(body, "task", task);
	json_add_text(body, "agent", "script");
	json_add_i64(body, "wait_ms", wait_ms);
	run = bench_post(cli, "/delegate.json", body);
	return pool_strdup(cli->pool, cli_text(run, "session"));
}

struct json_object *bench_run(struct cli *cli, const char *session)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct json_object *run = NULL;
	struct err err = {0};

	if (!http_get_json(
		    cli->http, cli_query(pool, "/watch.json", "session", session), &run, &err))
		bench_fail("watch", &err);
	return run;
}

void bench_box_wait(struct cli *cli, const char *session, const char *state)
{
	const double until = bench_now_ms() + BOX_WAIT_MS;
	struct err err = {0};

	while (bench_now_ms() < until) {
		CLEANUP(json) struct json_object *run = bench_run(cli, session);
		const char *is = cli_text(json_get(run, "box"), "state");

		if (!strcmp(is, state))
			return;
		if (!strcmp(is, "failed"))
			break;
		(void)usleep(20000);
	}
	(void)err_set(&err, ERR_TIMEOUT, "the box did not become %s", state);
	bench_fail(session, &err);
}

void bench_teardown(struct cli *cli, const char *session)
{
	struct json_object *body = json_new_object();

	json_add_text(body, "session", session);
	json_free(bench_post(cli, "/teardown.json", body));
	bench_box_wait(cli, session, "gone");
}

int64_t bench_pool_number(struct cli *cli, const char *in, const char *name)
{
	CLEANUP(json) struct json_object *pool = NULL;
	struct err err = {0};
	int64_t n = 0;

	if (!http_get_json(cli->http, "/pool_status.json", &pool, &err))
		bench_fail("pool_status", &err);
	(void)json_get_i64(in ? json_get(pool, in) : pool, name, &n);
	return n;
}

void bench_pool_settle(struct cli *cli, int64_t pooled)
{
	const double until = bench_now_ms() + POOL_WAIT_MS;
	struct err err = {0};

	while (bench_pool_number(cli, NULL, "pooled") < pooled ||
		bench_pool_number(cli, NULL, "creating")) {
		if (bench_now_ms() > until) {
			(void)err_set(&err, ERR_TIMEOUT, "the pool does not fill");
			bench_fail("pool", &err);
		}
		(void)usleep(50000);
	}
	(void)usleep(300000);
}

double bench_ms_of(const char *rfc3339)
{
	struct tm tm = {0};
	const char *rest = strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &tm);

	return rest ? (double)timegm(&tm) * 1e3 + (*rest == '.' ? strtod(rest, NULL) * 1e3 : 0) : 0;
}

double bench_row_ms(struct json_object *run, const char *kind)
{
	struct json_object *trace = json_get(run, "trace");

	for (size_t i = 0; i < json_count(trace); i++)
		if (!strcmp(cli_text(json_at(trace, i), "kind"), kind))
			return bench_ms_of(cli_text(json_at(trace, i), "ts"));
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_rank(double *v, size_t n, double percent)
{
	size_t at = (size_t)((double)n * percent / 100);

	qsort(v, n, sizeof(*v), by_value);
	return v[at < n ? at : n - 1];
}
