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

#include "pool.h"
#include "testdb.h"
#include "testweb.h"

static struct pool *pool;

static int setup(void **state)
{
	(void)state;
	pool = pool_new();
	testdb_exec("TRUNCATE idempotency");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_free(pool);
	return 0;
}

static int done(void **state)
{
	(void)state;
	testweb_done();
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

static void ends(const char *run)
{
	testdb_exec(
		"UPDATE turns SET state = 'done' WHERE run_id = (SELECT id FROM runs WHERE name "
		"= '%s')",
		run);
}

static void later(void)
{
	testdb_exec("UPDATE idempotency SET created_at = created_at - interval '11 minutes'");
}

static void test_the_same_call_is_the_same_run(void **state)
{
	const char *first = delegate("1", "\"task\":\"echo once\"");

	(void)state;
	assert_string_equal(delegate("2", "\"task\":\"echo once\""), first);
	/* however long it is waited for */
	assert_string_equal(delegate("3", "\"task\":\"echo once\",\"wait_ms\":1000"), first);
	assert_string_not_equal(delegate("4", "\"task\":\"echo other\""), first);
	assert_string_not_equal(delegate("5", "\"task\":\"echo once\",\"title\":\"again\""), first);
}

static void test_it_is_forgotten(void **state)
{
	const char *first = delegate("1", "\"task\":\"echo twice\""), *second;

	(void)state;
	later();
	assert_string_equal(delegate("2", "\"task\":\"echo twice\""), first); /* it goes on */
	ends(first);
	second = delegate("3", "\"task\":\"echo twice\"");
	assert_string_not_equal(second, first);
	ends(second);
	/* it has ended, but only just */
	assert_string_equal(delegate("4", "\"task\":\"echo twice\""), second);
	later();
	assert_string_not_equal(delegate("5", "\"task\":\"echo twice\""), second);
}

static void test_without_waiting(void **state)
{
	const char *first = delegate("1", "\"task\":\"echo now\",\"wait_ms\":0");

	(void)state;
	assert_string_equal(delegate("2", "\"task\":\"echo now\",\"wait_ms\":0"), first);
	later();
	assert_string_equal(delegate("3", "\"task\":\"echo now\",\"wait_ms\":0"), first);
	ends(first);
	assert_string_not_equal(delegate("4", "\"task\":\"echo now\",\"wait_ms\":0"), first);
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
			test_the_same_call_is_the_same_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_it_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_answer_has_the_new_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys_and_failures, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
