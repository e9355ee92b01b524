/*
 * A client whose stream broke calls delegate again: it is told of the run it has begun, and no
 * second one is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "mcp_result.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

static struct pool *pool;

static int setup(void **state)
{
	*state = pool = pool_new();
	testdb_exec("TRUNCATE idempotency");
	return 0;
}

static struct answer call_with(
	const char *tool, const char *id, const char *arguments, const char *extra)
{
	const char *const headers[] = {HOST, BEARER, JSON, extra, NULL};
	const char *body = pool_printf(pool,
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"%s\",\"arguments\":{%s}}}",
		id, tool, arguments);

	return testweb_ask(pool, "POST", "/mcp", headers, body, strlen(body));
}

/* The run that a delegate call is answered with. */
static const char *delegate(const char *id, const char *arguments)
{
	struct answer a = call_with("delegate", id, arguments, NULL);
	const char *run;

	if (!a.internal) {
		assert_int_equal(a.status, 200);
		return testweb_get(pool, &a, "result.structuredContent.session");
	}
	assert_non_null(strstr(a.internal, "&mcp="));
	run = strstr(a.internal, "run=");
	assert_non_null(run);
	return pool_printf(pool, "%.*s", (int)strcspn(run + 4, "&"), run + 4);
}

/* Is asb-live told that it is an earlier run? */
static bool is_repeat(const char *internal)
{
	const char *at = strstr(internal, "&mcp=");
	struct mcp_call call;
	struct err err;

	assert_non_null(at);
	assert_true(mcp_call_parse(pool, at + 5, &call, &err));
	return call.is_repeat;
}

static void ends(const char *run, const char *state)
{
	testdb_exec("UPDATE turns SET state = '%s' WHERE run_id = (SELECT id FROM runs WHERE name "
		    "= '%s')",
		state, run);
}

/* As if it had ended so long ago. */
static void ended_ago(const char *run, const char *how_long)
{
	testdb_exec("UPDATE runs SET finished_at = now() - interval '%s' WHERE name = '%s'",
		how_long, run);
}

static void test_the_same_call_is_the_same_run(void **state)
{
	const char *first = delegate("1", "\"task\":\"echo once\"");

	(void)state;
	assert_string_equal(delegate("2", "\"task\":\"echo once\""), first);
	/* however long it is waited for */
	assert_string_equal(delegate("3", "\"task\":\"echo once\",\"wait_ms\":1000"), first);
	assert_string_equal(delegate("4", "\"task\":\"echo once\",\"wait_ms\":0"), first);
	assert_string_not_equal(delegate("5", "\"task\":\"echo other\""), first);
	assert_string_not_equal(delegate("6", "\"task\":\"echo once\",\"title\":\"again\""), first);
}

/* A client may have lost the answer of a run that is done: for some minutes. */
static void test_it_is_forgotten(void **state)
{
	const char *first = delegate("1", "\"task\":\"echo twice\""), *second;

	(void)state;
	testdb_exec("UPDATE idempotency SET created_at = now() - interval '1 day'");
	assert_string_equal(delegate("2", "\"task\":\"echo twice\""), first); /* it goes on */
	ends(first, "done");
	ended_ago(first, "4 minutes");
	assert_string_equal(delegate("3", "\"task\":\"echo twice\""), first);
	ended_ago(first, "6 minutes");
	second = delegate("4", "\"task\":\"echo twice\"");
	assert_string_not_equal(second, first);
}

/* What has come to nothing, or was torn down, is done anew. */
static void test_what_is_over_is_begun_anew(void **state)
{
	static const char *const over[] = {"failed", "stopped", "lost"};
	const char *first, *second;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		first = delegate("1", "\"task\":\"echo over\"");
		assert_string_equal(delegate("2", "\"task\":\"echo over\""), first);
		ends(first, over[i]);
		second = delegate("3", "\"task\":\"echo over\"");
		assert_string_not_equal(second, first);
		ends(second, "failed");
	}
	first = delegate("4", "\"task\":\"echo over\"");
	ends(first, "done");
	assert_string_equal(delegate("5", "\"task\":\"echo over\""), first);
	(void)call_with("teardown", "6", pool_printf(pool, "\"session\":\"%s\"", first), NULL);
	assert_string_not_equal(delegate("7", "\"task\":\"echo over\""), first);
}

