/*
 * Waits that are MCP calls: a head at once, signs of life, and exactly one JSON-RPC answer at the
 * boundary, at the deadline, at the program's end and without a database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "livesite.h"
#include "mcp_result.h"
#include "testdb.h"
#include "text.h"

/* Longer than anything here may take. */
#define WAIT_MS 50000
#define BEAT_MS 100 /* by the heartbeat's setting */

static struct livesite site;
static int64_t account;

static int start(void **state)
{
	(void)state;
	account = testdb_i64("SELECT id FROM accounts WHERE name = 'operator'");
	livesite_start(&site, BEAT_MS, RESCAN_NEVER);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	livesite_stop(&site);
	return 0;
}

static void call_open_with(struct fcgiclient *c, const char *query, const char *tool,
	const char *id, const char *token, const char *form_state, int wait_ms)
{
	const struct mcp_call call = {MCP_MODERN, "2026-07-28", id, tool, token, form_state};
	CLEANUP(buf) struct buf b = BUF_INIT(4096);
	char url[1024];

	mcp_call_print(&b, &call);
	(void)snprintf(url, sizeof(url), "/internal/wait?%s&wait_ms=%d&account=%lld&mcp=%s", query,
		wait_ms, (long long)account, b.data);
	livesite_get(&site, c, url, NULL);
}

static void call_open(struct fcgiclient *c, const char *query, const char *tool, const char *id,
	const char *token, int wait_ms)
{
	call_open_with(c, query, tool, id, token, NULL, wait_ms);
}

static void turn_to(int64_t run, const char *state)
{
	testdb_exec("UPDATE turns SET state = '%s' WHERE run_id = %lld", state, (long long)run);
}

/* The head is there before anything else is. */
static void head_came(struct fcgiclient *c)
{
	const int64_t until = time_boot_ms() + LIVE_MS;

	while (!fcgiclient_status(c) && time_boot_ms() < until)
		(void)fcgiclient_read(c, 100);
	assert_int_equal(fcgiclient_status(c), 200);
	assert_string_equal(fcgiclient_header(c, "Content-Type"), "text/event-stream");
	assert_string_equal(fcgiclient_header(c, "X-Accel-Buffering"), "no");
	assert_non_null(strstr(fcgiclient_header(c, "Cache-Control"), "no-cache, no-transform"));
}

/* The last event of the ended stream, which is the only answer in it. The caller's to free. */
static struct json_object *answer_of(struct fcgiclient *c, const char *id)
{
	struct json_object *o = NULL;
	const char *body, *data, *mark;
	char begin[64];
	struct err err;

	assert_true(fcgiclient_finish(c, LIVE_MS));
	assert_int_equal(fcgiclient_status(c), 200);
	body = fcgiclient_body(c);
	(void)snprintf(begin, sizeof(begin), "data: {\"jsonrpc\":\"2.0\",\"id\":%s,", id);
	data = strstr(body, begin);
	if (!data)
		fail_msg("no answer to %s in %s", id, body);
	mark = strstr(data, "\n\n");
	assert_non_null(mark);
	assert_string_equal(mark, "\n\n"); /* nothing after it */
	data += strlen("data: ");
	if (!json_parse(data, (size_t)(mark - data), &o, &err))
		fail_msg("%s: %s", err.msg, data);
	return o;
}

static const char *text_of(struct json_object *answer)
{
	const char *text = "";

	assert_true(json_get_text(
		json_at(json_get(json_get(answer, "result"), "content"), 0), "text", &text));
	return text;
}

static void answered(
	struct fcgiclient *c, const char *id, bool is_error, const char *begins, const char *has)
{
	CLEANUP(json) struct json_object *answer = answer_of(c, id);
	const char *text = text_of(answer);
	bool flag = !is_error;

	assert_true(json_get_bool(json_get(answer, "result"), "isError", &flag));
	assert_int_equal(flag, is_error);
	if (strncmp(text, begins, strlen(begins)) != 0 || !strstr(text, has))
		fail_msg("does not begin with %s or has no %s: %s", begins, has, text);
	fcgiclient_close(c);
}

