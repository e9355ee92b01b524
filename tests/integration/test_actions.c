/*
 * The actions on runs that are there, through router_serve: happy paths, each wrong input, and what
 * all errors must not show. What a worker would do is written into the rows by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "mcp_result.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *delegate(struct pool *pool)
{
	struct answer a =
		testweb_operator(pool, "POST", "/delegate.json", "{\"task\":\"echo hello\"}");

	assert_int_equal(a.status, 202);
	return testweb_get(pool, &a, "session");
}

/* What the worker does until the agent has asked something. */
static void ask_question(const char *run)
{
	testdb_exec("UPDATE boxes SET state = 'ready' WHERE id = (SELECT box_id FROM runs WHERE "
		    "name = '%s')",
		run);
	testdb_exec("UPDATE turns SET state = 'asked' WHERE run_id = (SELECT id FROM runs WHERE "
		    "name = '%s')",
		run);
	testdb_exec("INSERT INTO questions (account_id, run_id, turn_id, box_ref, text)"
		    " SELECT account_id, run_id, id, 'q1', 'Which one?' FROM turns"
		    " WHERE run_id = (SELECT id FROM runs WHERE name = '%s')",
		run);
	testdb_exec("DELETE FROM jobs WHERE run_id = (SELECT id FROM runs WHERE name = '%s')", run);
}

static void test_reads(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = delegate(pool);
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "GET", "/fleet.json", NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "runs.0.session"), run);
	a = testweb_operator(pool, "GET", "/monitor.json", NULL);
	assert_int_equal(a.status, 200);
	assert_true(strtol(testweb_get(pool, &a, "runs.queued"), NULL, 10) >= 1);
	testdb_exec(
		"INSERT INTO boxes (name, state, runtime, image, image_key, class, memory_bytes,"
		" cpus, disk_bytes, deadline_at, expires_at, pooled_at) VALUES ('box-ahead',"
		" 'pooled', 'qemu', 'base', 'k', 's', 1, 1, 1, now(), now(), now())");
	a = testweb_operator(pool, "GET", "/pool_status.json", NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "pooled"), "1");
	assert_string_equal(testweb_get(pool, &a, "boxes.0.image"), "base");
	assert_string_equal(testweb_get(pool, &a, "last_hour.claimed"), "0");
	testdb_exec("UPDATE boxes SET state = 'gone' WHERE name = 'box-ahead'");
	testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text) SELECT "
		    "account_id, id, 1, 1, 'say',"
		    " 'hi' FROM runs WHERE name = '%s'",
		run);
	a = testweb_operator(pool, "GET", pool_printf(pool, "/watch.json?session=%s", run), NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "session"), run);
	assert_string_equal(testweb_get(pool, &a, "trace.0.text"), "hi");
	a = testweb_operator(pool, "GET", "/watch.json?session=run-nosuchnosuchnosuc", NULL);
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/watch.json?session=%s&session=%s", run, run), NULL);
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "GET", "/watch.json", NULL);
	assert_int_equal(a.status, 422);
	a = testweb_ask(pool, "GET", "/healthz", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "{\"ok\":true}");
	a = testweb_ask(pool, "GET", "/openapi.json", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "openapi"), "3.1.0");
	a = testweb_ask(pool, "HEAD", "/healthz", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.head, "Content-Length: 11\r\n"));
	assert_string_equal(a.body, "");
	a = testweb_ask(
		pool, "HEAD", "/teardown.json", (const char *const[]){HOST, BEARER, NULL}, NULL, 0);
	assert_int_equal(a.status, 405);
	a = testweb_operator(pool, "GET", "/metrics", NULL);
	assert_non_null(strstr(a.body, "asb_runs{state=\"queued\"} "));
	assert_non_null(strstr(a.body, "asb_jobs{state=\"queued\"} "));
	assert_non_null(strstr(a.body, "asb_boxes{state=\"creating\"} "));
	assert_non_null(strstr(a.body, "asb_log_bytes 0\n"));
}

/* Another account's things are not there. */
static void test_other_accounts(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	static const char *const paths[] = {"/watch.json?", "/status.json?", "/log.json?",
		"/trace.json?", "/egress.json?", "/log_search.json?q=x&", "/log.txt?",
		"/log.ndjson?"};
	const char *run = delegate(pool);
	struct answer a;

	(void)state;
	testdb_exec("INSERT INTO accounts (name) VALUES ('other') ON CONFLICT DO NOTHING");
	for (size_t i = 0; i < COUNT(paths); i++) {
		a = testweb_operator(
			pool, "GET", pool_printf(pool, "%ssession=%s", paths[i], run), NULL);
		assert_int_equal(a.status, 200);
	}
	testdb_exec("UPDATE runs SET account_id = (SELECT id FROM accounts WHERE name = 'other') "
		    "WHERE name = '%s'",
		run);
	for (size_t i = 0; i < COUNT(paths); i++) {
		a = testweb_operator(
			pool, "GET", pool_printf(pool, "%ssession=%s", paths[i], run), NULL);
		assert_int_equal(a.status, 404);
	}
	a = testweb_operator(
		pool, "POST", "/teardown.json", pool_printf(pool, "{\"session\":\"%s\"}", run));
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(pool, "{\"session\":\"%s\",\"code\":\"x\"}", run));
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "POST", "/resume.json",
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"x\"}", run));
	assert_int_equal(a.status, 404);
}

