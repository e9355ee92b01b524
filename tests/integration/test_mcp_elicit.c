/*
 * Questions as forms: only for a call that asks for it, of a client that has them; what the client
 * brings back is taken from the one who was asked, for the call that asked, and for nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "testdb.h"
#include "testweb.h"

#define FORMS "\"elicitation\":{}"

static struct pool *pool;
static const char *run;
static int64_t n;

/* A run that waits for an answer to question `n`. */
static int setup(void **state)
{
	*state = pool = pool_new();
	run = testweb_waiting_run(pool, &n);
	return 0;
}

/* A status call that does not wait; arguments and params are more members. */
static struct answer call_as(
	const char *bearer, const char *capabilities, const char *arguments, const char *params)
{
	return testweb_mcp(
		pool, &(struct testweb_mcp){.bearer = bearer,
			      .name = "status",
			      .capabilities = capabilities,
			      .params = pool_printf(pool,
				      "\"name\":\"status\",\"arguments\":{\"session\":\"%s\","
				      "\"wait_ms\":0%s}%s",
				      run, arguments, params)});
}

static struct answer call_with(const char *capabilities, const char *arguments, const char *params)
{
	return call_as(BEARER, capabilities, arguments, params);
}

static const char *get(const struct answer *a, const char *path)
{
	return testweb_get(pool, a, path);
}

static const char *key(void)
{
	return pool_printf(pool, "question-%lld", (long long)n);
}

/* Asked by a form: its state. */
static const char *asked(void)
{
	struct answer a = call_with(FORMS, ",\"elicit\":true", "");
	const char *at = pool_printf(pool, "result.inputRequests.%s.params.message", key());

	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "result.resultType"), "input_required");
	assert_string_equal(get(&a, at), "which colour?");
	assert_string_equal(get(&a, "result.content"), "");
	assert_string_not_equal(get(&a, "result.requestState"), "");
	return get(&a, "result.requestState");
}

static const char *answers(const char *state, const char *responses)
{
	return pool_printf(
		pool, ",\"requestState\":\"%s\",\"inputResponses\":%s", state, responses);
}

static const char *accepts(const char *text)
{
	return pool_printf(pool, "{\"%s\":{\"action\":\"accept\",\"content\":{\"answer\":\"%s\"}}}",
		key(), text);
}

static bool is_answered(void)
{
	return testdb_i64("SELECT count(*) FROM questions WHERE id = %lld AND answer IS NOT NULL",
		(long long)n);
}

static void test_only_where_it_is_wanted(void **state)
{
	static const struct {
		const char *capabilities, *arguments, *type;
	} rows[] = {
		{FORMS, ",\"elicit\":true", "input_required"},
		{"\"elicitation\":{\"form\":{}}", ",\"elicit\":true", "input_required"},
		{"\"elicitation\":{\"url\":{}}", ",\"elicit\":true", "complete"},
		{"", ",\"elicit\":true", "complete"},
		{FORMS, ",\"elicit\":false", "complete"},
		{FORMS, "", "complete"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = call_with(rows[i].capabilities, rows[i].arguments, "");

		assert_string_equal(get(&a, "result.resultType"), rows[i].type);
		if (!strcmp(rows[i].type, "complete"))
			assert_non_null(strstr(get(&a, "result.content.0.text"), "which colour?"));
	}
}

static void test_the_answer_resumes_the_run(void **state)
{
	struct answer a = call_with(FORMS, ",\"elicit\":true", answers(asked(), accepts("blue")));

	(void)state;
	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "result.isError"), "false");
	assert_string_equal(get(&a, "result.structuredContent.session"), run);
	assert_string_equal(
		testdb_text("SELECT answer FROM questions WHERE id = %lld", (long long)n), "blue");
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE run_id = (SELECT id FROM runs "
				    "WHERE name = '%s')",
				 run),
		1);
}

