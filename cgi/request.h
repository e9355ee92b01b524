#pragma once
/*
 * One request as the handlers see it. Its texts come from the FastCGI parameters that nginx was
 *told to send and no others are looked at:
 *
 *	REQUEST_METHOD DOCUMENT_URI QUERY_STRING CONTENT_TYPE CONTENT_LENGTH REMOTE_ADDR REQUEST_ID
 *	HTTP_HOST HTTP_ORIGIN HTTP_SEC_FETCH_SITE HTTP_AUTHORIZATION HTTP_COOKIE HTTP_X_CSRF_TOKEN
 *	HTTP_IDEMPOTENCY_KEY HTTP_FORWARDED HTTP_X_FORWARDED_FOR HTTP_USER_AGENT
 *	HTTP_MCP_PROTOCOL_VERSION HTTP_MCP_METHOD HTTP_MCP_NAME
 *
 * REMOTE_ADDR and REQUEST_ID are nginx's own; a client can only make HTTP_ ones. Absent ones are
 *"".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct pool;

/* Up to n bytes of the body; 0 at its end, -1 where it broke off. */
typedef long request_read_fn(void *arg, char *to, size_t n);

struct request {
	struct pool *pool;
	const char *method, *path, *query, *content_type, *address;
	const char *id; /* nginx's, or one of ours where that is odd */
	const char *host, *origin, *fetch_site, *authorization, *cookie, *csrf, *idempotency_key;
	const char *mcp_version, *mcp_method, *mcp_name;
	const char *user_agent; /* what the client calls itself */
	bool forwarded;		/* a proxy says that somebody else asks */
	int64_t content_length; /* 0: no body */
	char **params;		/* all of them, for request_param */
	request_read_fn *read;
	void *arg;
	int64_t got; /* body bytes read */
	const unsigned char
		*body_sha256; /* of a streamed body, once an action has read it; else NULL */
};

bool request_init(struct request *rq, struct pool *pool, char **params, request_read_fn *read,
	void *arg, struct err *err) NODISCARD;
/* Reads up to n body bytes: 0 at the end. A body that is shorter than it said is ERR_MALFORMED. */
bool request_read(struct request *rq, char *to, size_t n, size_t *got, struct err *err) NODISCARD;
/* The whole body, NUL-terminated in the pool; ERR_TOO_LARGE above max, before anything is read. */
bool request_body(
	struct request *rq, size_t max, const char **body, size_t *n, struct err *err) NODISCARD;
/* The cookie's value; NULL where there is none, or more than one of that name. */
const char *request_cookie(const struct request *rq, const char *name);
/* A FastCGI parameter; "" where it is absent. Only of a request that nginx sent, while it is
 * served. */
const char *request_param(const struct request *rq, const char *name);
/* Is the media type (without parameters) this one? */
bool request_has_type(const struct request *rq, const char *type);

/* For tests: a request in memory. headers: "Name: value" lines, ended by NULL. url: path[?query].
 */
bool request_from_memory(struct request *rq, struct pool *pool, const char *method, const char *url,
	const char *const *headers, const char *body, size_t n, struct err *err) NODISCARD;
