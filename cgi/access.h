#pragma once
/*
 * Who asks, and may they ask it this way. Every check is a layer of its own; the router puts all of
 * them in front of every action, by the action's row.
 *
 * A caller is a session (cookie), or what `Authorization: Bearer TOKEN` stands for: the operator,
 * an API key, or a connected client's access token, which is good at /mcp alone. A cookie and a
 * bearer at once are refused, and so is a token in an address. Keys and access tokens have a scope,
 * which the action's row asks for; the operator and sessions may do everything. For a session, a
 * request that changes something must come from our own pages: by Sec-Fetch-Site (or Origin where a
 * browser sends none), with the session's CSRF token, and with a content type that a form cannot
 * send.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "scope.h"

struct config;
struct db;
struct pool;
struct request;

enum caller_kind { CALLER_NOBODY, CALLER_OPERATOR, CALLER_SESSION, CALLER_KEY, CALLER_OAUTH };

struct caller {
	enum caller_kind kind;
	int64_t account_id, user_id;
	int64_t id; /* of the session, key or access token; 0: the operator's token */
	/* 'operator', 'session:ID', 'key-...', 'grant-...', '-': what rows say of who did it */
	const char *name;
	const char *token; /* of the session */
	enum scope scope;  /* what it may do at the most */
};

/* The word for it on every door: session, key, oauth, operator. */
const char *caller_kind_name(enum caller_kind kind);

/* The name of our session cookie on this site. */
const char *access_cookie_name(const struct config *cfg);
bool access_is_https(const struct config *cfg);
/* SHA-256 of the operator's token, to compare with. */
void access_operator_hash(const struct config *cfg, unsigned char out[32]);
/* Is this the operator's token? In constant time. */
bool access_is_operator(const unsigned char hash[32], const char *token);

/* Host must be the one of ASB_URL (on loopback: any name of loopback). ERR_FORBIDDEN. */
bool access_host(const struct config *cfg, const struct request *rq, struct err *err) NODISCARD;
/* Origin, where there is one, must be ours. ERR_FORBIDDEN. */
bool access_origin(const struct config *cfg, const struct request *rq, struct err *err) NODISCARD;
/* No token may stand in an address: logs, histories and Referers keep those. ERR_MALFORMED. */
bool access_query(const struct request *rq, struct err *err) NODISCARD;
/* Finds out who asks; nobody is no error. A wrong token is ERR_UNAUTHENTICATED and counted;
 * ERR_LIMITED, with *retry_s, from the 21st on. */
bool access_caller(const struct config *cfg, struct db *db, const unsigned char hash[32],
	const struct request *rq, struct caller *out, int64_t *retry_s, struct err *err) NODISCARD;
/* May the caller do what needs this scope? ERR_FORBIDDEN "insufficient_scope", naming it. */
bool access_scope(const struct caller *caller, enum scope needed, struct err *err) NODISCARD;
/* WWW-Authenticate for a refusal: where the site says how to get a token, for which scope (of the
 * action; SCOPE_NONE: what clients usually need), and what is wrong. NULL: the refusal needs none.
 */
const char *access_challenge(struct pool *pool, const struct config *cfg, const struct request *rq,
	enum scope needed, const struct err *err);
/* The address that access tokens are good for. */
const char *access_resource(struct pool *pool, const struct config *cfg);
/* For a request that changes something: did it come from a page of ours? */
bool access_csrf(const struct request *rq, const struct caller *caller, struct err *err) NODISCARD;
/* The same for signing in, where no session is there yet: programs without a browser may. */
bool access_csrf_login(const struct request *rq, struct err *err) NODISCARD;

/* The CSRF token that belongs to a session: HMAC of a label under the session's token. */
#define CSRF_SIZE 65
void access_csrf_token(const char *session_token, char out[CSRF_SIZE]);
/* Does the request come from this machine itself, with no proxy between? */
bool access_is_local(const struct config *cfg, const struct request *rq);