static void test_resume(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = delegate(pool);
	const char *body =
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"the red one\"}", run);
	struct answer a;

	(void)state;
	testdb_exec("UPDATE boxes SET state = 'ready' WHERE id = (SELECT box_id FROM runs WHERE "
		    "name = '%s')",
		run);
	a = testweb_operator(pool, "POST", "/resume.json", body);
	assert_int_equal(a.status, 409);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "not_waiting");
	ask_question(run);
	/* what no frame holds is refused here, and not by the box with the run's end */
	a = testweb_operator(pool, "POST", "/resume.json",
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"%061440d\\n\"}", run, 1));
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "POST", "/resume.json",
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"%061439d\\n\"}", run, 1));
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "GET", pool_printf(pool, "/watch.json?session=%s", run), NULL);
	assert_string_equal(testweb_get(pool, &a, "state"), "waiting");
	assert_string_equal(testweb_get(pool, &a, "question.text"), "Which one?");
	a = testweb_operator(pool, "POST", "/resume.json", body);
	assert_int_equal(a.status, 202);
	assert_string_equal(testweb_get(pool, &a, "turn"), "2");
	a = testweb_operator(pool, "POST", "/resume.json",
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"the blue one\"}", run));
	assert_int_equal(a.status, 409);
	assert_string_equal(testweb_get(pool, &a, "error.code"), "conflict");
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "answered");
	assert_string_equal(testweb_get(pool, &a, "error.context.answer"), "the red one");
	assert_string_equal(testweb_get(pool, &a, "error.context.answered_by"), "operator");
	a = testweb_operator(pool, "POST", "/resume.json",
		"{\"session\":\"run-nosuchnosuchnosuc\",\"message\":\"x\"}");
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "POST", "/resume.json",
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"\"}", run));
	assert_int_equal(a.status, 422);
}

static void test_teardown(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = delegate(pool), *body = pool_printf(pool, "{\"session\":\"%s\"}", run);
	struct answer a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		a = testweb_operator(pool, "POST", "/teardown.json", body);
		assert_int_equal(a.status, 202);
		assert_string_equal(testweb_get(pool, &a, "session"), run);
		assert_string_equal(testweb_get(pool, &a, "box.state"), "destroying");
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs j JOIN runs r ON r.id = j.run_id "
				    "WHERE r.name = '%s'"
				    " AND kind = 'destroy'",
				 run),
		1);
	a = testweb_operator(
		pool, "POST", "/teardown.json", "{\"session\":\"run-nosuchnosuchnosuc\"}");
	assert_int_equal(a.status, 404);
}

static void test_status(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = delegate(pool);
	struct answer a = testweb_operator(
		pool, "GET", pool_printf(pool, "/status.json?session=%s", run), NULL);

	(void)state;
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "session"), run);
	assert_string_equal(testweb_get(pool, &a, "text"), "run:queued");
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/status.json?session=%s&wait_ms=600000", run), NULL);
	assert_string_equal(a.internal,
		pool_printf(pool, "/internal/wait?run=%s&wait_ms=600000&account=1&turn=0", run));
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/status.json?session=%s&wait_ms=600001", run), NULL);
	assert_int_equal(a.status, 422);
	a = testweb_operator(
		pool, "GET", "/status.json?session=run-nosuch%0d%0aX:y&wait_ms=1", NULL);
	assert_int_equal(a.status, 404);
	assert_null(a.internal);
}

/* Where asb-live is not there nginx asks here, with the wait's own query. */
static void test_accepted(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf mcp = BUF_INIT(4096);
	const struct mcp_call call = {MCP_LEGACY, "2025-06-18", "0", "delegate", NULL};
	const char *run = delegate(pool);
	struct answer a = testweb_operator(pool, "GET",
		pool_printf(pool, "/accepted.json?run=%s&wait_ms=5&account=1&turn=1", run), NULL);

	(void)state;
	assert_int_equal(a.status, 202);
	assert_string_equal(testweb_get(pool, &a, "session"), run);
	mcp_call_print(&mcp, &call);
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/accepted.json?run=%s&wait_ms=5&account=1&turn=1&mcp=%s", run,
			mcp.data),
		NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "id"), "0");
	assert_string_equal(testweb_get(pool, &a, "result.structuredContent.session"), run);
	assert_non_null(strstr(testweb_get(pool, &a, "result.content.0.text"), "call status"));
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/accepted.json?run=run-nosuch&mcp=%s", mcp.data), NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "result.isError"), "true");
	a = testweb_operator(pool, "GET", "/accepted.json?run=run-nosuch", NULL);
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "GET", "/accepted.json?run=a&box=b", NULL);
	assert_int_equal(a.status, 422);
}