/* The answer says that it is an earlier run, as it is now, when that was begun, and how to have a
 * new one; the first one's says nothing of that. */
static void test_the_answer_says_so(void **state)
{
	static const char words[] = "(an earlier run, begun at 20";
	struct answer a = call_with("delegate", "1", "\"task\":\"echo say\",\"wait_ms\":0", NULL);
	const char *run = testweb_get(pool, &a, "result.structuredContent.session"), *text;

	(void)state;
	assert_null(strstr(a.body, "earlier run"));
	ends(run, "done");
	a = call_with("delegate", "2", "\"task\":\"echo say\",\"wait_ms\":0", NULL);
	text = testweb_get(pool, &a, "result.content.0.text");
	assert_int_equal(strncmp(text, "run:done", 8), 0);
	assert_non_null(strstr(text, words));
	assert_true(strstr(text, words) < strchr(text, '\n'));
	assert_non_null(strstr(strrchr(text, '\n'), "delegate with another title"));
	assert_non_null(strstr(testweb_get(pool, &a, "result.structuredContent.summary"), words));
	assert_non_null(strstr(
		testweb_get(pool, &a, "result.structuredContent.next"), "with another title"));
	/* also where it is waited for: asb-live is told */
	a = call_with("delegate", "3", "\"task\":\"echo wait\"", NULL);
	assert_non_null(a.internal);
	assert_false(is_repeat(a.internal));
	a = call_with("delegate", "4", "\"task\":\"echo wait\"", NULL);
	assert_non_null(a.internal);
	assert_true(is_repeat(a.internal));
}

/* The answer to the repetition is the repetition's own. */
static void test_the_answer_has_the_new_id(void **state)
{
	struct answer a;

	(void)state;
	(void)delegate("1", "\"task\":\"echo id\",\"wait_ms\":0");
	a = call_with("delegate", "\"second\"", "\"task\":\"echo id\",\"wait_ms\":0", NULL);
	assert_string_equal(testweb_get(pool, &a, "id"), "second");
	assert_string_equal(testweb_get(pool, &a, "result.isError"), "false");
}

/* A key of the caller's own is taken as on every door, and a call that failed left none. */
static void test_keys_and_failures(void **state)
{
	struct answer a =
		call_with("delegate", "1", "\"task\":\"echo k\"", "Idempotency-Key: mine");
	const char *first;

	(void)state;
	assert_non_null(a.internal);
	first = delegate("2", "\"task\":\"echo k\"");
	assert_null(strstr(a.internal, first));
	a = call_with("delegate", "3", "\"task\":\"x\",\"image\":\"nowhere\"", NULL);
	assert_string_equal(testweb_get(pool, &a, "result.isError"), "true");
	a = call_with("delegate", "4", "\"task\":\"x\",\"image\":\"nowhere\"", NULL);
	assert_string_equal(testweb_get(pool, &a, "result.isError"), "true");
	/* what is meant to be done again is */
	a = call_with("create_sandbox", "5", "\"language\":\"python\",\"wait_ms\":0", NULL);
	first = testweb_get(pool, &a, "result.structuredContent.sandbox_id");
	a = call_with("create_sandbox", "5", "\"language\":\"python\",\"wait_ms\":0", NULL);
	assert_string_not_equal(
		testweb_get(pool, &a, "result.structuredContent.sandbox_id"), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_same_call_is_the_same_run, setup, testweb_drop_pool),
		cmocka_unit_test_setup_teardown(test_it_is_forgotten, setup, testweb_drop_pool),
		cmocka_unit_test_setup_teardown(
			test_what_is_over_is_begun_anew, setup, testweb_drop_pool),
		cmocka_unit_test_setup_teardown(test_the_answer_says_so, setup, testweb_drop_pool),
		cmocka_unit_test_setup_teardown(
			test_the_answer_has_the_new_id, setup, testweb_drop_pool),
		cmocka_unit_test_setup_teardown(test_keys_and_failures, setup, testweb_drop_pool),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
