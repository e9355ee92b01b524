#pragma once
/*
 * OAuth 2.1 as programs speak it: the documents under /.well-known, and /oauth/authorize, token,
 * register and revoke. These are no actions: their forms, answers and errors are the standard's
 * (RFC 6749, 7009, 7591, 8414, 9207, 9728), which wants what it does not know to be ignored. What a
 * person does on a page of ours (see a request, allow it, end it) are actions: action_connect.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "field.h"
#include "oauth.h"

struct call;
struct config;
struct json_object;
struct pool;

/* Answers where the address is one of these; false: it is not. Writes its own audit row and log
 * line. */
bool oauth_serve(struct call *c, int64_t start_ms);

/* --- between its files --- */

/* Sets ERR_INVALID with the standard's word as reason. False. */
bool oauth_refuse(struct err *err, const char *word, const char *fmt, ...) PRINTF(3, 4);
#if defined(__clang_analyzer__) || defined(ASB_ANALYZE) /* as in err.h */
#define oauth_refuse(...) (oauth_refuse(__VA_ARGS__), false)
#endif
/* Fields of a form or query; unknown ones are passed over, as the standard says. */
bool oauth_fields(struct pool *pool, const struct field *fields, size_t n, const char *form,
	void *out, struct err *err) NODISCARD;
/* The client with this id. ERR_INVALID invalid_client where there is none; ERR_NOT_FOUND where it
 * is described by a document that has not been read within OAUTH_DOCUMENT_MS. */
bool oauth_client_get(struct call *c, const char *client_id, struct oauth_client **out,
	struct err *err) NODISCARD;

/* Reads the document that the client_id names, and keeps what it says. ERR_INVALID invalid_client:
 * there is none, or it is not good. Takes seconds: for a signed-in person, outside a transaction.
 */
bool oauth_document_read(struct call *c, const char *client_id, struct err *err) NODISCARD;
/* Of a registration or document: the redirect addresses, each checked (NULL without), and what the
 * client calls itself, made safe to show and cut. */
const char *oauth_redirect_uris(struct call *c, struct json_object *o, struct err *err);
const char *oauth_title(struct call *c, struct json_object *o);

/* What a client asks a person for. */
struct oauth_request {
	const char *response_type, *client_id, *redirect_uri, *scope, *state, *code_challenge,
		*code_challenge_method, *resource;
	struct oauth_client *client;
	enum scope granted; /* the highest that it asks for and may get */
};

/* Reads the query of /oauth/authorize. False with *may_redirect: the client is to be told, at its
 * redirect_uri; without: the person is, since nobody knows where that would lead. ERR_NOT_FOUND:
 * nobody knows yet, since the client's document has to be read. */
bool oauth_request_read(struct call *c, const char *query, struct oauth_request *out,
	bool *may_redirect, struct err *err) NODISCARD;
/* Where the browser goes with the answer: name is code or error. */
const char *oauth_redirect(struct pool *pool, const struct config *cfg,
	const struct oauth_request *rq, const char *name, const char *value);

bool oauth_authorize(struct call *c, struct err *err);
bool oauth_token(struct call *c, struct err *err);
bool oauth_revoke(struct call *c, struct err *err);
bool oauth_register(struct call *c, struct err *err);
