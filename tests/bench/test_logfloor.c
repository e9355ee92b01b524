/*
 * bench logfloor: what database and asb-live alone cost of `bench log`. A second process plays the
 * runner: it gathers lines for 50 ms or 16 KiB, commits them as a chunk, and hints. First 1,000
 * lines a second, measured line by line; then 200,000 lines as fast as the database takes them,
 * counted. Needs no box and no nginx.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "livesite.h"
#include "testdb.h"

enum { STEADY = 10000, BURST = 200000, FLUSH_US = 50000, CHUNK = 16384 };

struct tally {
	int64_t next, lost, reordered; /* next: the line that is due */
	int64_t *took_us;	       /* of the steady lines */
};

static int64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void flush(
	struct db *db, int64_t log_id, struct buf *lines, int64_t *seq, int64_t *line, int n)
{
	CLEANUP(buf) struct buf sql = BUF_INIT(1 << 20);
	struct err err;

	if (!n)
		return;
	(void)buf_addf(&sql,
		"INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		" src_off, src_len, body) SELECT account_id, id, %lld, 1, %lld, %d, 0, %zu,"
		" convert_to('",
		(long long)++*seq, (long long)*line, n, lines->len);
	(void)buf_add(&sql, lines->data, lines->len);
	(void)buf_addf(&sql, "', 'UTF8') FROM logs WHERE id = %lld", (long long)log_id);
	if (!db_exec(db, sql.data, &err))
		fail_msg("%s", err.msg);
	buf_reset(&sql);
	(void)buf_addf(&sql, "NOTIFY log, 'l%lld'", (long long)log_id);
	if (!db_exec(db, sql.data, &err))
		fail_msg("%s", err.msg);
	*line += n;
	buf_reset(lines);
}

/* The runner's part, in a process of its own. */
static void writer(int64_t log_id)
{
	struct db *db = testdb_open("asb_worker");
	CLEANUP(buf) struct buf lines = BUF_INIT(1 << 16);
	int64_t seq = 0, line = 0, start = now_us(), flushed = start;
	int n = 0;

	for (int64_t i = 0; i < STEADY + BURST; i++) {
		const int64_t due = start + i * 1000;

		while (i < STEADY && now_us() < due)
			(void)usleep(200);
		(void)buf_addf(&lines, "line %lld at %lld: some text as a build would print it\n",
			(long long)i, (long long)now_us());
		n++;
		if (lines.len > CHUNK - 100 || (i < STEADY && now_us() - flushed >= FLUSH_US) ||
			i == STEADY - 1) {
			flush(db, log_id, &lines, &seq, &line, n);
			n = 0;
			flushed = now_us();
		}
	}
	flush(db, log_id, &lines, &seq, &line, n);
	db_free(db);
}

static void take(struct tally *t, const char *data)
{
	const int64_t now = now_us();

	for (const char *p = strstr(data, "line "); p; p = strstr(p + 5, "line ")) {
		char *end;
		const int64_t i = strtoll(p + 5, &end, 10), at = strtoll(end + 4, NULL, 10);

		if (i < t->next)
			t->reordered++;
		else
			t->lost += i - t->next;
		t->next = i + 1;
		if (i < STEADY)
			t->took_us[i] = now - at;
	}
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void test_log(void **state)
{
	struct livesite site;
	struct fcgiclient c;
	struct fcgi_event e = {0};
	struct tally t = {.took_us = calloc(STEADY, sizeof(int64_t))};
	int64_t run, log_id, burst = 0;
	pid_t pid;
	int status = -1;

	(void)state;
	livesite_start(&site, 15000, 5000);
	run = livesite_run(
		"run-bench", testdb_i64("SELECT id FROM accounts WHERE name = 'operator'"));
	log_id = testdb_i64("SELECT id FROM logs WHERE run_id = %lld", (long long)run);
	livesite_watch(&site, &c, "/watch.sse?session=run-bench&log=1", NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		writer(log_id);
		_exit(0);
	}
	while (t.next < STEADY + BURST) {
		if (!fcgiclient_event(&c, &e, 10000))
			break;
		if (!strcmp(e.name, "log"))
			take(&t, strstr(e.data, "\"body\":"));
		if (!burst && t.next >= STEADY)
			burst = now_us();
	}
	burst = now_us() - burst;
	t.lost += STEADY + BURST - t.next;
	qsort(t.took_us, STEADY, sizeof(int64_t), by_size);
	(void)printf("bench logfloor p50_ms=%.1f p95_ms=%.1f p99_ms=%.1f lost=%lld reordered=%lld "
		     "lines=%d"
		     " burst_lines_per_s=%.0f\n",
		(double)t.took_us[STEADY / 2] / 1000, (double)t.took_us[STEADY * 95 / 100] / 1000,
		(double)t.took_us[STEADY * 99 / 100] / 1000, (long long)t.lost,
		(long long)t.reordered, STEADY + BURST, BURST / ((double)burst / 1e6));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(t.lost, 0);
	assert_int_equal(t.reordered, 0);
	free(t.took_us);
	fcgi_event_done(&e);
	fcgiclient_close(&c);
	livesite_stop(&site);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_log)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