static void test_exec(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = delegate(pool), *exec;
	char *code = pool_alloc(pool, 200000);
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(pool,
			"{\"session\":\"%s\",\"argv\":[\"echo\",\"a b\"],\"stdin\":\"in\"}", run));
	assert_int_equal(a.status, 202);
	exec = testweb_get(pool, &a, "exec");
	assert_string_equal(testweb_get(pool, &a, "state"), "queued");
	assert_string_equal(testdb_text("SELECT argv::text || ' ' || convert_from(stdin, 'UTF8') "
					"|| ' ' || timeout_ms FROM execs"
					" WHERE name = '%s'",
				    exec),
		"[\"echo\", \"a b\"] in 30000");
	a = testweb_operator(pool, "GET", pool_printf(pool, "/exec.json?exec=%s", exec), NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "exec"), exec);
	a = testweb_operator(
		pool, "GET", pool_printf(pool, "/exec.json?exec=%s&wait_ms=5", exec), NULL);
	assert_string_equal(a.internal,
		pool_printf(
			pool, "/internal/wait?exec=%s&wait_ms=5&account=1&turn=0&read=1", exec));
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(
			pool, "{\"session\":\"%s\",\"code\":\"exit 3\",\"wait_ms\":1000000}", run));
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(
			pool, "{\"session\":\"%s\",\"code\":\"exit 3\",\"wait_ms\":600000}", run));
	assert_string_equal(a.internal,
		pool_printf(pool, "/internal/wait?exec=%s&wait_ms=600000&account=1&turn=0",
			testdb_text("SELECT name FROM execs ORDER BY id DESC LIMIT 1")));
	assert_string_equal(testdb_text("SELECT argv::text FROM execs ORDER BY id DESC LIMIT 1"),
		"[\"/bin/bash\", \"-c\", \"exit 3\"]");
	memset(code, 'x', 199999);
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(pool, "{\"session\":\"%s\",\"code\":\"%s\"}", run, code));
	assert_int_equal(a.status, 202);
	assert_int_equal(
		testdb_i64("SELECT length(stdin) FROM execs ORDER BY id DESC LIMIT 1"), 199999);
	a = testweb_operator(
		pool, "POST", "/exec.json", pool_printf(pool, "{\"session\":\"%s\"}", run));
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(pool, "{\"session\":\"%s\",\"code\":\"x\",\"argv\":[\"x\"]}", run));
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "GET", "/exec.json?exec=exec-nosuchnosuchnosu", NULL);
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "GET", "/exec.json?exec=a%0d%0aX-Y:z&wait_ms=5", NULL);
	assert_int_equal(a.status, 404);
	assert_null(a.internal);
	testdb_exec("UPDATE boxes SET state = 'failed' WHERE id = (SELECT box_id FROM runs WHERE "
		    "name = '%s')",
		run);
	a = testweb_operator(pool, "POST", "/exec.json",
		pool_printf(pool, "{\"session\":\"%s\",\"code\":\"x\"}", run));
	assert_int_equal(a.status, 409);
}

static void add_chunk(
	const char *run, int seq, int stream, int first_line, int nlines, const char *body)
{
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		    "src_off, src_len, body)"
		    " SELECT l.account_id, l.id, %d, %d, %d, %d, 0, 0, E'%s'::bytea FROM logs l "
		    "JOIN runs r"
		    " ON r.id = l.run_id WHERE r.name = '%s' AND l.exec_id IS NULL",
		seq, stream, first_line, nlines, body, run);
}

