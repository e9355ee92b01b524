/*
 * asb-live's waits: a held request answers once, with the run or exec as it then is, when there is
 * something to say or its time is over; and the program's own end answers everybody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "livesite.h"
#include "testdb.h"
#include "text.h"

/* Longer than anything here may take, and than LIVE_MS: who is answered did not wait for its end.
 */
#define WAIT_MS 50000

static struct livesite site;
static int64_t account;

static int start(void **state)
{
	(void)state;
	account = testdb_i64("SELECT id FROM accounts WHERE name = 'operator'");
	livesite_start(&site, 15000, RESCAN_NEVER);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	livesite_stop(&site);
	return 0;
}

static void wait_open_at(struct fcgiclient *c, const char *what, int64_t id, int wait_ms, int turn)
{
	char url[160];

	(void)snprintf(url, sizeof(url), "/internal/wait?%s=%lld&wait_ms=%d&account=%lld&turn=%d",
		what, (long long)id, wait_ms, (long long)account, turn);
	livesite_get(&site, c, url, NULL);
}

static void turn_to(int64_t run, int n, const char *state)
{
	testdb_exec("UPDATE turns SET state = '%s' WHERE run_id = %lld AND n = %d", state,
		(long long)run, n);
}

/* Takes the answer. */
static void answered(struct fcgiclient *c, int status, const char *has)
{
	assert_true(fcgiclient_finish(c, LIVE_MS));
	if (fcgiclient_status(c) != status || !strstr(fcgiclient_body(c), has))
		fail_msg("not %d with %s: %s", status, has, c->out.data);
	assert_string_equal(fcgiclient_header(c, "Content-Type"), "application/json");
	assert_int_equal(strtoll(fcgiclient_header(c, "Content-Length"), NULL, 10),
		strlen(fcgiclient_body(c)));
	fcgiclient_close(c);
}

/* Each boundary ends the wait, and nothing else does. How soon is the machine's matter as well:
 * some of many are answered within 100 ms, none by looking. */
static void test_answers_within_100_ms_of_the_boundary(void **state)
{
	static const char *const ends[] = {"asked", "done", "failed", "stopped", "lost"};
	enum { ENDS = sizeof(ends) / sizeof(ends[0]), MOST = 8 * ENDS };
	int64_t best = INT64_MAX;

	(void)state;
	for (int i = 0; i < ENDS || (best >= 100 && i < MOST); i++) {
		const char *const end = ends[i % ENDS];
		char name[32], text[64];
		int64_t run, began, took;
		struct fcgiclient c;

		(void)snprintf(name, sizeof(name), "run-wait%d", i);
		run = livesite_run(name, account);
		wait_open_at(&c, "run", run, WAIT_MS, 1);
		turn_to(run, 1, "running"); /* no boundary: it goes on waiting */
		assert_false(fcgiclient_finish(&c, 200));
		turn_to(run, 1, end);
		began = time_boot_ms();
		(void)snprintf(
			text, sizeof(text), "\"state\" : \"%s\"", i % ENDS ? end : "waiting");
		answered(&c, 200, text);
		took = time_boot_ms() - began;
		best = took < best ? took : best;
	}
	assert_true(best < 100);
}

static void test_answers_at_once_when_it_is_there(void **state)
{
	const int64_t run = livesite_run("run-there", account);
	struct fcgiclient c;

	(void)state;
	turn_to(run, 1, "done");
	livesite_get(&site, &c, "/internal/wait?run=run-there&wait_ms=50000", NULL); /* by name */
	answered(&c, 200, "\"session\" : \"run-there\"");
}

/* The boundary of turn 1 is not the one that the caller of turn 2 waits for. */
static void test_waits_for_its_turn(void **state)
{
	const int64_t run = livesite_run("run-turn", account);
	struct fcgiclient c;

	(void)state;
	turn_to(run, 1, "asked");
	wait_open_at(&c, "run", run, WAIT_MS, 2);
	assert_false(fcgiclient_finish(&c, 200));
	testdb_exec(
		"INSERT INTO turns (account_id, run_id, box_id, n, message) SELECT account_id, id,"
		" box_id, 2, 'blue' FROM runs WHERE id = %lld",
		(long long)run);
	assert_false(fcgiclient_finish(&c, 200));
	turn_to(run, 2, "done");
	answered(&c, 200, "\"turn\" : 2");
}

