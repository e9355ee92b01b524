/*
 * bench log: a line written in a real box to its event at a client of nginx. First 1,000 lines a
 * second for 10 s, each with the time of its write by the box's clock, measured line by line; then
 * 200,000 lines as fast as the box prints them, counted. The box's clock was set from the host's at
 * its start and runs behind it by as long as that message took, so that what is printed is an upper
 * bound: `clock_ms` is how far it runs behind at most, from the quickest of the calls that asked.
 *
 *	test_log       on the site that with-site names
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "benchsite.h"
#include "cleanup.h"
#include "eventstream.h"
#include "http.h"
#include "json.h"
#include "pool.h"

enum { STEADY = 10000, BURST = 200000, LINES = STEADY + BURST };

/* perl is in every Debian image; a shell would spend a process on each millisecond of sleep. */
static const char task[] =
	"asb-ask go >/dev/null\n"
	"exec perl -MTime::HiRes=time,sleep -e '$| = 1; my $t0 = time;\n"
	"for my $i (0 .. 9999) {\n"
	"	my $d = $t0 + $i / 1000 - time; sleep $d if $d > 0.0005;\n"
	"	printf \"line %d at %.0f: some text as a build would print it\\n\", $i, time * "
	"1e6;\n"
	"}\n"
	"$| = 0; sleep 1;\n"
	"print \"line $_ at 0: some text as a build would print it\\n\" for 10000 .. 209999;'\n";

struct tally {
	int64_t next, lost, reordered; /* next: the line that is due */
	double *took_ms;	       /* of the steady lines */
	double burst_from, burst_to;
	bool over;
};

static double wall_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void lines_take(struct tally *t, const char *data)
{
	const double now = wall_ms();

	for (const char *p = strstr(data, "line "); p; p = strstr(p + 5, "line ")) {
		char *end;
		const int64_t i = strtoll(p + 5, &end, 10), at = strtoll(end + 4, NULL, 10);

		if (i < t->next)
			t->reordered++;
		else
			t->lost += i - t->next;
		t->next = i + 1;
		if (i < STEADY)
			t->took_ms[i] = now - (double)at / 1e3;
		else if (t->burst_from == 0)
			t->burst_from = now;
	}
	t->burst_to = now;
}

static bool on_event(void *arg, const struct eventstream_event *e)
{
	struct tally *t = arg;
	const char *body;

	if (!strcmp(e->type, "log") && (body = strstr(e->data, "\"body\":")))
		lines_take(t, body);
	/* the run's end may be told before the last chunk */
	if (!strcmp(e->type, "run") &&
		(strstr(e->data, "\"done\"") || strstr(e->data, "\"failed\"")))
		t->over = true;
	return t->next < LINES && !(t->over && t->burst_to > 0 && wall_ms() - t->burst_to > 5000);
}

/* At most so far is the box's clock behind ours: asked by exec, the quickest answer counts. */
static double clock_lag(struct cli *cli, const char *session)
{
	double least = 1e9;

	for (int i = 0; i < 10; i++) {
		struct json_object *body = json_new_object();
		CLEANUP(json) struct json_object *reply = NULL;
		double lag;

		json_add_text(body, "session", session);
		json_add_text(body, "code", "printf %s $EPOCHREALTIME");
		json_add_i64(body, "wait_ms", 20000);
		reply = bench_post(cli, "/exec.json", body);
		lag = wall_ms() - strtod(cli_text(reply, "stdout"), NULL) * 1e3;
		least = lag < least ? lag : least;
	}
	return least;
}

int main(void)
{
	struct tally t = {.took_ms = calloc(STEADY, sizeof(double))};
	struct json_object *body = json_new_object();
	struct err err = {0};
	const char *session, *path;
	double clock_ms;
	struct cli cli;

	bench_open(&cli);
	session = bench_delegate(&cli, task, 60000);
	bench_box_wait(&cli, session, "ready");
	clock_ms = clock_lag(&cli, session);
	json_add_text(body, "session", session);
	json_add_text(body, "message", "go");
	json_free(bench_post(&cli, "/resume.json", body));
	path = pool_printf(cli.pool, "/watch.sse?session=%s&log=1", session);
	if (!eventstream_follow(cli.http, path, 60, on_event, &t, &err))
		bench_fail("stream", &err);
	t.lost += LINES - t.next;
	(void)printf(
		"bench log p50_ms=%.1f p95_ms=%.1f p99_ms=%.1f lost=%lld reordered=%lld lines=%d "
		"burst_lines_per_s=%.0f clock_ms=%.0f\n",
		bench_rank(t.took_ms, STEADY, 50), bench_rank(t.took_ms, STEADY, 95),
		bench_rank(t.took_ms, STEADY, 99), (long long)t.lost, (long long)t.reordered, LINES,
		BURST / ((t.burst_to - t.burst_from) / 1e3), clock_ms);
	bench_teardown(&cli, session);
	bench_close(&cli);
	free(t.took_ms);
	return t.lost || t.reordered;
}
