#pragma once
/*
 * Talking to a site over libcurl. The address comes from ASB_URL and the token from the file that
 * ASB_TOKEN_FILE names; neither is ever in argv. A site's refusal (its error JSON) becomes a
 * struct err with the same code, message and fix.
 */
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

struct http;
struct json_object;
struct pool;

#define HTTP_REPLY_MAX (256u << 20)
/* What to do where a site wants another token: it speaks of headers, which we send. */
#define HTTP_LOGIN_FIX                                                    \
	"`asb login --status` says which site and whose token are used; " \
	"`asb login` stores another"

/* url without a trailing slash; token may be "" (then nothing is sent). */
struct http *http_new(const char *url, const char *token);
void http_free(struct http *h);
/* From now on a call may take no longer than ms. */
void http_hurry(struct http *h, int64_t ms);
const char *http_url(const struct http *h);

/* GET; out is appended to. */
bool http_get(struct http *h, const char *path, struct buf *out, struct err *err) NODISCARD;
/* GET of JSON; the caller owns *out. */
bool http_get_json(
	struct http *h, const char *path, struct json_object **out, struct err *err) NODISCARD;
/* POST of JSON text; the answer in *out, which the caller owns. */
bool http_post_json(struct http *h, const char *path, const char *body, struct json_object **out,
	struct err *err) NODISCARD;
/* POST of a file's first `size` bytes from its beginning. */
bool http_post_file(struct http *h, const char *path, const char *type, int fd, int64_t size,
	struct json_object **out, struct err *err) NODISCARD;

/* Bytes of a stream as they come; false ends it. */
typedef bool http_stream_fn(void *arg, const char *data, size_t n);
/* While a stream is open fn(arg) is called about once a second, also when nothing comes; false ends
 * the stream. NULL: not any more. */
typedef bool http_tick_fn(void *arg);
void http_on_tick(struct http *h, http_tick_fn *fn, void *arg);
/* What it says now; true where there is none. */
bool http_tick(struct http *h);
/* GET until the server or fn ends it, or silent_s seconds pass without a byte (ERR_BUSY then, as
 * for every broken connection: ask again). last_event_id may be "". */
bool http_stream(struct http *h, const char *path, const char *last_event_id, int silent_s,
	http_stream_fn *fn, void *arg, struct err *err) NODISCARD;
