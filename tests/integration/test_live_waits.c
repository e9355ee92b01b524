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

static struct livesite site;
static int64_t account;

static int start(void **state)
{
	(void)state;
	account = testdb_i64("SELECT id FROM accounts WHERE name = 'operator'");
	livesite_start(&site, 15000, 5000);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_true(livesite_stop(&site) < 3000);
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

/* Takes the answer; returns how long after `since` it came. */
static int64_t answered(struct fcgiclient *c, int status, const char *has, int64_t since)
{
	int64_t took;

	assert_true(fcgiclient_finish(c, 5000));
	took = time_boot_ms() - since;
	if (fcgiclient_status(c) != status || !strstr(fcgiclient_body(c), has))
		fail_msg("not %d with %s: %s", status, has, c->out.data);
	assert_string_equal(fcgiclient_header(c, "Content-Type"), "application/json");
	assert_int_equal(strtoll(fcgiclient_header(c, "Content-Length"), NULL, 10),
		strlen(fcgiclient_body(c)));
	fcgiclient_close(c);
	return took;
}

static void test_answers_within_100_ms_of_the_boundary(void **state)
{
	static const char *const ends[] = {"asked", "done", "failed", "stopped", "lost"};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char name[32], text[64];
		int64_t run;
		struct fcgiclient c;

		(void)snprintf(name, sizeof(name), "run-wait%zu", i);
		run = livesite_run(name, account);
		wait_open_at(&c, "run", run, 20000, 1);
		turn_to(run, 1, "running"); /* no boundary: it goes on waiting */
		assert_false(fcgiclient_finish(&c, 200));
		turn_to(run, 1, ends[i]);
		(void)snprintf(text, sizeof(text), "\"state\" : \"%s\"", i ? ends[i] : "waiting");
		assert_true(answered(&c, 200, text, time_boot_ms()) < 100);
	}
}

static void test_answers_at_once_when_it_is_there(void **state)
{
	const int64_t run = livesite_run("run-there", account);
	struct fcgiclient c;
	const int64_t since = time_boot_ms();

	(void)state;
	turn_to(run, 1, "done");
	livesite_get(&site, &c, "/internal/wait?run=run-there&wait_ms=20000", NULL); /* by name */
	assert_true(answered(&c, 200, "\"session\" : \"run-there\"", since) < 1000);
}

/* The boundary of turn 1 is not the one that the caller of turn 2 waits for. */
static void test_waits_for_its_turn(void **state)
{
	const int64_t run = livesite_run("run-turn", account);
	struct fcgiclient c;

	(void)state;
	turn_to(run, 1, "asked");
	wait_open_at(&c, "run", run, 20000, 2);
	assert_false(fcgiclient_finish(&c, 200));
	testdb_exec(
		"INSERT INTO turns (account_id, run_id, box_id, n, message) SELECT account_id, id,"
		" box_id, 2, 'blue' FROM runs WHERE id = %lld",
		(long long)run);
	assert_false(fcgiclient_finish(&c, 200));
	turn_to(run, 2, "done");
	assert_true(answered(&c, 200, "\"turn\" : 2", time_boot_ms()) < 100);
}

static void test_time_over_is_202(void **state)
{
	const int64_t run = livesite_run("run-over", account);
	const int64_t since = time_boot_ms();
	struct fcgiclient c, longer;
	int64_t took;

	(void)state;
	wait_open_at(&longer, "run", run, 20000, 1);
	wait_open_at(&c, "run", run, 300, 1);
	took = answered(&c, 202, "\"state\" : \"queued\"", since);
	assert_true(took >= 300 && took < 1000);
	wait_open_at(&c, "run", run, 0, 1);
	assert_true(answered(&c, 202, "\"state\" : \"queued\"", time_boot_ms()) < 500);
	turn_to(run, 1, "done");
	(void)answered(&longer, 200, "\"state\" : \"done\"", since);
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
	wait_open_at(&c, "exec", exec, 20000, 0);
	testdb_exec("UPDATE execs SET state = 'running' WHERE id = %lld", (long long)exec);
	assert_false(fcgiclient_finish(&c, 200));
	testdb_exec(
		"UPDATE execs SET state = 'done', exit_code = 3 WHERE id = %lld", (long long)exec);
	assert_true(answered(&c, 200, "\"exit_code\" : 3", time_boot_ms()) < 100);
}

/* A hint that is lost is made up for by looking. */
static void test_looks_without_being_told(void **state)
{
	const int64_t run = livesite_run("run-unheard", account);
	struct fcgiclient c;

	(void)state;
	wait_open_at(&c, "run", run, 20000, 1);
	assert_false(fcgiclient_finish(&c, 100));
	testdb_exec("BEGIN; SET LOCAL session_replication_role = replica;"
		    " UPDATE runs SET state = 'done' WHERE id = %lld; COMMIT",
		(long long)run);
	(void)answered(&c, 200, "\"state\" : \"done\"", time_boot_ms());
}

static void refused(const char *url, int status)
{
	struct fcgiclient c;

	livesite_get(&site, &c, url, NULL);
	(void)answered(&c, status, "\"error\"", time_boot_ms());
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
	(void)answered(&c, 401, "\"unauthenticated\"", time_boot_ms());
}

static void test_many_waits_for_one_run(void **state)
{
	enum { N = 100 };
	const int64_t run = livesite_run("run-many", account);
	struct fcgiclient c[N];
	int before;

	(void)state;
	before = livesite_fds(&site);
	for (int i = 0; i < N; i++)
		wait_open_at(&c[i], "run", run, 20000, 1);
	livesite_fds_become(&site, before + N, 5000);
	assert_false(fcgiclient_finish(&c[N - 1], 10));
	fcgiclient_close(&c[0]); /* one goes away before */
	livesite_fds_become(&site, before + N - 1, 500);
	turn_to(run, 1, "done");
	for (int i = 1; i < N; i++)
		(void)answered(&c[i], 200, "\"state\" : \"done\"", time_boot_ms());
	livesite_fds_become(&site, before, 500);
}

/* Last: it ends the program, and starts another for stop(). */
static void test_sigterm_answers_everybody(void **state)
{
	const int64_t run = livesite_run("run-term", account);
	struct fcgiclient wait, stream;
	struct fcgi_event e = {0};
	int64_t retry;

	(void)state;
	wait_open_at(&wait, "run", run, 20000, 1);
	livesite_watch(&site, &stream, "/watch.sse?session=run-term", NULL);
	livesite_next(&stream, &e, "run", 1000);
	assert_false(fcgiclient_finish(&wait, 200));
	assert_true(livesite_stop(&site) < 3000);
	(void)answered(&wait, 202, "\"session\" : \"run-term\"", time_boot_ms());
	livesite_next(&stream, &e, "retry", 1000);
	retry = strtoll(e.data, NULL, 10);
	assert_true(retry >= 1000 && retry <= 3000);
	assert_true(fcgiclient_finish(&stream, 1000)); /* END_REQUEST, not only an end of file */
	fcgi_event_done(&e);
	fcgiclient_close(&stream);
	livesite_start(&site, 15000, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_within_100_ms_of_the_boundary),
		cmocka_unit_test(test_answers_at_once_when_it_is_there),
		cmocka_unit_test(test_waits_for_its_turn),
		cmocka_unit_test(test_time_over_is_202),
		cmocka_unit_test(test_waits_for_an_exec),
		cmocka_unit_test(test_looks_without_being_told),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_many_waits_for_one_run),
		cmocka_unit_test(test_sigterm_answers_everybody),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