/* The same of a call that never became a wait: plain JSON. */
static void refused(struct fcgiclient *c, const char *id, const char *begins, const char *has)
{
	CLEANUP(json) struct json_object *answer = NULL;
	const char *body, *text;
	char member[64];
	struct err err;

	assert_true(fcgiclient_finish(c, LIVE_MS));
	assert_int_equal(fcgiclient_status(c), 200);
	assert_string_equal(fcgiclient_header(c, "Content-Type"), "application/json");
	body = fcgiclient_body(c);
	(void)snprintf(member, sizeof(member), "\"id\":%s,", id);
	assert_non_null(strstr(body, member));
	assert_true(json_parse(body, strlen(body), &answer, &err));
	text = text_of(answer);
	if (strncmp(text, begins, strlen(begins)) != 0 || !strstr(text, has))
		fail_msg("does not begin with %s or has no %s: %s", begins, has, text);
	fcgiclient_close(c);
}

static void test_answers_at_the_boundary(void **state)
{
	static const struct {
		const char *end, *begins, *has;
	} rows[] = {
		{"done", "run:done session=run-mcp0", "session=run-mcp0"},
		{"asked", "run:waiting session=run-mcp1", "resume"},
		{"failed", "run:failed session=run-mcp2", "session=run-mcp2"},
		{"stopped", "run:stopped session=run-mcp3", "delegate"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fcgiclient c;
		char name[32], query[64];
		int64_t run;

		(void)snprintf(name, sizeof(name), "run-mcp%zu", i);
		run = livesite_run(name, account);
		(void)snprintf(query, sizeof(query), "run=%s&turn=1", name);
		call_open(&c, query, "delegate", "\"a\\/b\"", NULL, WAIT_MS);
		head_came(&c);
		assert_false(c.ended);
		turn_to(run, rows[i].end);
		answered(&c, "\"a\\/b\"", false, rows[i].begins, rows[i].has);
	}
}

/* A question as a form, where the call has what that needs. */
static void test_a_question_as_a_form(void **state)
{
	const int64_t run = livesite_run("run-form", account);
	CLEANUP(json) struct json_object *answer = NULL;
	struct json_object *result;
	struct fcgiclient c;
	const char *s = "";

	(void)state;
	call_open_with(&c, "run=run-form&turn=1", "delegate", "1", NULL, "a.state", WAIT_MS);
	head_came(&c);
	testdb_exec("BEGIN; UPDATE turns SET state = 'asked' WHERE run_id = %lld; INSERT INTO "
		    "questions (account_id, run_id, turn_id, box_ref, text) SELECT account_id, "
		    "run_id, id, 'q1', 'red or blue?' FROM turns WHERE run_id = %lld; COMMIT",
		(long long)run, (long long)run);
	answer = answer_of(&c, "1");
	result = json_get(answer, "result");
	assert_true(json_get_text(result, "resultType", &s));
	assert_string_equal(s, "input_required");
	assert_true(json_get_text(result, "requestState", &s));
	assert_string_equal(s, "a.state");
	s = json_key_at(json_get(result, "inputRequests"), 0);
	assert_non_null(s);
	assert_int_equal(strncmp(s, "question-", 9), 0);
	assert_true(json_get_text(
		json_get(json_get(json_get(result, "inputRequests"), s), "params"), "message", &s));
	assert_string_equal(s, "red or blue?");
	fcgiclient_close(&c);
}

/* At the place of the number n (from 0) of `word` in text. */
static const char *nth(const char *text, const char *word, int n)
{
	for (; (text = strstr(text, word)) && n; n--)
		text++;
	return text;
}

static void test_progress_for_a_token(void **state)
{
	static const char *const tokens[] = {"0", "\"t-\\\"1\""};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fcgi_event e = {0};
		struct fcgiclient c;
		char name[32], query[64], token[96];
		double last = -1;
		int64_t run;

		(void)snprintf(name, sizeof(name), "run-token%zu", i);
		run = livesite_run(name, account);
		livesite_trace(run, 1, 3);
		testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text) VALUES "
			    "(%lld, %lld, 4, 1, 'say', E'evil \\x1b[31m\\n\\ndata: {}\\n\\nline')",
			(long long)account, (long long)run);
		(void)snprintf(query, sizeof(query), "run=%s", name);
		(void)snprintf(token, sizeof(token), "\"progressToken\":%s,", tokens[i]);
		call_open(&c, query, "status", "7", tokens[i], WAIT_MS);
		for (int n = 0; n < 4; n++) {
			const char *progress;

			assert_true(fcgiclient_event(&c, &e, LIVE_MS));
			assert_non_null(strstr(e.data, "\"method\":\"notifications/progress\""));
			assert_non_null(strstr(e.data, token));
			assert_non_null(strstr(e.data, "run:queued evil "));
			assert_null(strchr(e.data, 0x1b));
			progress = strstr(e.data, "\"progress\":");
			assert_non_null(progress);
			assert_true(strtod(progress + 11, NULL) > last);
			last = strtod(progress + 11, NULL);
		}
		turn_to(run, "done");
		answered(&c, "7", false, "run:done", "session=run-token");
		fcgi_event_done(&e);
	}
}

