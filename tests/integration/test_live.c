/*
 * asb-live's streams from the outside: FastCGI in, server-sent events out, rows in a real
 * PostgreSQL underneath. Nothing is lost, repeated or reordered, whatever the client does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "db.h"
#include "livesite.h"
#include "testdb.h"
#include "text.h"

#define HEARTBEAT_MS 300
/* 20 MB passed through: a page of it and what one client may leave unread is all that is held. ASan
 * keeps what was freed. */
#ifdef __SANITIZE_ADDRESS__
#define RSS_MAX_KIB (400 * 1024)
#else
#define RSS_MAX_KIB (24 * 1024)
#endif

static struct livesite site;
static int64_t account;

static int start(void **state)
{
	(void)state;
	account = testdb_i64("SELECT id FROM accounts WHERE name = 'operator'");
	livesite_start(&site, HEARTBEAT_MS, RESCAN_NEVER);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	livesite_stop(&site);
	return 0;
}

static void test_opens_with_hello_and_snapshot(void **state)
{
	const int64_t run = livesite_run("run-hello", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_trace(run, 1, 3);
	livesite_get(&site, &c, "/watch.sse?session=run-hello", NULL);
	assert_true(fcgiclient_event(&c, &e, LIVE_MS));
	assert_int_equal(fcgiclient_status(&c), 200);
	assert_string_equal(fcgiclient_header(&c, "Content-Type"), "text/event-stream");
	assert_string_equal(
		fcgiclient_header(&c, "Cache-Control"), "no-store, no-cache, no-transform");
	assert_string_equal(fcgiclient_header(&c, "X-Accel-Buffering"), "no");
	assert_string_equal(fcgiclient_header(&c, "X-Content-Type-Options"), "nosniff");
	assert_string_equal(fcgiclient_header(&c, "Content-Length"), "");
	assert_string_equal(e.name, "hello");
	assert_non_null(strstr(e.data, "\"heartbeat_s\":0.3,"));
	assert_non_null(strstr(e.data, "\"ui_version\":\""));
	assert_true(livesite_number(&e, "seq") > 0);
	livesite_next(&c, &e, "run");
	assert_non_null(strstr(e.data, "\"session\": \"run-hello\""));
	assert_non_null(strstr(e.data, "\"state\": \"queued\""));
	for (int64_t seq = 1; seq <= 3; seq++) {
		livesite_next(&c, &e, "trace");
		assert_int_equal(livesite_number(&e, "seq"), seq);
	}
	livesite_next(&c, &e, "hb");
	assert_string_equal(strrchr(e.id, '.') - 2, ".3.0"); /* hb moves no position */
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

static void test_rows_arrive_as_they_are_written(void **state)
{
	const int64_t run = livesite_run("run-live", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_watch(&site, &c, "/watch.sse?session=run-live&log=1", NULL);
	for (int64_t seq = 1; seq <= 20; seq++) {
		livesite_trace(run, seq, seq);
		livesite_next(&c, &e, "trace");
		assert_int_equal(livesite_number(&e, "seq"), seq);
		livesite_chunks(run, seq, seq, 40);
		livesite_next(&c, &e, "log");
		assert_int_equal(livesite_number(&e, "seq"), seq);
		assert_int_equal(livesite_number(&e, "first_line"), seq - 1);
		assert_non_null(strstr(e.data, "\"body\":\"line "));
	}
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

static void test_log_without_bytes_is_a_notice(void **state)
{
	const int64_t run = livesite_run("run-notice", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_chunks(run, 1, 10, 100);
	livesite_watch(&site, &c, "/watch.sse?session=run-notice", NULL);
	livesite_next(&c, &e, "log");
	assert_int_equal(livesite_number(&e, "seq"), 10);
	assert_int_equal(livesite_number(&e, "first_line"), 0);
	assert_int_equal(livesite_number(&e, "nlines"), 10);
	assert_int_equal(livesite_number(&e, "bytes"), 1000);
	assert_null(strstr(e.data, "body"));
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

static void test_bytes_that_are_no_text_come_exact(void **state)
{
	const int64_t run = livesite_run("run-bytes", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_chunks(run, 1, 1, 10);
	testdb_exec("UPDATE log_chunk SET body = '\\xff00410a'"
		    " WHERE log_id = (SELECT id FROM logs WHERE run_id = %lld)",
		(long long)run);
	livesite_watch(&site, &c, "/watch.sse?session=run-bytes&log=1", NULL);
	livesite_next(&c, &e, "log");
	assert_non_null(strstr(e.data, "\"body_b64\":\"/wBBCg==\""));
	assert_true(text_is_utf8(e.data, strlen(e.data)));
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

/* Writes trace rows and log chunks in small transactions while the test drops and resumes. */
static pid_t writer_start(int64_t run, int rows)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	for (int at = 1; at <= rows; at += 60) {
		livesite_trace(run, at, at + 59);
		livesite_chunks(run, at, at + 59, 120);
	}
	_exit(0);
}

static void writer_join(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_resumes_without_loss_or_repeat(void **state)
{
	enum { ROWS = 3000, RECONNECTS = 12 };
	const int64_t run = livesite_run("run-resume", account);
	const pid_t writer = writer_start(run, ROWS);
	struct fcgi_event e = {0};
	int64_t trace = 0, log = 0;
	char last[96] = "";

	(void)state;
	for (int round = 0; round <= RECONNECTS; round++) {
		struct fcgiclient c;
		const int64_t stop_at = ROWS * (round + 1) / (RECONNECTS + 1);

		livesite_watch(
			&site, &c, "/watch.sse?session=run-resume&log=1", *last ? last : NULL);
		while (trace < stop_at || (round == RECONNECTS && log < ROWS)) {
			if (!fcgiclient_event(&c, &e, LIVE_MS))
				fail_msg("round %d: nothing after %lld %lld", round,
					(long long)trace, (long long)log);
			if (!strcmp(e.name, "trace"))
				assert_int_equal(livesite_number(&e, "seq"), ++trace);
			else if (!strcmp(e.name, "log"))
				assert_int_equal(livesite_number(&e, "seq"), ++log);
			(void)snprintf(last, sizeof(last), "Last-Event-ID: %s", e.id);
		}
		fcgiclient_close(&c);
	}
	writer_join(writer);
	assert_int_equal(trace, ROWS);
	assert_int_equal(log, ROWS);
	fcgi_event_done(&e);
}

static void test_tells_of_a_gap(void **state)
{
	const int64_t run = livesite_run("run-gap", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};
	const int64_t oldest = testdb_i64("SELECT min(id) FROM feed");

	(void)state;
	livesite_trace(run, 1, 5);
	/* ahead of all there is, as after a restored backup */
	livesite_watch(&site, &c, "/watch.sse?session=run-gap&after=999999.7.0", NULL);
	livesite_next(&c, &e, "gap");
	assert_non_null(strstr(e.data, "\"reason\":\"ahead\""));
	assert_int_equal(livesite_number(&e, "trace"), 5);
	livesite_trace(run, 6, 6);
	livesite_next(&c, &e, "trace");
	assert_int_equal(livesite_number(&e, "seq"), 6);
	fcgiclient_close(&c);
	/* rows after the position have gone */
	testdb_exec("DELETE FROM feed WHERE id <= %lld", (long long)oldest + 1);
	livesite_watch(&site, &c, "/watch.sse?session=run-gap&after=1.6.0", NULL);
	livesite_next(&c, &e, "gap");
	assert_non_null(strstr(e.data, "\"reason\":\"old\""));
	fcgiclient_close(&c);
	/* control: a position that is still there makes none */
	livesite_watch(&site, &c, "/watch.sse?session=run-gap&after=1.6.0", "Last-Event-ID: 0.2.0");
	livesite_next(&c, &e, "run");
	livesite_next(&c, &e, "trace");
	assert_int_equal(livesite_number(&e, "seq"), 3);
	assert_null(strstr(c.out.data, "event: gap"));
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

static void test_slow_reader_goes_fast_one_gets_all(void **state)
{
	enum { ROWS = 20000, BYTES = 1000 };
	const int64_t run = livesite_run("run-slow", account);
	const int64_t rss = livesite_rss_kib(&site);
	struct fcgiclient slow, fast;
	struct fcgi_event e = {0};
	size_t got;
	int fds;

	(void)state;
	livesite_watch(&site, &slow, "/watch.sse?session=run-slow&log=1", NULL);
	livesite_watch(&site, &fast, "/watch.sse?session=run-slow&log=1", NULL);
	fds = livesite_fds(&site);
	livesite_chunks(run, 1, ROWS, BYTES);
	for (int64_t seq = 1; seq <= ROWS; seq++) {
		livesite_next(&fast, &e, "log");
		assert_int_equal(livesite_number(&e, "seq"), seq);
	}
	assert_true(livesite_rss_kib(&site) - rss < RSS_MAX_KIB);
	/* it has not taken a byte all the time: it is dropped, and what it holds is bounded */
	for (int i = 0; i < 100 && livesite_fds(&site) == fds; i++)
		(void)usleep(100000);
	while (fcgiclient_read(&slow, 1000))
		;
	assert_true(slow.eof && !slow.ended);
	got = slow.out.len;
	assert_true(got > 100 * 1024 && got < 1024 * 1024);
	/* it comes back with its last id and gets the next row */
	while (fcgiclient_event(&slow, &e, 0))
		;
	got = (size_t)livesite_number(&e, "seq");
	{
		char last[96];

		(void)snprintf(last, sizeof(last), "Last-Event-ID: %s", e.id);
		fcgiclient_close(&slow);
		livesite_watch(&site, &slow, "/watch.sse?session=run-slow&log=1", last);
		livesite_next(&slow, &e, "log");
		assert_int_equal(livesite_number(&e, "seq"), got + 1);
	}
	fcgiclient_close(&slow);
	fcgiclient_close(&fast);
	fcgi_event_done(&e);
}

static void test_lost_connections_lose_nothing(void **state)
{
	const int64_t run = livesite_run("run-lost", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_watch(&site, &c, "/watch.sse?session=run-lost", NULL);
	livesite_trace(run, 1, 1);
	livesite_next(&c, &e, "trace");
	assert_int_equal(testdb_i64("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
				    " WHERE application_name = 'asb-live listen'"
				    " AND datname = current_database()"),
		1);
	livesite_trace(run, 2, 3);
	livesite_next(&c, &e, "trace");
	livesite_next(&c, &e, "trace");
	assert_int_equal(livesite_number(&e, "seq"), 3);
	assert_int_equal(testdb_i64("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
				    " WHERE application_name = 'asb-live'"
				    " AND datname = current_database()"),
		1);
	livesite_trace(run, 4, 4);
	livesite_next(&c, &e, "trace");
	assert_int_equal(livesite_number(&e, "seq"), 4);
	fcgi_event_done(&e);
	fcgiclient_close(&c);
}

/* A hint that is lost is made up for by looking. */
static void test_looks_without_being_told(void **state)
{
	const int64_t run = livesite_run("run-unheard", account);
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	livesite_stop(&site);
	livesite_start(&site, HEARTBEAT_MS, 500);
	livesite_watch(&site, &c, "/watch.sse?session=run-unheard", NULL);
	testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text)"
		    " VALUES (%lld, %lld, 1, 1, 'say', 'unheard')",
		(long long)account, (long long)run);
	livesite_next(&c, &e, "trace");
	assert_int_equal(livesite_number(&e, "seq"), 1);
	fcgi_event_done(&e);
	fcgiclient_close(&c);
	livesite_stop(&site);
	livesite_start(&site, HEARTBEAT_MS, RESCAN_NEVER);
}

static void test_going_frees_at_once(void **state)
{
	enum { N = 50 };
	struct fcgiclient first, c[N];
	int before, during = 0;

	(void)state;
	(void)livesite_run("run-going", account);
	/* clients of the tests before are gone when one that came later has been heard */
	livesite_watch(&site, &first, "/watch.sse?session=run-going", NULL);
	before = livesite_fds(&site);
	for (int i = 0; i < N; i++)
		livesite_watch(&site, &c[i], "/watch.sse?session=run-going", NULL);
	during = livesite_fds(&site);
	assert_int_equal(during, before + N);
	for (int i = 0; i < N; i++)
		fcgiclient_close(&c[i]);
	livesite_fds_become(&site, before);
	fcgiclient_close(&first);
}

static void turn_to(int64_t run, const char *state, const char *reason)
{
	testdb_exec("UPDATE turns SET state = '%s', reason = nullif('%s', '') WHERE run_id = %lld",
		state, reason, (long long)run);
}

/* `run` with the end must not come before what was logged until then, though its hint does. */
static void test_end_comes_last(void **state)
{
	struct fcgi_event e = {0};

	(void)state;
	for (int round = 0; round < 5; round++) {
		char name[32], url[64];
		int64_t run, log = 0, trace = 0;
		struct fcgiclient c;

		(void)snprintf(name, sizeof(name), "run-end%d", round);
		(void)snprintf(url, sizeof(url), "/watch.sse?session=%s&log=1", name);
		run = livesite_run(name, account);
		livesite_watch(&site, &c, url, NULL);
		testdb_exec("BEGIN; INSERT INTO log_chunk (account_id, log_id, seq, stream,"
			    " first_line, nlines, src_off, src_len, body) SELECT account_id, id, s,"
			    " 2, s - 1, 1, s, 1, convert_to(repeat('y', 900) || E'\\n', 'UTF8')"
			    " FROM logs, generate_series(1, 2000) s WHERE run_id = %lld;"
			    " INSERT INTO trace (account_id, run_id, seq, turn, kind, text)"
			    " SELECT account_id, id, s, 1, 'say', 'z' FROM runs,"
			    " generate_series(1, 1000) s WHERE id = %lld; UPDATE turns SET"
			    " state = 'done', reason = 'ok', exit_code = 0 WHERE run_id = %lld;"
			    " COMMIT",
			(long long)run, (long long)run, (long long)run);
		for (;;) {
			assert_true(fcgiclient_event(&c, &e, LIVE_MS));
			log += !strcmp(e.name, "log");
			trace += !strcmp(e.name, "trace");
			if (!strcmp(e.name, "run") && strstr(e.data, "\"state\": \"done\""))
				break;
		}
		assert_int_equal(log, 2000);
		assert_int_equal(trace, 1000);
		fcgiclient_close(&c);
	}
	fcgi_event_done(&e);
}

static void test_fleet_as_snapshot_and_patches(void **state)
{
	const int64_t run = livesite_run("run-fleet", account);
	struct fcgiclient c, later;
	struct fcgi_event e = {0};
	char last[96];
	int64_t seq;

	(void)state;
	testdb_exec("INSERT INTO accounts (name) VALUES ('stranger')");
	(void)livesite_run(
		"run-foreign", testdb_i64("SELECT id FROM accounts WHERE name = 'stranger'"));
	livesite_watch(&site, &c, "/events.sse", NULL);
	livesite_next(&c, &e, "fleet");
	assert_non_null(strstr(e.data, "run-fleet"));
	assert_null(strstr(e.data, "run-foreign"));
	(void)snprintf(last, sizeof(last), "Last-Event-ID: %s", e.id);
	turn_to(run, "starting", "");
	livesite_next_with(&c, &e, "run", "\"state\": \"starting\"");
	assert_non_null(strstr(e.data, "\"session\": \"run-fleet\""));
	seq = livesite_number(&e, "seq");
	assert_true(seq > 0 && seq == strtoll(e.id, NULL, 10));
	testdb_exec("UPDATE boxes SET state = 'ready' WHERE name = 'box-run-fleet'");
	livesite_next_with(&c, &e, "box", "\"state\": \"ready\"");
	/* another account's changes are not ours */
	testdb_exec("UPDATE boxes SET state = 'ready' WHERE name = 'box-run-foreign'");
	turn_to(run, "running", "");
	livesite_next_with(&c, &e, "run", "\"state\": \"running\"");
	assert_null(strstr(c.out.data, "foreign"));
	/* who comes back gets the patches and no snapshot */
	livesite_watch(&site, &later, "/events.sse", last);
	livesite_next(&later, &e, "run");
	assert_null(strstr(later.out.data, "event: fleet"));
	assert_int_equal(livesite_number(&e, "seq"), seq);
	fcgi_event_done(&e);
	fcgiclient_close(&c);
	fcgiclient_close(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens_with_hello_and_snapshot),
		cmocka_unit_test(test_rows_arrive_as_they_are_written),
		cmocka_unit_test(test_log_without_bytes_is_a_notice),
		cmocka_unit_test(test_bytes_that_are_no_text_come_exact),
		cmocka_unit_test(test_resumes_without_loss_or_repeat),
		cmocka_unit_test(test_tells_of_a_gap),
		cmocka_unit_test(test_slow_reader_goes_fast_one_gets_all),
		cmocka_unit_test(test_lost_connections_lose_nothing),
		cmocka_unit_test(test_looks_without_being_told),
		cmocka_unit_test(test_going_frees_at_once),
		cmocka_unit_test(test_end_comes_last),
		cmocka_unit_test(test_fleet_as_snapshot_and_patches),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
