/*
 * The strict JSON of control payloads: what is taken, what is refused, and that what is written can
 * be read again.
 */
#include "boxjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "pool.h"

static void test_taken(void **state)
{
	static const char text[] =
		" {\"a\":[\"x\",{\"n\":-5}],\"t\":true,\"z\":null,\"e\":{},"
		"\"u\":\"\\u00e9\\ud83d\\ude00\\n\\u20ac\\u0041\",\"i\":9223372036854775807,"
		"\"l\":[], \"f\" : false }\n";
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct boxjson *o, *a;
	struct err err = {0};
	const char *s;
	int64_t n;
	bool b;

	(void)state;
	assert_true(boxjson_parse(pool, text, strlen(text), &o, &err));
	assert_int_equal(o->count, 8);
	a = boxjson_find(o, "a");
	assert_int_equal(a->count, 2);
	assert_string_equal(a->first->text, "x");
	assert_int_equal(boxjson_find(a->first->next, "n")->number, -5);
	assert_true(boxjson_text(o, "u", NULL, &s, &err));
	assert_string_equal(s, "\xc3\xa9\xf0\x9f\x98\x80\n\xe2\x82\xac"
			       "A");
	assert_true(boxjson_i64(o, "i", 0, INT64_MAX, 0, &n, &err));
	assert_true(n == INT64_MAX);
	assert_true(boxjson_bool(o, "t", false, &b, &err) && b);
	assert_true(boxjson_bool(o, "f", true, &b, &err) && !b);
	assert_true(boxjson_i64(o, "z", 0, 1, 77, &n, &err));
	assert_int_equal(n, 77);
	assert_true(boxjson_text(o, "absent", "d", &s, &err));
	assert_string_equal(s, "d");
	assert_true(boxjson_bool(o, "absent", true, &b, &err) && b);
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"[]",
		"1",
		"\"x\"",
		"{",
		"{}x",
		"{} {}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\":[1,]}",
		"{\"a\":[1}",
		"{\"a\":1]",
		"{a:1}",
		"{'a':1}",
		"{\"a\":01}",
		"{\"a\":-0}",
		"{\"a\":1.5}",
		"{\"a\":1e3}",
		"{\"a\":+1}",
		"{\"a\":-}",
		"{\"a\":9223372036854775808}",
		"{\"a\":NaN}",
		"{\"a\":tru}",
		"{\"a\":nul}",
		"{\"a\":fals}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":\"\\u0000\"}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\u12g4\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":\"\\udc00\\ud800\"}",
		"{\"a\":\"\\ud800\\u0041\"}",
		"{\"a\":\"\\ud800\\uzzzz\"}",
		"{\"a\":\"\x01\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"",
		"{\"a\":\"\\",
		"{\"a\":\"\\\"}",
		"{\"\\u0000\":1}",
		"{\"a\":[[[[1]]]]}",
		"{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}",
		"{\"a\":12345678901234567890123}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		const struct boxjson *o = NULL;
		struct err err = {0};

		if (boxjson_parse(pool, rows[i], strlen(rows[i]), &o, &err))
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(err.code, ERR_INVALID);
		assert_null(o);
	}
}

static void test_bounds(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
	const struct boxjson *o;
	struct err err = {0};

	(void)state;
	assert_true(boxjson_parse(pool, "{\"a\":[[[1]]]}", 13, &o, &err));
	/* the array itself is one value */
	(void)buf_adds(&text, "{\"a\":[0");
	for (int i = 2; i < BOXJSON_VALUES; i++)
		(void)buf_adds(&text, ",0");
	(void)buf_adds(&text, "]}");
	assert_true(boxjson_parse(pool, text.data, text.len, &o, &err));
	buf_shift(&text, 0);
	text.len -= 2;
	(void)buf_adds(&text, ",0]}");
	assert_false(boxjson_parse(pool, text.data, text.len, &o, &err));
	assert_non_null(strstr(err.msg, "too many values"));
	/* a NUL is no text */
	assert_false(boxjson_parse(pool, "{\"a\":\"\0\"}", 9, &o, &err));
}

static void test_members(void **state)
{
	static const char *const known[] = {"a", "b", NULL};
	static const char text[] = "{\"a\":1,\"b\":\"x\"}";
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct boxjson *o;
	struct err err = {0};
	const char *s;
	int64_t n;
	bool b;

	(void)state;
	assert_true(boxjson_parse(pool, text, strlen(text), &o, &err));
	assert_true(boxjson_only(o, known, &err));
	assert_false(boxjson_only(o, known + 1, &err));
	assert_string_equal(err.msg, "unknown member a");
	assert_false(boxjson_text(o, "a", NULL, &s, &err));
	assert_false(boxjson_bool(o, "a", false, &b, &err));
	assert_false(boxjson_i64(o, "b", 0, 9, 0, &n, &err));
	assert_false(boxjson_i64(o, "a", 2, 9, 0, &n, &err));
	assert_false(boxjson_i64(o, "a", 0, 0, 0, &n, &err));
	assert_true(boxjson_i64(o, "a", 1, 1, 0, &n, &err));
}

static void test_written_is_read(void **state)
{
	static const char odd[] = "q\"b\\n\nt\tc\x01"
				  "e\xc3\xa9 bad\xff\xe2\x82 end\xf0\x9f\x98\x80";
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf out = BUF_INIT(4096);
	const struct boxjson *o;
	struct err err = {0};
	const char *s;
	int64_t n;
	bool b;

	(void)state;
	(void)buf_addc(&out, '{');
	boxjson_add_text(&out, "odd", odd);
	boxjson_add_text(&out, "none", NULL);
	boxjson_add_i64(&out, "n", INT64_MIN);
	boxjson_add_u64(&out, "u", 7);
	boxjson_add_bool(&out, "yes", true);
	boxjson_add_bool(&out, "no", false);
	boxjson_add_key(&out, "list");
	(void)buf_addc(&out, '[');
	boxjson_add_text(&out, NULL, "[");
	boxjson_add_text(&out, NULL, "{");
	(void)buf_adds(&out, "]}");
	assert_true(boxjson_parse(pool, out.data, out.len, &o, &err));
	assert_true(boxjson_text(o, "odd", NULL, &s, &err));
	assert_string_equal(s, "q\"b\\n\nt\tc\x01"
			       "e\xc3\xa9 bad\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd end"
			       "\xf0\x9f\x98\x80");
	assert_true(boxjson_i64(o, "n", INT64_MIN, 0, 0, &n, &err));
	assert_true(n == INT64_MIN);
	assert_true(boxjson_bool(o, "no", true, &b, &err) && !b);
	assert_int_equal(boxjson_find(o, "list")->count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_written_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