/* Bad state, or one for another call or another's: refused, and nothing is answered. */
static void test_tampered(void **state)
{
	const char *good = asked(), *bad = pool_strdup(pool, good), *other;
	struct answer a;
	char *last;

	(void)state;
	last = pool_strdup(pool, bad);
	last[strlen(last) - 1] = last[strlen(last) - 1] == '0' ? '1' : '0';
	other = pool_printf(pool, "run-aaaaaaaaaaaaaaaa%s", good + strcspn(good, "."));
	{
		const char *const states[] = {last, other, "", ".", "a.b.c",
			"run-1.99999999999999.", pool_printf(pool, "%s0", good)};

		for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
			a = call_with(FORMS, ",\"elicit\":true", answers(states[i], accepts("x")));
			assert_int_equal(a.status, 200);
			assert_string_equal(get(&a, "error.code"), "-32602");
		}
	}
	/* the same state with other arguments, and without the wish or the forms */
	a = call_with(FORMS, ",\"elicit\":true,\"x\":1", answers(good, accepts("x")));
	assert_string_equal(get(&a, "error.code"), "-32602");
	a = call_with(FORMS, "", answers(good, accepts("x")));
	assert_string_equal(get(&a, "error.code"), "-32602");
	a = call_with("", ",\"elicit\":true", answers(good, accepts("x")));
	assert_string_equal(get(&a, "error.code"), "-32602");
	a = call_with(FORMS, ",\"elicit\":true", answers(good, "7"));
	assert_string_equal(get(&a, "error.code"), "-32602");
	a = call_with(FORMS, ",\"elicit\":7", "");
	assert_string_equal(get(&a, "error.code"), "-32602");
	a = call_with(FORMS, ",\"elicit\":true",
		pool_printf(pool, ",\"inputResponses\":%s", accepts("x")));
	assert_string_equal(get(&a, "error.code"), "-32602");
	assert_false(is_answered());
	/* and so it would have been taken */
	a = call_with(FORMS, ",\"elicit\":true", answers(good, accepts("x")));
	assert_string_equal(get(&a, "result.isError"), "false");
	assert_true(is_answered());
}

/* Another caller of the same account has no use for it. */
static void test_anothers_state(void **state)
{
	const char *good = asked(), *bearer;
	struct answer a = testweb_operator(
		pool, "POST", "/create_key.json", "{\"title\":\"other\",\"scope\":\"run:write\"}");

	(void)state;
	bearer = pool_printf(pool, "Authorization: Bearer %s", get(&a, "key"));
	a = call_as(bearer, FORMS, ",\"elicit\":true", answers(good, accepts("x")));
	assert_string_equal(get(&a, "error.code"), "-32602");
	assert_false(is_answered());
	a = call_as(bearer, FORMS, ",\"elicit\":true", "");
	assert_string_equal(get(&a, "result.resultType"), "input_required");
}

static void test_too_old(void **state)
{
	const char *good = asked();
	const char *old = pool_printf(pool, "%s.1%s", run, strrchr(good, '.'));
	struct answer a = call_with(FORMS, ",\"elicit\":true", answers(old, accepts("x")));

	(void)state;
	assert_string_equal(get(&a, "error.code"), "-32602");
	assert_false(is_answered());
}

/* What was not answered is asked again; what was declined comes as text, and the run waits on. */
static void test_no_answer(void **state)
{
	static const char *const again[] = {
		"{}", "{\"other\":{\"action\":\"accept\"}}", "{\"question-x\":{}}"};
	struct answer a;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		a = call_with(FORMS, ",\"elicit\":true", answers(asked(), again[i]));
		assert_string_equal(get(&a, "result.resultType"), "input_required");
	}
	a = call_with(FORMS, ",\"elicit\":true",
		answers(asked(), pool_printf(pool, "{\"%s\":{\"action\":\"decline\"}}", key())));
	assert_string_equal(get(&a, "result.resultType"), "complete");
	assert_non_null(strstr(get(&a, "result.content.0.text"), "which colour?"));
	a = call_with(FORMS, ",\"elicit\":true",
		answers(asked(), pool_printf(pool, "{\"%s\":{\"action\":\"cancel\"}}", key())));
	assert_string_equal(get(&a, "result.resultType"), "complete");
	assert_false(is_answered());
	assert_string_equal(
		testdb_text("SELECT state FROM runs WHERE name = '%s'", run), "waiting");
}

/* An answer to a question that is no longer open does not go to another. */
static void test_an_older_question(void **state)
{
	const char *good = asked();
	struct answer a = testweb_operator(pool, "POST", "/resume.json",
		pool_printf(pool, "{\"session\":\"%s\",\"message\":\"red\"}", run));

	(void)state;
	assert_int_equal(a.status, 202);
	a = call_with(FORMS, ",\"elicit\":true", answers(good, accepts("blue")));
	assert_string_equal(get(&a, "result.isError"), "true");
	assert_non_null(strstr(get(&a, "result.content.0.text"), "red"));
	assert_string_equal(
		testdb_text("SELECT answer FROM questions WHERE id = %lld", (long long)n), "red");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, testweb_drop_pool)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_where_it_is_wanted),
		TEST(test_the_answer_resumes_the_run),
		TEST(test_tampered),
		TEST(test_anothers_state),
		TEST(test_too_old),
		TEST(test_no_answer),
		TEST(test_an_older_question),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
