/*
 * response.c: the whole text of an answer, no way to put a line break into a header, the shape of
 * errors and what they keep to themselves, the redirect that is alone, and streams.
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
#include "response.h"

static bool collect(void *arg, const void *data, size_t n)
{
	return buf_add(arg, data, n);
}

static void test_json(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf out = BUF_INIT(10000);
	struct response rs;

	(void)state;
	response_init(&rs, pool, true);
	response_json(&rs, 202, "{\"a\":1}");
	assert_true(response_header(&rs, "X-One", "1"));
	assert_true(response_send(&rs, collect, &out));
	assert_int_equal(strncmp(out.data, "Status: 202\r\n", 13), 0);
	assert_non_null(strstr(out.data, "\r\nContent-Type: application/json\r\nContent-Length: "
					 "7\r\nX-One: 1\r\n\r\n{\"a\":1}"));
	assert_non_null(strstr(
		out.data, "\r\nContent-Security-Policy: default-src 'none'; script-src 'self';"));
	assert_non_null(strstr(out.data, "\r\nStrict-Transport-Security: max-age=31536000\r\n"));
	assert_non_null(strstr(out.data, "\r\nCache-Control: no-store\r\n"));
	response_done(&rs);
}

static void test_header_injection(void **state)
{
	static const char *const bad[] = {"a\r\nSet-Cookie: x", "a\nb", "a\rb", "\n"};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct response rs;

	(void)state;
	response_init(&rs, pool, false);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(response_header(&rs, "X", bad[i]));
	assert_false(response_header(&rs, "X: y\r\nZ", "1"));
	assert_int_equal(rs.headers.len, 0);
	assert_true(response_header(&rs, "X", "fine"));
	response_done(&rs);
}

static void test_errors(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct json_object *context = json_new_object();
	struct response rs;
	struct err err;

	(void)state;
	response_init(&rs, pool, false);
	(void)err_set(&err, ERR_CONFLICT, "taken \"twice\"");
	(void)err_advise(&err, "answered", "Look.");
	json_add_text(context, "answer", "red");
	assert_true(response_header(&rs, "Set-Cookie", "left=behind"));
	response_error(&rs, &err, "rq-1", context);
	assert_int_equal(rs.status, 409);
	assert_int_equal(rs.headers.len, 0);
	assert_string_equal(rs.body.data, "{\"error\":{\"code\":\"conflict\",\"message\":\"taken "
					  "\\\"twice\\\"\",\"fix\":\"Look.\","
					  "\"context\":{\"answer\":\"red\",\"reason\":\"answered\"}"
					  ",\"request_id\":\"rq-1\"}}");
	(void)err_set(&err, ERR_INTERNAL, "secret words");
	(void)err_advise(&err, "secret", "secret fix");
	response_error(&rs, &err, "rq-2", NULL);
	assert_int_equal(rs.status, 500);
	assert_null(strstr(rs.body.data, "secret"));
	assert_non_null(strstr(rs.body.data, "\"request_id\":\"rq-2\""));
	response_done(&rs);
}

static void test_redirect_is_alone(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf out = BUF_INIT(10000);
	struct response rs;

	(void)state;
	response_init(&rs, pool, true);
	response_json(&rs, 202, "{}");
	rs.internal = "/internal/wait?run=1";
	assert_true(response_send(&rs, collect, &out));
	assert_string_equal(out.data, "X-Accel-Redirect: /internal/wait?run=1\r\n\r\n");
	response_done(&rs);
}

static bool stream(void *arg, response_write_fn *write, void *write_arg)
{
	return write(write_arg, arg, 3) && write(write_arg, "def", 3);
}

static void test_stream(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf out = BUF_INIT(10000);
	struct response rs;
	char first[] = "abc";

	(void)state;
	response_init(&rs, pool, false);
	rs.content_type = "application/octet-stream";
	rs.stream = stream;
	rs.stream_arg = first;
	rs.stream_size = 6;
	assert_true(response_send(&rs, collect, &out));
	assert_non_null(strstr(out.data, "\r\nContent-Length: 6\r\n\r\nabcdef"));
	assert_non_null(
		strstr(out.data, "\r\nContent-Security-Policy: default-src 'none'; sandbox\r\n"));
	assert_null(strstr(out.data, "script-src"));
	assert_null(strstr(out.data, "Strict-Transport"));
	response_done(&rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_header_injection),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_redirect_is_alone),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
