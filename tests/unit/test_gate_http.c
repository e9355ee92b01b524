/*
 * The gate's reader of hostile requests: what is whole, what is not yet, what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "gate_http.h"
#include "pool.h"

struct head_case {
	const char *text;
	const char *error; /* NULL: parses */
};

static void heads_are_read_or_refused(void **state)
{
	static const struct head_case cases[] = {
		{"GET /git/h/o/n.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: x\r\n\r\n",
			NULL},
		{"POST /model/v1/messages HTTP/1.1\r\nContent-Length: 5\r\n\r\n", NULL},
		{"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", NULL},
		{"GET / HTTP/1.0\r\n\r\n", NULL},
		{"GET http://h/ HTTP/1.1\r\n\r\n", "not a path"},
		{"GET / HTTP/2.0\r\n\r\n", "not HTTP/1.1"},
		{"GET /\r\n\r\n", "not HTTP/1.1"},
		{"G(T / HTTP/1.1\r\n\r\n", "bad method"},
		{"GET /a#b HTTP/1.1\r\n\r\n", "bad character in path"},
		{"GET /a\\b HTTP/1.1\r\n\r\n", "bad character in path"},
		{"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", "stray line end"},
		{"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", "bad name"},
		{"GET / HTTP/1.1\r\nA : b\r\n\r\n", "bad name"},
		{"GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", "bad value"},
		{"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
			"repeated content-length"},
		{"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "bad or repeated"},
		{"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "bad or repeated"},
		{"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
			"beside chunks"},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "not chunked"},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n", "not chunked"},
		{"GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n", "upgrade"},
		{"GET / HTTP/1.1\r\nExpect: 200\r\n\r\n", "expectation"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct http_request req;
		struct err err = {0};
		size_t used;
		bool ok = http_request_parse(
			pool, cases[i].text, strlen(cases[i].text), &req, &used, &err);

		if (cases[i].error) {
			assert_false(ok);
			assert_non_null(strstr(err.msg, cases[i].error));
		} else {
			assert_true(ok);
			assert_int_equal(used, strlen(cases[i].text));
		}
	}
}

static void an_unfinished_head_waits(void **state)
{
	static const char text[] = "GET /x?y=z HTTP/1.1\r\nAccept: a\r\n\r\nrest";
	CLEANUP(pool) struct pool *pool = pool_new();
	struct http_request req;
	struct err err;
	size_t used, whole = strlen(text) - 4;

	(void)state;
	for (size_t n = 0; n < whole; n++) {
		assert_true(http_request_parse(pool, text, n, &req, &used, &err));
		assert_int_equal(used, 0);
	}
	assert_true(http_request_parse(pool, text, strlen(text), &req, &used, &err));
	assert_int_equal(used, whole);
	assert_string_equal(req.path, "/x");
	assert_string_equal(req.query, "y=z");
	assert_string_equal(http_request_header(&req, "accept"), "a");
	assert_null(http_request_header(&req, "host"));
}

static void a_head_has_a_limit(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf b = BUF_INIT(HTTP_HEAD_MAX * 2);
	struct http_request req;
	struct err err;
	size_t used;

	(void)state;
	(void)buf_adds(&b, "GET / HTTP/1.1\r\nA: ");
	while (b.len < HTTP_HEAD_MAX - 1)
		(void)buf_addc(&b, 'a');
	assert_true(http_request_parse(pool, b.data, b.len, &req, &used, &err));
	(void)buf_addc(&b, 'a');
	assert_false(http_request_parse(pool, b.data, b.len, &req, &used, &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
}

/* Feeds text in pieces of n bytes; true with *out the decoded body, false with err. */
static bool feed(const char *text, size_t piece, bool chunked, int64_t length, struct buf *out,
	bool *done, struct err *err)
{
	struct http_request req = {.chunked = chunked, .content_length = length};
	CLEANUP(buf) struct buf in = BUF_INIT(4096);
	struct http_body body;

	http_body_init(&body, &req);
	for (size_t i = 0, n = strlen(text); i < n; i += piece) {
		(void)buf_add(&in, text + i, n - i < piece ? n - i : piece);
		if (!http_body_feed(&body, &in, out, 4096, err))
			return false;
	}
	*done = body.state == BODY_DONE;
	return true;
}

static void bodies_are_cut_alike_however_they_come(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 30; piece++) {
		CLEANUP(buf) struct buf a = BUF_INIT(4096);
		CLEANUP(buf) struct buf b = BUF_INIT(4096);
		struct err err;
		bool done = false;

		assert_true(feed("5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n", piece, true, -1, &a,
			&done, &err));
		assert_true(done);
		assert_string_equal(a.data, "hello0123456789");
		assert_true(feed("hello", piece, false, 5, &b, &done, &err));
		assert_true(done);
		assert_string_equal(b.data, "hello");
	}
}

static void crooked_bodies_are_refused(void **state)
{
	static const char *const cases[] = {
		"5;x=1\r\nhello\r\n0\r\n\r\n",
		"\r\n",
		"g\r\n",
		"5\r\nhelloX\r\n",
		"0\r\nTrailer: x\r\n\r\n",
		"5\rhello",
		"5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n",
		"fffffffffffffffff\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(buf) struct buf out = BUF_INIT(4096);
		struct err err;
		bool done;

		assert_false(feed(cases[i], 1, true, -1, &out, &done, &err));
		assert_int_equal(err.code, ERR_INVALID);
	}
	CLEANUP(buf) struct buf out = BUF_INIT(4096);
	struct err err;
	bool done;
	assert_false(feed("hello!", 6, false, 5, &out, &done, &err));
}

static void a_full_buffer_leaves_the_rest(void **state)
{
	struct http_request req = {.content_length = 10};
	CLEANUP(buf) struct buf in = BUF_INIT(64);
	CLEANUP(buf) struct buf out = BUF_INIT(64);
	struct http_body body;
	struct err err;

	(void)state;
	http_body_init(&body, &req);
	(void)buf_adds(&in, "0123456789");
	assert_true(http_body_feed(&body, &in, &out, 4, &err));
	assert_string_equal(out.data, "0123");
	assert_string_equal(in.data, "456789");
	buf_reset(&out);
	assert_true(http_body_feed(&body, &in, &out, 64, &err));
	assert_string_equal(out.data, "456789");
	assert_int_equal(body.state, BODY_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_read_or_refused),
		cmocka_unit_test(an_unfinished_head_waits),
		cmocka_unit_test(a_head_has_a_limit),
		cmocka_unit_test(bodies_are_cut_alike_however_they_come),
		cmocka_unit_test(crooked_bodies_are_refused),
		cmocka_unit_test(a_full_buffer_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
