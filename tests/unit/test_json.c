/*
 * json.c: every strictness rule of the house with an accepted neighbour beside it, the typed
 * readers, and the writers' text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"

#define REP8(x) x x x x x x x x
#define OPEN32 REP8("[[[[")
#define CLOSE32 REP8("]]]]")

static bool parses(const char *text, size_t n, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;

	return json_parse(text, n, &o, err);
}

static void test_accepts(void **state)
{
	static const char *const good[] = {"{}", " [] ", "\t{\"a\":1}\r\n", "\"x\"", "1", "-0",
		"null", "true", "1.5e-3", "9223372036854775807", "-9223372036854775808",
		"\"\\ud83d\\ude00\"", "\"\xc3\xa9\"",
		"{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}", OPEN32 CLOSE32,
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!parses(good[i], strlen(good[i]), &err))
			fail_msg("%s: %s", good[i], err.msg);
}

static void test_refuses(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "empty"},
		{"  ", "empty"},
		{"{", "unfinished"},
		{"[1,]", "expected a value"},
		{"{\"a\":1,}", "expected a string"},
		{"{} x", "follows"},
		{"1 2", "follows"},
		{"{'a':1}", "single quotes"},
		{"'a'", "single quotes"},
		{"NaN", "expected a value"},
		{"Infinity", "expected a value"},
		{"-Infinity", "expected a value"},
		{"True", "expected a value"},
		{"nul", "expected a value"},
		{"01", "follows"},
		{"+1", "expected a value"},
		{".5", "expected a value"},
		{"1.", "bad number"},
		{"1e", "bad number"},
		{"1e999", "out of range"},
		{"9223372036854775808", "out of range"},
		{"-9223372036854775809", "out of range"},
		{"\"\\u0000\"", "\\u0000"},
		{"{\"a\\u0000b\":1}", "\\u0000"},
		{"\"\\ud800\"", "lone surrogate"},
		{"\"\\udc00\"", "lone surrogate"},
		{"\"\\ud800\\u0041\"", "lone surrogate"},
		{"\"\\x41\"", "bad escape"},
		{"\"\\u12g4\"", "bad \\u escape"},
		{"\"a\nb\"", "control character"},
		{"\"a", "unfinished"},
		{"\"\xff\"", "UTF-8"},
		{"\"\xc0\x80\"", "UTF-8"},
		{"\"\xed\xa0\x80\"", "UTF-8"},
		{"{\"a\":1,\"a\":2}", "twice"},
		{"[{\"b\":{\"a\":1,\"\\u0061\":2}}]", "twice"},
		{"{\"a\" 1}", "':'"},
		{"{a:1}", "expected a string"},
		{"[1 2]", "','"},
		{"/* c */ 1", "expected a value"},
		{"[" OPEN32 CLOSE32 "]", "too deep"},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		if (parses(bad[i].text, strlen(bad[i].text), &err))
			fail_msg("taken: %s", bad[i].text);
		assert_int_equal(err.code, ERR_MALFORMED);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.msg);
	}
	assert_false(parses("\"a\0b\"", 5, &err));
	assert_non_null(strstr(err.msg, "NUL"));
	assert_false(parses("1\0", 2, &err));
}

static void test_readers(void **state)
{
	static const char text[] =
		"{\"t\":\"x\",\"n\":\"12abc\",\"i\":7,\"d\":7.5,\"b\":true,\"z\":null}";
	CLEANUP(json) struct json_object *o = NULL;
	const char *s = "unset";
	int64_t i = -1;
	bool b = false;
	struct err err;

	(void)state;
	assert_true(json_parse(text, sizeof(text) - 1, &o, &err));
	assert_true(json_get_text(o, "t", &s));
	assert_string_equal(s, "x");
	assert_true(json_get_i64(o, "i", &i));
	assert_int_equal(i, 7);
	assert_true(json_get_bool(o, "b", &b));
	assert_true(b);
	assert_false(json_get_i64(o, "n", &i));
	assert_false(json_get_i64(o, "d", &i));
	assert_false(json_get_text(o, "i", &s));
	assert_false(json_get_text(o, "z", &s));
	assert_false(json_get_bool(o, "i", &b));
	assert_false(json_get_i64(o, "absent", &i));
	assert_int_equal(i, 7);
	assert_null(json_get(o, "absent"));
	assert_null(json_get(NULL, "t"));
}

static void test_writers(void **state)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	CLEANUP(pool) struct pool *pool = pool_new();
	struct json_object *a = json_new_array(), *inner = json_new_object();

	(void)state;
	json_add_text(o, "url", "a/b");
	json_add_text(o, "none", NULL);
	json_add_text_n(o, "bad", "x\xff\0y", 4);
	json_add_i64(o, "big", INT64_MIN);
	json_add_bool(o, "yes", true);
	json_add_text(inner, "q", "\"\n");
	json_push(a, inner);
	json_add(o, "list", a);
	assert_string_equal(json_text(o, pool),
		"{\"url\":\"a/b\",\"none\":null,\"bad\":\"x\xef\xbf\xbd\xef\xbf\xbdy\","
		"\"big\":-9223372036854775808,\"yes\":true,\"list\":[{\"q\":\"\\\"\\n\"}]}");
}

static void test_printed(void **state)
{
	static const char text[] = "[{\"a\":\"/\"}]";
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf b = BUF_INIT(100);
	struct json_object *o = json_new_object();

	(void)state;
	json_add(o, "list", json_new_printed(text));
	json_add_i64(o, "n", 1);
	assert_string_equal(json_text(o, pool), "{\"list\":[{\"a\":\"/\"}],\"n\":1}");
	json_write(&b, o);
	json_write(&b, json_get(o, "list"));
	assert_string_equal(b.data, "{\"list\":[{\"a\":\"/\"}],\"n\":1}[{\"a\":\"/\"}]");
	json_free(o);
}

static void test_quoted(void **state)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1000);
	CLEANUP(json) struct json_object *o = NULL;
	struct err err;

	(void)state;
	json_add_quoted(&b, "a\"\\\n\x01\xc3\xa9\xff\xe2\x82", 10);
	assert_string_equal(
		b.data, "\"a\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_true(json_parse(b.data, b.len, &o, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_readers),
		cmocka_unit_test(test_writers),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
