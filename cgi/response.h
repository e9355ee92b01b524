#pragma once
/*
 * One answer, built in memory and sent at the end: status, headers, and a body that is JSON text,
 * plain text, or a stream. The security headers are on every one of them. An answer with a redirect
 * to an internal location is that header and nothing else: nginx would send ours twice.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

struct json_object;
struct pool;
struct request;

/* Takes n bytes on their way to the client, 0: what it has goes out now; false: the client is gone.
 */
typedef bool response_write_fn(void *arg, const void *data, size_t n);
/* Writes a body of the size that was said. False: the answer ends in the middle. */
typedef bool response_stream_fn(void *arg, response_write_fn *write, void *write_arg);

struct response {
	struct pool *pool;
	int status;
	const char *content_type;
	struct buf headers; /* whole lines with CR LF */
	struct buf body;
	const char *internal;	    /* not NULL: X-Accel-Redirect there */
	bool https;		    /* the site is: adds HSTS */
	bool head_only;		    /* the request was a HEAD */
	response_stream_fn *stream; /* not NULL: instead of body */
	void *stream_arg;
	int64_t stream_size; /* -1: nobody knows; it ends when the answer does */
};

void response_init(struct response *rs, struct pool *pool, bool https);
void response_done(struct response *rs);
/* Adds a header. One with CR, LF or NUL in it is our mistake and is left out. False then. */
bool response_header(struct response *rs, const char *name, const char *value);
/* JSON text as the body. */
void response_json(struct response *rs, int status, const char *text);
void response_text(struct response *rs, int status, const char *type, const char *text, size_t n);
/* The one shape of an error on every door. context_taken: more members of `context`, or NULL. What
 * the client may not see is left out; the request id always stands. Drops headers added before. */
void response_error(struct response *rs, const struct err *err, const char *request_id,
	struct json_object *context_taken);
/* {"error":{...}} by itself; the caller's to free. context_taken may be NULL. */
struct json_object *err_json(
	const struct err *err, const char *request_id, struct json_object *context_taken);
bool response_send(struct response *rs, response_write_fn *write, void *arg);