static void test_comments_without_a_token(void **state)
{
	const int64_t run = livesite_run("run-silent", account);
	const int64_t until = time_boot_ms() + LIVE_MS;
	struct fcgiclient c;

	(void)state;
	call_open(&c, "run=run-silent", "status", "7", NULL, WAIT_MS);
	while ((!c.body || !nth(fcgiclient_body(&c), ": waiting\n\n", 2)) && time_boot_ms() < until)
		(void)fcgiclient_read(&c, 100);
	assert_null(strstr(fcgiclient_body(&c), "data:"));
	assert_null(strstr(fcgiclient_body(&c), "progress"));
	turn_to(run, "done");
	answered(&c, "7", false, "run:done", "");
}

static void test_the_deadline_says_what_to_call(void **state)
{
	const int64_t since = time_boot_ms();
	struct fcgiclient c;

	(void)state;
	(void)livesite_run("run-late", account);
	call_open(&c, "run=run-late", "delegate", "-3", NULL, 300);
	answered(&c, "-3", false, "run:queued session=run-late",
		"call status with session=run-late");
	assert_true(time_boot_ms() - since >= 300);
}

/* What is waited for besides runs, and what comes to nothing. */
static void test_errors_are_answers(void **state)
{
	const int64_t box = testdb_i64(
		"INSERT INTO boxes (account_id, name, image, class, memory_bytes, cpus, "
		"disk_bytes, "
		"deadline_at, expires_at, purpose, language, egress) VALUES (%lld, 'box-mcp', "
		"'base', 's', 1, 1, 1, now(), now(), 'sandbox', 'python', 'sealed') RETURNING id",
		(long long)account);
	struct fcgiclient c;

	(void)state;
	call_open(&c, "box=box-mcp", "create_sandbox", "1", NULL, WAIT_MS);
	head_came(&c);
	testdb_exec("UPDATE boxes SET state = 'failed', reason = 'network_leak' WHERE id = %lld",
		(long long)box);
	answered(&c, "1", true, "error:upstream", "network_leak");
	call_open(&c, "run=run-nowhere", "status", "\"x\"", NULL, WAIT_MS);
	refused(&c, "\"x\"", "error:not_found", "run-nowhere");
	/* no call of ours: as every wrong wait */
	livesite_get(&site, &c, "/internal/wait?run=run-late&wait_ms=1&mcp=e30", NULL);
	assert_true(fcgiclient_finish(&c, LIVE_MS));
	assert_int_equal(fcgiclient_status(&c), 422);
	fcgiclient_close(&c);
}

