/*
 * Rows of kept answers. The unique key is what makes concurrent requests wait for each other.
 */
#include "idempotency.h"

#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "pool.h"
#include "queries.h"

bool idempotency_claim(struct db *db, struct pool *pool, const struct idempotency *key, bool *first,
	int *status, const char **response, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	const struct db_arg args[] = {db_i64(key->account_id), db_text(key->key),
		db_text(key->route), db_bytes(key->body_sha256, SHA256_SIZE)};

	if (!db_query(db, Q_IDEMPOTENCY_CLAIM, args, 4, &res, err))
		return err_wrap(err, "idempotency");
	*first = res.rows == 1;
	if (*first)
		return true;
	if (!db_query(db, Q_IDEMPOTENCY_FIND, args, 4, &res, err))
		return err_wrap(err, "idempotency");
	if (!res.rows)
		return err_set(err, ERR_BUSY, "idempotency: the kept answer is just going");
	if (!result_bool(&res, 0, 0)) {
		(void)err_set(
			err, ERR_INVALID, "this Idempotency-Key was used for another request");
		return err_advise(
			err, "idempotency", "Send a new key, or the very same request as before.");
	}
	*status = (int)result_i64(&res, 0, 1);
	*response = pool_strdup(pool, result_text(&res, 0, 2));
	return true;
}

bool idempotency_forget(
	struct db *db, const struct idempotency *key, int64_t keep_ms, struct err *err)
{
	return db_query(db, Q_IDEMPOTENCY_FORGET,
		       ARGS(db_i64(key->account_id), db_text(key->key), db_i64(keep_ms)), NULL,
		       err) ||
	       err_wrap(err, "idempotency");
}

bool idempotency_store(struct db *db, const struct idempotency *key, int status,
	const char *response, struct err *err)
{
	return db_query(db, Q_IDEMPOTENCY_STORE,
		       ARGS(db_i64(key->account_id), db_text(key->key), db_i64(status),
			       db_text(response)),
		       NULL, err) ||
	       err_wrap(err, "idempotency");
}
