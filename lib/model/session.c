/*
 * Rows of sign-in sessions.
 */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "pool.h"
#include "queries.h"
#include "random.h"

bool session_find(
	struct db *db, struct pool *pool, const char *token, struct session **out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];
	struct session *s;

	sha256(token, strlen(token), hash);
	if (!db_query(db, Q_SESSION_FIND, ARGS(db_bytes(hash, sizeof(hash))), &res, err))
		return err_wrap(err, "session");
	*out = NULL;
	if (!res.rows)
		return true;
	s = POOL_NEW(pool, struct session);
	s->id = result_i64(&res, 0, 0);
	s->account_id = result_i64(&res, 0, 1);
	s->user_id = result_i64(&res, 0, 2);
	*out = s;
	return true;
}

bool session_add(struct db *db, int64_t account_id, int64_t user_id, char token[SESSION_TOKEN_SIZE],
	struct err *err)
{
	unsigned char hash[SHA256_SIZE];
	char fresh[SESSION_TOKEN_SIZE];

	random_id(fresh, sizeof(fresh), "", SESSION_TOKEN_SIZE - 1);
	sha256(fresh, strlen(fresh), hash);
	if (!db_query(db, Q_SESSION_ADD,
		    ARGS(db_i64(account_id), db_i64(user_id), db_bytes(hash, sizeof(hash))), NULL,
		    err))
		return err_wrap(err, "session");
	memcpy(token, fresh, sizeof(fresh));
	return true;
}

bool session_touch(struct db *db, int64_t id, struct err *err)
{
	return db_query(db, Q_SESSION_TOUCH, ARGS(db_i64(id)), NULL, err) ||
	       err_wrap(err, "session");
}

bool session_drop(struct db *db, int64_t id, struct err *err)
{
	return db_query(db, Q_SESSION_DROP, ARGS(db_i64(id)), NULL, err) ||
	       err_wrap(err, "session");
}

bool session_operator(struct db *db, struct session *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_OPERATOR_FIND, NO_ARGS, &res, err))
		return err_wrap(err, "operator");
	if (!res.rows)
		return err_set(err, ERR_INTERNAL, "operator: the database has no operator account");
	*out = (struct session){
		.account_id = result_i64(&res, 0, 0), .user_id = result_i64(&res, 0, 1)};
	return true;
}

bool signin_code_add(struct db *db, int64_t account_id, int64_t user_id,
	char code[SIGNIN_CODE_SIZE], char expires_at[SIGNIN_TIME_SIZE], struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];
	char fresh[SIGNIN_CODE_SIZE];

	random_id(fresh, sizeof(fresh), "", SIGNIN_CODE_SIZE - 1);
	sha256(fresh, strlen(fresh), hash);
	if (!db_query(db, Q_SIGNIN_CODE_ADD,
		    ARGS(db_bytes(hash, sizeof(hash)), db_i64(account_id), db_i64(user_id)), &res,
		    err))
		return err_wrap(err, "sign-in code");
	memcpy(code, fresh, sizeof(fresh));
	(void)snprintf(expires_at, SIGNIN_TIME_SIZE, "%s", result_text(&res, 0, 0));
	return true;
}

bool signin_code_take(
	struct db *db, const char *code, struct session *out, bool *found, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];

	sha256(code, strlen(code), hash);
	if (!db_query(db, Q_SIGNIN_CODE_TAKE, ARGS(db_bytes(hash, sizeof(hash))), &res, err))
		return err_wrap(err, "sign-in code");
	*found = res.rows > 0;
	if (*found)
		*out = (struct session){
			.account_id = result_i64(&res, 0, 0), .user_id = result_i64(&res, 0, 1)};
	return true;
}