/* Who goes away is waited for no longer; the run does not know. */
static void test_client_gone(void **state)
{
	const int64_t run = livesite_run("run-left", account);
	struct fcgiclient first, c;
	int before;

	(void)state;
	/* clients of the tests before are gone when one that came later has been heard */
	livesite_watch(&site, &first, "/watch.sse?session=run-left", NULL);
	before = livesite_fds(&site);
	call_open(&c, "run=run-left", "delegate", "1", "\"t\"", WAIT_MS);
	head_came(&c);
	livesite_fds_become(&site, before + 1);
	fcgiclient_close(&c);
	livesite_fds_become(&site, before);
	fcgiclient_close(&first);
	assert_string_equal(
		testdb_text("SELECT state FROM runs WHERE id = %lld", (long long)run), "queued");
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE run_id = %lld AND "
				    "cancel_requested_at IS NOT NULL",
				 (long long)run),
		0);
}

#define UNREAD(name) "error:busy run " name ": its state cannot be read just now"

static bool listens(void)
{
	return testdb_i64("SELECT count(*) FROM pg_stat_activity WHERE application_name = "
			  "'asb-live listen' AND datname = current_database()") > 0;
}

/* The deadline comes while nothing can be read, or the call does: that is said, with what to call.
 */
static void test_no_database(void **state)
{
	struct fcgiclient c;
	int64_t until;

	(void)state;
	(void)livesite_run("run-unread", account);
	call_open(&c, "run=run-unread", "status", "1", "5", 1500);
	head_came(&c);
	testdb_shut_out("asb_live");
	answered(&c, "1", true, UNREAD("run-unread"), "call status with session=run-unread");
	call_open(&c, "run=run-unread", "delegate", "2", NULL, WAIT_MS);
	refused(&c, "2", UNREAD("run-unread"), "call status with session=run-unread");
	testdb_let_in();
	call_open(&c, "run=run-unread", "status", "1", "5", 1);
	answered(&c, "1", false, "run:queued", "");
	/* the connection that listens comes back in its own time: who counts, counts it */
	until = time_boot_ms() + LIVE_MS;
	while (!listens() && time_boot_ms() < until)
		(void)usleep(10000);
	assert_true(listens());
}

/* Nor is it to be sent again where the statement takes longer than it may. */
static void test_slow_database(void **state)
{
	CLEANUP(db) struct db *db = testdb_open(TESTDB_SUPER);
	struct fcgiclient c;
	struct err err;

	(void)state;
	(void)livesite_run("run-slow", account);
	call_open(&c, "run=run-slow", "delegate", "1", NULL, 1500);
	head_came(&c);
	assert_true(db_exec(db, "BEGIN; LOCK TABLE runs", &err));
	answered(&c, "1", true, UNREAD("run-slow"), "call status with session=run-slow");
	call_open(&c, "run=run-slow", "delegate", "2", NULL, WAIT_MS);
	refused(&c, "2", UNREAD("run-slow"), "call status with session=run-slow");
	assert_true(db_exec(db, "ROLLBACK", &err));
}

/* Last: it ends the program, and starts another for stop(). */
static void test_sigterm_answers_a_hundred(void **state)
{
	enum { N = 100 };
	struct fcgiclient first, c[N];
	int before;

	(void)state;
	(void)livesite_run("run-end", account);
	livesite_watch(&site, &first, "/watch.sse?session=run-end", NULL); /* as above */
	before = livesite_fds(&site);
	for (int i = 0; i < N; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "%d", i);
		call_open(&c[i], "run=run-end", "status", id, i % 2 ? "1" : NULL, WAIT_MS);
	}
	livesite_fds_become(&site, before + N);
	livesite_stop(&site);
	fcgiclient_close(&first);
	for (int i = 0; i < N; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "%d", i);
		answered(&c[i], id, false, "run:queued session=run-end", "call status");
	}
	livesite_start(&site, BEAT_MS, RESCAN_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_at_the_boundary),
		cmocka_unit_test(test_a_question_as_a_form),
		cmocka_unit_test(test_progress_for_a_token),
		cmocka_unit_test(test_comments_without_a_token),
		cmocka_unit_test(test_the_deadline_says_what_to_call),
		cmocka_unit_test(test_errors_are_answers),
		cmocka_unit_test(test_client_gone),
		cmocka_unit_test(test_no_database),
		cmocka_unit_test(test_slow_database),
		cmocka_unit_test(test_sigterm_answers_a_hundred),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