static int64_t sandbox(const char *name)
{
	return testdb_i64("INSERT INTO boxes (account_id, name, image, class, memory_bytes, cpus, "
			  "disk_bytes, deadline_at, expires_at, purpose, language, egress) VALUES "
			  "(%lld, '%s', 'base', 's', 1, 1, 1, now(), now(), 'sandbox', 'python', "
			  "'sealed') RETURNING id",
		(long long)account, name);
}

static void sandbox_to(int64_t box, const char *state, const char *reason)
{
	testdb_exec("UPDATE boxes SET state = '%s', reason = '%s' WHERE id = %lld", state, reason,
		(long long)box);
}

/* Until it is made, which may fail, and until it is gone. */
static void test_waits_for_a_sandbox(void **state)
{
	int64_t made = sandbox("box-made"), leaks = sandbox("box-leaks");
	struct fcgiclient c, end;

	(void)state;
	wait_open_at(&c, "box", made, WAIT_MS, 0);
	assert_false(fcgiclient_finish(&c, 200));
	sandbox_to(made, "ready", "");
	answered(&c, 200, "\"sandbox_id\" : \"box-made\"");
	wait_open_at(&end, "end", made, WAIT_MS, 0);
	assert_false(fcgiclient_finish(&end, 200));
	sandbox_to(made, "destroying", "");
	assert_false(fcgiclient_finish(&end, 200));
	sandbox_to(made, "gone", "operator");
	answered(&end, 200, "\"status\" : \"destroyed\"");
	wait_open_at(&c, "box", leaks, 300, 0);
	answered(&c, 202, "\"state\" : \"creating\"");
	wait_open_at(&c, "box", leaks, WAIT_MS, 0);
	assert_false(fcgiclient_finish(&c, 200));
	sandbox_to(leaks, "failed", "network_leak");
	answered(&c, 502, "\"reason\":\"network_leak\"");
	/* who only reads is told how it is */
	livesite_get(&site, &c, "/internal/wait?box=box-leaks&wait_ms=50000&read=1", NULL);
	answered(&c, 200, "{\"sandboxes\" : [{\"sandbox_id\" : \"box-leaks\"");
	/* a box of a run is no sandbox */
	(void)livesite_run("run-box", account);
	wait_open_at(&c, "box", testdb_i64("SELECT box_id FROM runs WHERE name = 'run-box'"),
		WAIT_MS, 0);
	answered(&c, 404, "no sandbox");
}

/* A result, be it of a program that failed; or the error that there is none. */
static void test_waits_for_a_run_in_a_sandbox(void **state)
{
	static const struct {
		const char *end, *has;
		int status;
	} rows[] = {
		{"state = 'done', exit_code = 3", "\"success\" : false", 200},
		{"state = 'done', exit_code = 0", "\"success\" : true", 200},
		{"state = 'failed', reason = 'timeout', timed_out = true", "\"timed_out\" : true",
			200},
		{"state = 'failed', reason = 'box_lost'", "\"reason\":\"sandbox_failed\"", 502},
		{"state = 'failed', reason = 'operator'", "\"reason\":\"sandbox_gone\"", 409},
		{"state = 'failed', reason = 'agent_error'", "\"reason\":\"execution_failed\"",
			502},
	};
	int64_t box = sandbox("box-runs");
	char url[80];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t log = testdb_i64("INSERT INTO logs (account_id) VALUES (%lld) RETURNING id",
			(long long)account);
		int64_t exec = testdb_i64(
			"INSERT INTO execs (account_id, name, box_id, stream, lane, argv, log_id, "
			"language) VALUES (%lld, 'exec-sandbox%d', %lld, %d, 'exec:1', '[]', %lld, "
			"'python') RETURNING id",
			(long long)account, (int)i, (long long)box, (int)i + 1, (long long)log);
		struct fcgiclient c;

		wait_open_at(&c, "exec", exec, WAIT_MS, 0);
		assert_false(fcgiclient_finish(&c, 100));
		testdb_exec("UPDATE execs SET %s WHERE id = %lld RETURNING pg_notify('feed', 'x' "
			    "|| id)",
			rows[i].end, (long long)exec);
		answered(&c, rows[i].status, rows[i].has);
		(void)snprintf(url, sizeof(url), "/internal/wait?exec=%lld&wait_ms=50000&read=1",
			(long long)exec);
		livesite_get(&site, &c, url, NULL);
		answered(&c, 200, "\"process_id\" : \"exec-sandbox");
	}
}

