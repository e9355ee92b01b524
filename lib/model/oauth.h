#pragma once
/*
 * Clients that a person has connected (OAuth 2.1): who they are, what was granted, and the tokens
 * that come of it. A grant is the family of its codes and tokens; a code or refresh token that
 * comes a second time has been seen by somebody else and ends the whole grant.
 */
#include <stdbool.h>
#include <stdint.h>

#include "api_key.h"
#include "err.h"
#include "random.h"

struct db;
struct pool;

/* The good access token with this text, at the address that it is used at; its use is noted. NULL:
 * there is none. Needs no account. */
bool oauth_token_use(struct db *db, struct pool *pool, const char *token, const char *resource,
	const struct bearer_use *use, struct bearer **out, struct err *err) NODISCARD;

/* --- clients --- */

struct oauth_client {
	const char *client_id, *title;
	const char *redirect_uris; /* a JSON array */
	bool is_document;	   /* client_id is the address of what it says of itself */
};

#define OAUTH_ID_MAX 500    /* bytes of a client_id */
#define OAUTH_TITLE_MAX 100 /* bytes of a client's name */
/* Clients that nobody has connected; they go after a day. */
#define OAUTH_CLIENTS_MAX 1000
/* How long a client's document is believed without being read again. */
#define OAUTH_DOCUMENT_MS (3600 * 1000)

/* NULL: there is none; or its document has been read too long ago. */
bool oauth_client_find(struct db *db, struct pool *pool, const char *client_id,
	struct oauth_client **out, struct err *err) NODISCARD;
/* A client that registers itself; client_id gets its id. ERR_LIMITED at OAUTH_CLIENTS_MAX. */
bool oauth_client_add(struct db *db, const char *title, const char *redirect_uris,
	char client_id[ID_SIZE], struct err *err) NODISCARD;
/* What the document at the client_id says, new or anew. */
bool oauth_document_put(struct db *db, const char *client_id, const char *title,
	const char *redirect_uris, struct err *err) NODISCARD;

/* --- grants --- */

struct oauth_grant_new {
	int64_t account_id, user_id;
	const char *client_id, *title, *redirect_uri, *resource, *challenge;
	enum scope scope;
};

/* A person's yes, and the code (60 s, once) that it is told to the client by. name gets the
 * grant's. Inside a transaction of the account. */
bool oauth_grant_add(struct db *db, const struct oauth_grant_new *in, char name[ID_SIZE],
	char code[TOKEN_SIZE], struct err *err) NODISCARD;
/* Also one that is over already. ERR_NOT_FOUND. */
bool oauth_grant_revoke(
	struct db *db, int64_t account_id, const char *name, struct err *err) NODISCARD;

/* --- codes and tokens: the client speaks, so no account is needed --- */

struct oauth_taken {
	int64_t account_id, grant_id;
	const char *client_id, *redirect_uri, *challenge; /* of a code; NULL of a refresh token */
	const char *resource;
	enum scope scope;
};

/* Uses up the code, or the client's refresh token, in a transaction, which is its account's from
 * then on. NULL: it is wrong, too old, or comes a second time, which has ended its grant. */
bool oauth_code_take(struct db *db, struct pool *pool, const char *code, struct oauth_taken **out,
	struct err *err) NODISCARD;
bool oauth_refresh_take(struct db *db, struct pool *pool, const char *token, const char *client_id,
	struct oauth_taken **out, struct err *err) NODISCARD;

#define OAUTH_ACCESS_S 3600	     /* an access token */
#define OAUTH_REFRESH_S (30 * 86400) /* a refresh token that is not used */

/* The next pair of the grant. Inside a transaction of its account. */
bool oauth_tokens_add(struct db *db, const struct oauth_taken *of, char access[TOKEN_SIZE],
	char refresh[TOKEN_SIZE], struct err *err) NODISCARD;
/* The client gives a token back: its grant ends. *account_id 0: there was none that lived. */
bool oauth_token_drop(struct db *db, const char *token, const char *client_id, int64_t *account_id,
	struct err *err) NODISCARD;
