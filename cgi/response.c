/*
 * Building and sending an answer. The only writer of response headers.
 */
#include "response.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "err.h"
#include "json.h"
#include "pool.h"

/* The largest answer that is held in memory; larger things are streams. */
#define BODY_MAX (64u << 20)

static const char *const security[][2] = {
	{"Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: "
		"blob:; "
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; "
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
		"require-trusted-types-for 'script'; trusted-types sw"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), microphone=(), geolocation=(), usb=()"},
	{"Vary", "Sec-Fetch-Site, Origin"},
};

void response_init(struct response *rs, struct pool *pool, bool https)
{
	*rs = (struct response){.pool = pool, .status = 200, .https = https};
	buf_init(&rs->headers, 32768);
	buf_init(&rs->body, BODY_MAX);
}

void response_done(struct response *rs)
{
	buf_done(&rs->headers);
	buf_done(&rs->body);
}

bool response_header(struct response *rs, const char *name, const char *value)
{
	if (strpbrk(value, "\r\n") || strpbrk(name, "\r\n: "))
		return false;
	return buf_addf(&rs->headers, "%s: %s\r\n", name, value);
}

void response_text(struct response *rs, int status, const char *type, const char *text, size_t n)
{
	rs->status = status;
	buf_reset(&rs->body);
	rs->content_type = type;
	(void)buf_add(&rs->body, text, n);
}

void response_json(struct response *rs, int status, const char *text)
{
	response_text(rs, status, "application/json", text, strlen(text));
}

struct json_object *err_json(
	const struct err *err, const char *request_id, struct json_object *context_taken)
{
	struct json_object *root = json_new_object(), *o = json_new_object();
	struct json_object *context = context_taken ? context_taken : json_new_object();
	const struct err_info *info = err_info(err->code);

	json_add_text(o, "code", info->name);
	json_add_text(o, "message", info->visible ? err->msg : "something went wrong on our side");
	json_add_text(o, "fix", info->visible && err->fix[0] ? err->fix : info->fix);
	if (info->visible && err->reason[0])
		json_add_text(context, "reason", err->reason);
	json_add(o, "context", context);
	json_add_text(o, "request_id", request_id);
	json_add(root, "error", o);
	return root;
}

void response_error(struct response *rs, const struct err *err, const char *request_id,
	struct json_object *context_taken)
{
	CLEANUP(json) struct json_object *root = err_json(err, request_id, context_taken);

	rs->internal = NULL;
	rs->stream = NULL;
	buf_reset(&rs->headers);
	response_json(rs, err_info(err->code)->http, json_text(root, rs->pool));
}

static void add_head(struct response *rs, struct buf *head)
{
	(void)buf_addf(head, "Status: %d\r\n", rs->status);
	for (size_t i = 0; i < sizeof(security) / sizeof(security[0]); i++)
		if (!rs->stream || strcmp(security[i][0], "Content-Security-Policy"))
			(void)buf_addf(head, "%s: %s\r\n", security[i][0], security[i][1]);
	/* a stream is not held on its way to be packed, and some only look for no-cache */
	(void)buf_adds(head, rs->stream && rs->stream_size < 0
				     ? "Cache-Control: no-store, no-cache, no-transform\r\n"
				     : "Cache-Control: no-store\r\n");
	/* what is streamed comes from a box: it runs nowhere */
	if (rs->stream)
		(void)buf_adds(head, "Content-Security-Policy: default-src 'none'; sandbox\r\n");
	if (rs->https)
		(void)buf_adds(head, "Strict-Transport-Security: max-age=31536000\r\n");
	if (rs->content_type)
		(void)buf_addf(head, "Content-Type: %s\r\n", rs->content_type);
	if (!rs->stream || rs->stream_size >= 0)
		(void)buf_addf(head, "Content-Length: %lld\r\n",
			rs->stream ? (long long)rs->stream_size : (long long)rs->body.len);
	(void)buf_add(head, rs->headers.data, rs->headers.len);
	(void)buf_adds(head, "\r\n");
}

bool response_send(struct response *rs, response_write_fn *write, void *arg)
{
	CLEANUP(buf) struct buf head = BUF_INIT(65536);

	if (rs->internal) {
		(void)buf_addf(&head, "X-Accel-Redirect: %s\r\n\r\n", rs->internal);
		return write(arg, head.data, head.len);
	}
	add_head(rs, &head);
	if (!write(arg, head.data, head.len))
		return false;
	if (rs->head_only)
		return true;
	if (rs->stream)
		return rs->stream(rs->stream_arg, write, arg);
	return !rs->body.len || write(arg, rs->body.data, rs->body.len);
}
