#pragma once
/*
 * API keys: tokens (token.h) that stand for a user with a scope, of which the row holds the SHA-256
 * and the beginning. A key is good until it expires or is revoked; both count from the next request
 * on.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "scope.h"
#include "token.h"

struct db;
struct pool;

/* Live ones of an account. */
#define API_KEYS_MAX 200
#define API_KEY_TITLE_MAX 100 /* bytes */

/* Who a good key or access token stands for. */
struct bearer {
	int64_t id; /* of the key, or of the access token */
	int64_t account_id, user_id;
	const char *name; /* "key-..." or "grant-...": what rows say of who did it */
	enum scope scope;
};

/* Where a token was used: nginx's address, and what the client calls itself ("": nothing). */
struct bearer_use {
	const char *address, *client;
};

/* The good key with this text, its use noted; NULL: there is none. Needs no account. */
bool api_key_use(struct db *db, struct pool *pool, const char *key, const struct bearer_use *use,
	struct bearer **out, struct err *err) NODISCARD;

struct api_key_new {
	int64_t account_id, user_id, lifetime_ms; /* 0: until it is revoked */
	const char *title, *created_by;
	enum scope scope;
};

/* key gets the one copy of its text, *json the row as the doors show it. ERR_CONFLICT where the
 * account has API_KEYS_MAX. Inside a transaction of the account. */
bool api_key_add(struct db *db, struct pool *pool, const struct api_key_new *in,
	char key[TOKEN_SIZE], const char **json, struct err *err) NODISCARD;
/* Also one that is revoked already. ERR_NOT_FOUND. */
bool api_key_revoke(struct db *db, int64_t account_id, const char *name, struct err *err) NODISCARD;

/* For api_key_use and its sister of oauth.h: the row of key_use or token_use; NULL without. */
struct result;
struct bearer *bearer_of(const struct result *res, struct pool *pool);
