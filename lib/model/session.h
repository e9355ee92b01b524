#pragma once
/*
 * Sign-in sessions: a random token in a cookie, of which the row holds the SHA-256 only. A session
 * ends 7 days after it was last used and 30 days after it began (in session_lookup, SQL).
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct db;
struct pool;

struct session {
	int64_t id, account_id, user_id;
};

#define SESSION_TOKEN_SIZE 53 /* 52 characters of 5 bits, and NUL */

/* The live session of this token; NULL where there is none. Needs no account. */
bool session_find(struct db *db, struct pool *pool, const char *token, struct session **out,
	struct err *err) NODISCARD;
/* A new session; token gets the one copy of its token. Inside a transaction of the account. */
bool session_add(struct db *db, int64_t account_id, int64_t user_id, char token[SESSION_TOKEN_SIZE],
	struct err *err) NODISCARD;
/* It was used now (written once a minute). */
bool session_touch(struct db *db, int64_t id, struct err *err) NODISCARD;
bool session_drop(struct db *db, int64_t id, struct err *err) NODISCARD;
/* The account and user that the operator's token stands for. Needs no account. */
bool session_operator(struct db *db, struct session *out, struct err *err) NODISCARD;

#define SIGNIN_CODE_SIZE 27 /* 26 characters of 5 bits, and NUL */
#define SIGNIN_TIME_SIZE 32

/* A code that signs in once, within 10 minutes: the row holds its SHA-256 only. expires_at is text.
 * Inside a transaction of the account. */
bool signin_code_add(struct db *db, int64_t account_id, int64_t user_id,
	char code[SIGNIN_CODE_SIZE], char expires_at[SIGNIN_TIME_SIZE], struct err *err) NODISCARD;
/* Uses it up. *found false: it is wrong, used or too old. out has no session yet. Needs no account.
 */
bool signin_code_take(struct db *db, const char *code, struct session *out, bool *found,
	struct err *err) NODISCARD;