static void test_log(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = delegate(pool);
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "GET", pool_printf(pool, "/log.json?session=%s", run), NULL);
	assert_string_equal(a.body, "{\"first_line\":0,\"lines\":[],\"next\":0,\"total_lines\":0}");
	add_chunk(run, 1, 1, 0, 2, "zero\\none\\nhalf of ");
	add_chunk(run, 2, 1, 2, 1, "two\\n");
	add_chunk(run, 3, 2, 3, 2, "\\nerr \\\\377\\n");
	add_chunk(run, 4, 1, 5, 0, "not ended");
	a = testweb_operator(pool, "GET", pool_printf(pool, "/log.json?session=%s", run), NULL);
	assert_string_equal(a.body,
		"{\"first_line\":0,\"lines\":[{\"n\":0,\"stream\":\"stdout\",\"text\":\"zero\"},"
		"{\"n\":1,\"stream\":\"stdout\",\"text\":\"one\"},{\"n\":2,\"stream\":\"stdout\","
		"\"text\":\"half of two\"},"
		"{\"n\":3,\"stream\":\"stderr\",\"text\":\"\"},{\"n\":4,\"stream\":\"stderr\","
		"\"text\":\"err \xef\xbf\xbd\"},"
		"{\"n\":5,\"stream\":\"stdout\",\"text\":\"not "
		"ended\"}],\"next\":5,\"total_lines\":6}");
	a = testweb_operator(
		pool, "GET", pool_printf(pool, "/log.json?session=%s&from=2&limit=2", run), NULL);
	assert_string_equal(a.body,
		"{\"first_line\":2,\"lines\":[{\"n\":2,\"stream\":\"stdout\",\"text\":\"half of "
		"two\"},"
		"{\"n\":3,\"stream\":\"stderr\",\"text\":\"\"}],\"next\":4,\"total_lines\":6}");
	a = testweb_operator(
		pool, "GET", pool_printf(pool, "/log.json?session=%s&from=100", run), NULL);
	assert_string_equal(
		a.body, "{\"first_line\":100,\"lines\":[],\"next\":100,\"total_lines\":6}");
	a = testweb_operator(pool, "GET", "/log.json?session=run-nosuchnosuchnosuc", NULL);
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "GET", "/log.json", NULL);
	assert_int_equal(a.status, 422);
	a = testweb_operator(
		pool, "GET", pool_printf(pool, "/log.json?session=%s&from=-1", run), NULL);
	assert_int_equal(a.status, 422);
}

/* The database taken away: 503, nothing of why, and the next request works. */
static void test_errors_show_no_internals(void **state)
{
	static const char *const inner[] = {
		"sql", "SQL", "relation", "libpq", "socket", "asb_web", "select", "/tmp", ".c:"};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a, accepted;

	(void)state;
	/* what was prepared before knows a view by its number */
	testdb_shut_out("asb_web");
	testdb_let_in();
	testdb_exec("ALTER TABLE hosts RENAME TO hosts_gone");
	testdb_exec("ALTER TABLE runs RENAME TO runs_gone");
	testdb_exec("ALTER VIEW run_view RENAME TO run_view_gone");
	accepted = testweb_operator(pool, "GET", "/accepted.json?run=run-begun", NULL);
	a = testweb_operator(pool, "GET", "/fleet.json", NULL);
	testdb_exec("ALTER TABLE hosts_gone RENAME TO hosts");
	testdb_exec("ALTER TABLE runs_gone RENAME TO runs");
	testdb_exec("ALTER VIEW run_view_gone RENAME TO run_view");
	assert_int_equal(a.status, 500);
	assert_string_equal(testweb_get(pool, &a, "error.code"), "internal");
	/* what was committed is not to be sent again */
	assert_int_equal(accepted.status, 503);
	assert_string_equal(testweb_get(pool, &accepted, "error.fix"),
		"It was begun and goes on: call status with session=run-begun.");
	for (size_t i = 0; i < COUNT(inner); i++) {
		assert_null(strstr(a.body, inner[i]));
		assert_null(strstr(accepted.body, inner[i]));
	}
	testdb_exec("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = "
		    "'asb_web'"
		    " AND datname = current_database()");
	a = testweb_operator(pool, "GET", "/fleet.json", NULL);
	if (a.status != 200) {
		assert_int_equal(a.status, 503);
		assert_non_null(strstr(a.head, "Retry-After: 1\r\n"));
		for (size_t i = 0; i < COUNT(inner); i++)
			assert_null(strstr(a.body, inner[i]));
	}
	a = testweb_operator(pool, "GET", "/fleet.json", NULL);
	assert_int_equal(a.status, 200);
}

static void test_headers_everywhere(void **state)
{
	static const char *const wanted[] = {
		"Content-Security-Policy: ", "X-Content-Type-Options: nosniff",
		"Referrer-Policy: no-referrer", "Cross-Origin-Opener-Policy: same-origin",
		"Cross-Origin-Resource-Policy: same-origin",
		"Permissions-Policy: ", "Cache-Control: no-store", "Vary: Sec-Fetch-Site, Origin"};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; actions[i]; i++) {
		struct answer a = testweb_ask(pool, actions[i]->method, actions[i]->path,
			(const char *const[]){HOST, BEARER, "Origin: " TESTWEB_URL, JSON, NULL},
			NULL, 0);

		for (size_t k = 0; k < COUNT(wanted); k++)
			if (!strstr(a.head, wanted[k]))
				fail_msg("%s lacks %s", actions[i]->name, wanted[k]);
		assert_null(strstr(a.head, "Access-Control"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_other_accounts),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_teardown),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_errors_show_no_internals),
		cmocka_unit_test(test_headers_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