static void test_time_over_is_202(void **state)
{
	const int64_t run = livesite_run("run-over", account);
	const int64_t since = time_boot_ms();
	struct fcgiclient c, longer;

	(void)state;
	wait_open_at(&longer, "run", run, WAIT_MS, 1);
	wait_open_at(&c, "run", run, 300, 1);
	answered(&c, 202, "\"state\" : \"queued\"");
	assert_true(time_boot_ms() - since >= 300);
	wait_open_at(&c, "run", run, 0, 1);
	answered(&c, 202, "\"state\" : \"queued\"");
	turn_to(run, 1, "done");
	answered(&longer, 200, "\"state\" : \"done\"");
}

static int64_t exec_add(int64_t run)
{
	return testdb_i64(
		"WITH l AS (INSERT INTO logs (account_id, run_id, exec_id) VALUES (%lld, NULL,"
		" 1000000 + %lld) RETURNING id) INSERT INTO execs (account_id, name,"
		" box_id, run_id, stream, lane, argv, log_id) SELECT %lld, 'exec-' || %lld,"
		" box_id, r.id, 1, 'exec:1', '[\"true\"]', l.id FROM runs r, l"
		" WHERE r.id = %lld RETURNING id",
		(long long)account, (long long)run, (long long)account, (long long)run,
		(long long)run);
}

static void test_waits_for_an_exec(void **state)
{
	const int64_t run = livesite_run("run-exec", account), exec = exec_add(run);
	struct fcgiclient c;

	(void)state;
	wait_open_at(&c, "exec", exec, WAIT_MS, 0);
	testdb_exec("UPDATE execs SET state = 'running' WHERE id = %lld", (long long)exec);
	assert_false(fcgiclient_finish(&c, 200));
	testdb_exec("UPDATE execs SET state = 'done', exit_code = 3 WHERE id = %lld RETURNING"
		    " pg_notify('feed', 'x' || id)",
		(long long)exec);
	answered(&c, 200, "\"exit_code\" : 3");
}

/* A hint that is lost is made up for by looking. */
static void test_looks_without_being_told(void **state)
{
	const int64_t run = livesite_run("run-unheard", account);
	struct fcgiclient c;

	(void)state;
	livesite_stop(&site);
	livesite_start(&site, 15000, 500);
	wait_open_at(&c, "run", run, WAIT_MS, 1);
	assert_false(fcgiclient_finish(&c, 100));
	testdb_exec("BEGIN; SET LOCAL session_replication_role = replica;"
		    " UPDATE runs SET state = 'done' WHERE id = %lld; COMMIT",
		(long long)run);
	answered(&c, 200, "\"state\" : \"done\"");
	livesite_stop(&site);
	livesite_start(&site, 15000, RESCAN_NEVER);
}

/* What was committed is not to be sent again because its rows cannot be read just now. */
static void test_unread_is_not_to_be_done_again(void **state)
{
	CLEANUP(db) struct db *db = testdb_open(TESTDB_SUPER);
	const int64_t run = livesite_run("run-locked", account);
	struct fcgiclient c;
	struct err err;

	(void)state;
	wait_open_at(&c, "run", run, 1500, 1);
	assert_false(fcgiclient_finish(&c, 100));
	assert_true(db_exec(db, "BEGIN; LOCK TABLE runs", &err));
	answered(&c, 503, "It was begun and goes on: call status with session=run-locked.");
	livesite_get(&site, &c, "/internal/wait?run=run-locked&wait_ms=50000", NULL);
	answered(&c, 503, "It was begun and goes on: call status with session=run-locked.");
	assert_true(db_exec(db, "ROLLBACK", &err));
}

