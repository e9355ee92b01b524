/*
 * The strict reader of a box's HTTP requests. Parses only; what is allowed is gate_routes.c's.
 */
#include "gate_http.h"

#include <string.h>

#include "pool.h"
#include "text.h"

static bool is_token(const char *s, size_t n)
{
	static const char extra[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c && strchr(extra, c))))
			return false;
	}
	return n > 0;
}

/* Visible ASCII, space and tab; bytes from 0x80 are taken as they are. */
static bool is_value(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool line_first(
	struct pool *pool, const char *s, size_t n, struct http_request *req, struct err *err)
{
	const char *sp = memchr(s, ' ', n), *end = s + n, *sp2, *q;

	if (!sp || !is_token(s, (size_t)(sp - s)) || sp - s > 10)
		return err_set(err, ERR_INVALID, "request line: bad method");
	sp2 = memchr(sp + 1, ' ', (size_t)(end - sp - 1));
	if (!sp2 || end - sp2 != 9 || memcmp(sp2, " HTTP/1.", 8) ||
		(end[-1] != '1' && end[-1] != '0'))
		return err_set(err, ERR_INVALID, "request line: not HTTP/1.1");
	if (sp[1] != '/')
		return err_set(err, ERR_INVALID, "request line: not a path");
	for (const char *p = sp + 1; p < sp2; p++)
		if (*p <= 0x20 || *p == 0x7f || *p == '#' || *p == '\\')
			return err_set(err, ERR_INVALID, "request line: bad character in path");
	req->is_http10 = end[-1] == '0';
	req->method = pool_memdup(pool, s, (size_t)(sp - s));
	q = memchr(sp, '?', (size_t)(sp2 - sp));
	req->path = pool_memdup(pool, sp + 1, (size_t)((q ? q : sp2) - sp - 1));
	req->query = q ? pool_memdup(pool, q + 1, (size_t)(sp2 - q - 1)) : "";
	return true;
}

static bool line_header(
	struct pool *pool, const char *s, size_t n, struct http_request *req, struct err *err)
{
	const char *colon = memchr(s, ':', n), *v, *end = s + n;
	char *name;

	if (!colon || !is_token(s, (size_t)(colon - s)))
		return err_set(err, ERR_INVALID, "header: bad name");
	if (req->nheaders == HTTP_HEADERS_MAX)
		return err_set(err, ERR_TOO_LARGE, "more than %d headers", HTTP_HEADERS_MAX);
	for (v = colon + 1; v < end && (*v == ' ' || *v == '\t'); v++)
		;
	while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (!is_value(v, (size_t)(end - v)))
		return err_set(err, ERR_INVALID, "header: bad value");
	name = pool_memdup(pool, s, (size_t)(colon - s));
	for (char *p = name; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	req->headers[req->nheaders++] = (struct http_header){
		.name = name,
		.value = pool_memdup(pool, v, (size_t)(end - v)),
	};
	return true;
}

/* What says where the body ends, and must say it once. */
static bool lengths_read(struct http_request *req, struct err *err)
{
	bool length = false;

	for (size_t i = 0; i < req->nheaders; i++) {
		const struct http_header *h = &req->headers[i];

		if (!strcmp(h->name, "content-length")) {
			if (length || !text_to_i64(h->value, 0, INT64_MAX, &req->content_length))
				return err_set(err, ERR_INVALID, "bad or repeated content-length");
			length = true;
		} else if (!strcmp(h->name, "transfer-encoding")) {
			if (req->chunked || strcmp(h->value, "chunked") != 0)
				return err_set(
					err, ERR_INVALID, "transfer-encoding is not chunked");
			req->chunked = true;
		} else if (!strcmp(h->name, "upgrade")) {
			return err_set(err, ERR_INVALID, "upgrade is not served");
		} else if (!strcmp(h->name, "expect")) {
			if (strcmp(h->value, "100-continue") != 0)
				return err_set(err, ERR_INVALID, "unknown expectation");
			req->expect_continue = true;
		}
	}
	if (length && req->chunked)
		return err_set(err, ERR_INVALID, "content-length beside chunks");
	return true;
}

bool http_request_parse(struct pool *pool, const char *data, size_t n, struct http_request *req,
	size_t *used, struct err *err)
{
	const char *end = memmem(data, n, "\r\n\r\n", 4), *line = data, *eol;
	bool first = true;

	*used = 0;
	if (!end) {
		if (n >= HTTP_HEAD_MAX)
			return err_set(err, ERR_TOO_LARGE, "head over %u bytes", HTTP_HEAD_MAX);
		return true;
	}
	if (end - data > (ptrdiff_t)HTTP_HEAD_MAX)
		return err_set(err, ERR_TOO_LARGE, "head over %u bytes", HTTP_HEAD_MAX);
	*req = (struct http_request){.content_length = -1};
	for (; line <= end; line = eol + 2, first = false) {
		eol = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
		if (memchr(line, '\n', (size_t)(eol - line)) ||
			memchr(line, '\r', (size_t)(eol - line)) ||
			memchr(line, '\0', (size_t)(eol - line)))
			return err_set(err, ERR_INVALID, "stray line end in head");
		if (first ? !line_first(pool, line, (size_t)(eol - line), req, err)
			  : !line_header(pool, line, (size_t)(eol - line), req, err))
			return false;
	}
	if (!lengths_read(req, err))
		return false;
	*used = (size_t)(end - data) + 4;
	return true;
}

const char *http_request_header(const struct http_request *req, const char *name)
{
	for (size_t i = 0; i < req->nheaders; i++)
		if (!strcmp(req->headers[i].name, name))
			return req->headers[i].value;
	return NULL;
}

void http_body_init(struct http_body *b, const struct http_request *req)
{
	*b = (struct http_body){.state = req->chunked ? BODY_SIZE : BODY_COUNTED};
	if (!req->chunked) {
		b->left = req->content_length > 0 ? req->content_length : 0;
		if (!b->left)
			b->state = BODY_DONE;
	}
}

static bool chunk_size(struct http_body *b, struct err *err)
{
	int64_t size = 0;

	if (b->line_n < 1 || b->line_n > 15)
		return err_set(err, ERR_INVALID, "bad chunk size");
	for (size_t i = 0; i < b->line_n; i++) {
		char c = b->line[i];
		int d = c >= '0' && c <= '9'		     ? c - '0'
			: (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
							     : -1;

		if (d < 0)
			return err_set(err, ERR_INVALID, "bad chunk size");
		size = size * 16 + d;
	}
	b->left = size;
	b->line_n = 0;
	b->state = size ? BODY_CHUNK : BODY_LAST;
	return true;
}

/* One byte of framing: the size line, the line end behind a chunk, the empty line at the end. */
static bool frame_byte(struct http_body *b, char c, struct err *err)
{
	if (b->line_n && b->line[b->line_n - 1] == '\r') {
		if (c != '\n')
			return err_set(err, ERR_INVALID, "stray carriage return in chunks");
		b->line_n--;
		if (b->state == BODY_SIZE)
			return chunk_size(b, err);
		if (b->line_n)
			return err_set(
				err, ERR_INVALID, "chunk longer than its size, or a trailer");
		b->state = b->state == BODY_LAST ? BODY_DONE : BODY_SIZE;
		return true;
	}
	if (b->line_n == sizeof(b->line))
		return err_set(err, ERR_INVALID, "bad chunk framing");
	b->line[b->line_n++] = c;
	return true;
}

bool http_body_feed(
	struct http_body *b, struct buf *in, struct buf *out, size_t max, struct err *err)
{
	size_t i = 0;

	while (i < in->len) {
		if (b->state == BODY_DONE)
			return err_set(err, ERR_INVALID, "bytes behind the end of the request");
		if (b->state == BODY_COUNTED || b->state == BODY_CHUNK) {
			size_t n = in->len - i;

			if ((int64_t)n > b->left)
				n = (size_t)b->left;
			if (out->len >= max)
				break;
			if (n > max - out->len)
				n = max - out->len;
			if (!buf_add(out, in->data + i, n))
				return err_set(err, ERR_INTERNAL, "body buffer");
			i += n;
			b->left -= (int64_t)n;
			if (!b->left)
				b->state = b->state == BODY_COUNTED ? BODY_DONE : BODY_CHUNK_END;
			continue;
		}
		if (!frame_byte(b, in->data[i++], err))
			return false;
	}
	buf_shift(in, i);
	return true;
}
