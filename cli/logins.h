#pragma once
/*
 * The sites this person signed in to, each with its token: ~/.config/agent-sandbox/logins.json,
 * which nobody else may read. A token is only ever sent to the site it was stored for.
 */
#include "err.h"

struct json_object;
struct pool;

#define TOKEN_MAX 4096

struct login {
	const char *url; /* NULL: there is none */
	const char *token;
	const char *since;
};

/* An address as it is compared and stored: without slashes at its end. ERR_INVALID unless it is
 * http or https, without a name or secret in it; plain http is for this machine alone. */
bool login_url(struct pool *pool, const char *given, const char **url, struct err *err) NODISCARD;
/* A token is one line of letters that a header can hold. */
bool login_token_check(const char *token, struct err *err) NODISCARD;
/* The login for url, or for the site that was signed in to last where url is NULL. */
bool login_find(struct pool *pool, const char *folder, const char *url, struct login *out,
	struct err *err) NODISCARD;
/* Stores it; it becomes the one that is used where nothing says which. */
bool login_store(struct pool *pool, const char *folder, const char *url, const char *token,
	struct err *err) NODISCARD;
/* ERR_NOT_FOUND: there was none. */
bool login_forget(
	struct pool *pool, const char *folder, const char *url, struct err *err) NODISCARD;
