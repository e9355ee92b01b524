/*
 * request.c: parameters, bodies that lie about their length, cookies, and media types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"
#include "request.h"

static const char *const none[] = {NULL};

static void test_parts(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *const headers[] = {"Host: a.example", "Content-Type: application/json",
		"Origin: http://x", "Sec-Fetch-Site: none", "X-CSRF-Token: t", "Idempotency-Key: k",
		"Authorization: Bearer x", NULL};
	struct request rq;
	struct err err;

	(void)state;
	assert_true(request_from_memory(
		&rq, pool, "POST", "/x.json?a=1&b=2", headers, "body", 4, &err));
	assert_string_equal(rq.method, "POST");
	assert_string_equal(rq.path, "/x.json");
	assert_string_equal(rq.query, "a=1&b=2");
	assert_string_equal(rq.host, "a.example");
	assert_string_equal(rq.content_type, "application/json");
	assert_string_equal(rq.origin, "http://x");
	assert_string_equal(rq.fetch_site, "none");
	assert_string_equal(rq.csrf, "t");
	assert_string_equal(rq.idempotency_key, "k");
	assert_string_equal(rq.authorization, "Bearer x");
	assert_string_equal(rq.cookie, "");
	assert_false(rq.forwarded);
	assert_int_equal(rq.content_length, 4);
	assert_int_equal(strncmp(rq.id, "rq-", 3), 0);
}

static void test_request_id(void **state)
{
	static const struct {
		const char *id;
		bool kept;
	} cases[] = {
		{"0123456789abcdef0123456789abcdef", true},
		{"short", false},
		{"with space in it", false},
		{"line\nbreak-in-it", false},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "aaaaa",
			false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		char *params[] = {pool_printf(pool, "REQUEST_ID=%s", cases[i].id), NULL};
		struct request rq;
		struct err err;

		assert_true(request_init(&rq, pool, params, NULL, NULL, &err));
		assert_int_equal(!strcmp(rq.id, cases[i].id), cases[i].kept);
	}
}

static void test_content_length(void **state)
{
	static const char *const bad[] = {"-1", "1x", "0x10", "99999999999999999999", " 1"};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct request rq;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *params[] = {pool_printf(pool, "CONTENT_LENGTH=%s", bad[i]), NULL};

		assert_false(request_init(&rq, pool, params, NULL, NULL, &err));
		assert_int_equal(err.code, ERR_MALFORMED);
	}
}

static void test_body(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *body;
	struct request rq;
	struct err err;
	size_t n;

	(void)state;
	assert_true(request_from_memory(&rq, pool, "POST", "/", none, "12345", 5, &err));
	assert_true(request_body(&rq, 5, &body, &n, &err));
	assert_int_equal(n, 5);
	assert_string_equal(body, "12345");
	assert_true(request_from_memory(&rq, pool, "POST", "/", none, "12345", 5, &err));
	assert_false(request_body(&rq, 4, &body, &n, &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_int_equal(rq.got, 0);
	/* fewer bytes than were announced, and more, which are left alone */
	assert_true(request_from_memory(&rq, pool, "POST", "/", none, "12345", 5, &err));
	rq.content_length = 6;
	assert_false(request_body(&rq, 100, &body, &n, &err));
	assert_int_equal(err.code, ERR_MALFORMED);
	assert_true(request_from_memory(&rq, pool, "POST", "/", none, "12345", 5, &err));
	rq.content_length = 3;
	assert_true(request_body(&rq, 100, &body, &n, &err));
	assert_string_equal(body, "123");
}

static void test_cookies(void **state)
{
	static const struct {
		const char *line, *value;
	} cases[] = {
		{"asb=v", "v"},
		{"a=1; asb=v; b=2", "v"},
		{"a=1;asb=v", "v"},
		{"xasb=v", NULL},
		{"asbx=v", NULL},
		{"asb=", ""},
		{"asb", NULL},
		{"", NULL},
		{"asb=v; asb=w", NULL},
		{"a=asb=v", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct request rq = {.pool = pool, .cookie = cases[i].line};
		const char *got = request_cookie(&rq, "asb");

		if (cases[i].value ? !got || strcmp(got, cases[i].value) != 0 : got != NULL)
			fail_msg("%s: %s", cases[i].line, got ? got : "none");
	}
}

static void test_types(void **state)
{
	static const struct {
		const char *type;
		bool is;
	} cases[] = {
		{"application/json", true},
		{"Application/JSON", true},
		{"application/json; charset=utf-8", true},
		{"application/json ;x", true},
		{"application/jsonp", false},
		{"application/json, text/plain", false},
		{"text/plain; application/json", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request rq = {.content_type = cases[i].type};

		assert_int_equal(request_has_type(&rq, "application/json"), cases[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_request_id),
		cmocka_unit_test(test_content_length),
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