static void refused(const char *url, int status)
{
	struct fcgiclient c;

	livesite_get(&site, &c, url, NULL);
	answered(&c, status, "\"error\"");
}

static void test_refuses(void **state)
{
	static const char *const nobody[] = {"Host: 127.0.0.1", NULL};
	struct fcgiclient c;
	int64_t stranger, run;
	char url[128];

	(void)state;
	stranger = testdb_i64("INSERT INTO accounts (name) VALUES ('stranger') RETURNING id");
	run = livesite_run("run-foreign", stranger);
	(void)snprintf(url, sizeof(url), "/internal/wait?run=%lld&wait_ms=1", (long long)run);
	refused(url, 404);
	(void)snprintf(url, sizeof(url), "/internal/wait?run=%lld&wait_ms=1&account=%lld",
		(long long)run, (long long)stranger);
	refused(url, 404);
	refused("/internal/wait?run=run-nowhere&wait_ms=1", 404);
	refused("/internal/wait?wait_ms=1", 422);
	refused("/internal/wait?run=1&exec=1", 422);
	refused("/internal/wait?run=1&wait_ms=600001", 422);
	fcgiclient_open(&c, site.socket, "GET", "/internal/wait?run=1&wait_ms=1", nobody, NULL, 0);
	answered(&c, 401, "\"unauthenticated\"");
}

static void test_many_waits_for_one_run(void **state)
{
	enum { N = 100 };
	const int64_t run = livesite_run("run-many", account);
	struct fcgiclient first, c[N];
	int before;

	(void)state;
	/* clients of the tests before are gone when one that came later has been heard */
	livesite_watch(&site, &first, "/watch.sse?session=run-many", NULL);
	before = livesite_fds(&site);
	for (int i = 0; i < N; i++)
		wait_open_at(&c[i], "run", run, WAIT_MS, 1);
	livesite_fds_become(&site, before + N);
	assert_false(fcgiclient_finish(&c[N - 1], 10));
	fcgiclient_close(&c[0]); /* one goes away before */
	livesite_fds_become(&site, before + N - 1);
	turn_to(run, 1, "done");
	for (int i = 1; i < N; i++)
		answered(&c[i], 200, "\"state\" : \"done\"");
	livesite_fds_become(&site, before);
	fcgiclient_close(&first);
}

/* Last: it ends the program, and starts another for stop(). */
static void test_sigterm_answers_everybody(void **state)
{
	const int64_t run = livesite_run("run-term", account);
	struct fcgiclient wait, stream;
	struct fcgi_event e = {0};
	int64_t retry;

	(void)state;
	wait_open_at(&wait, "run", run, WAIT_MS, 1);
	livesite_watch(&site, &stream, "/watch.sse?session=run-term", NULL);
	livesite_next(&stream, &e, "run");
	assert_false(fcgiclient_finish(&wait, 200));
	livesite_stop(&site); /* it waits for nobody */
	answered(&wait, 202, "\"session\" : \"run-term\"");
	livesite_next(&stream, &e, "retry");
	retry = strtoll(e.data, NULL, 10);
	assert_true(retry >= 1000 && retry <= 3000);
	assert_true(fcgiclient_finish(&stream, LIVE_MS)); /* END_REQUEST, not only an end of file */
	fcgi_event_done(&e);
	fcgiclient_close(&stream);
	livesite_start(&site, 15000, RESCAN_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_within_100_ms_of_the_boundary),
		cmocka_unit_test(test_answers_at_once_when_it_is_there),
		cmocka_unit_test(test_waits_for_its_turn),
		cmocka_unit_test(test_waits_for_a_sandbox),
		cmocka_unit_test(test_waits_for_a_run_in_a_sandbox),
		cmocka_unit_test(test_time_over_is_202),
		cmocka_unit_test(test_waits_for_an_exec),
		cmocka_unit_test(test_looks_without_being_told),
		cmocka_unit_test(test_unread_is_not_to_be_done_again),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_many_waits_for_one_run),
		cmocka_unit_test(test_sigterm_answers_everybody),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
