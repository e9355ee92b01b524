#pragma once
/*
 * Reading the HTTP/1.1 requests that come out of a box. The box is hostile: everything that two
 * readers could understand differently (bare LF, folded headers, two lengths, a length beside
 * chunks, chunk extensions, a second request behind the first) is refused, never guessed at.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

struct pool;

#define HTTP_HEAD_MAX (32u * 1024)
#define HTTP_HEADERS_MAX 100

struct http_header {
	const char *name; /* lower case */
	const char *value;
};

struct http_request {
	const char *method;
	const char *path;  /* begins with '/', as sent: nothing is decoded */
	const char *query; /* "" where there is none */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t nheaders;
	int64_t content_length; /* -1: no body or chunked */
	bool chunked;
	bool is_http10; /* cannot read a chunked answer */
	bool expect_continue;
};

/* Looks for a whole head at the front of data. *used is its length, 0 while it is not whole yet.
 * Everything in *req lives in the pool. ERR_INVALID on any breach, ERR_TOO_LARGE past the limit. */
bool http_request_parse(struct pool *pool, const char *data, size_t n, struct http_request *req,
	size_t *used, struct err *err) NODISCARD;
/* NULL where it is absent. name in lower case. */
const char *http_request_header(const struct http_request *req, const char *name);

/* The body behind the head: counted or chunked, fed piece by piece. */
struct http_body {
	enum { BODY_COUNTED, BODY_SIZE, BODY_CHUNK, BODY_CHUNK_END, BODY_LAST, BODY_DONE } state;
	int64_t left;
	char line[20]; /* of a chunk's size line */
	size_t line_n;
};
void http_body_init(struct http_body *b, const struct http_request *req);
/* Takes bytes off the front of in, adds decoded ones to out (at most max of them; the rest stays in
 * `in`). Bytes behind the end of the body are an error. */
bool http_body_feed(struct http_body *b, struct buf *in, struct buf *out, size_t max,
	struct err *err) NODISCARD;
