/*
 * Rows of API keys.
 */
#include "api_key.h"

#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "pool.h"
#include "queries.h"
#include "random.h"

#include <string.h>

struct bearer *bearer_of(const struct result *res, struct pool *pool)
{
	struct bearer *b;

	if (!res->rows)
		return NULL;
	b = POOL_NEW(pool, struct bearer);
	b->id = result_i64(res, 0, 0);
	b->name = pool_strdup(pool, result_text(res, 0, 1));
	b->account_id = result_i64(res, 0, 2);
	b->user_id = result_i64(res, 0, 3);
	/* a row that says nothing we know may do nothing */
	(void)scope_parse(result_text(res, 0, 4), &b->scope);
	return b;
}

bool api_key_use(struct db *db, struct pool *pool, const char *key, const struct bearer_use *use,
	struct bearer **out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];

	sha256(key, strlen(key), hash);
	if (!db_query(db, Q_KEY_USE,
		    ARGS(db_bytes(hash, sizeof(hash)), db_text(use->address), db_text(use->client)),
		    &res, err))
		return err_wrap(err, "key");
	*out = bearer_of(&res, pool);
	return true;
}

bool api_key_add(struct db *db, struct pool *pool, const struct api_key_new *in,
	char key[TOKEN_SIZE], const char **json, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	char name[ID_SIZE], prefix[TOKEN_PREFIX_SIZE], fresh[TOKEN_SIZE];
	unsigned char hash[SHA256_SIZE];

	random_id(name, sizeof(name), "key-", 16);
	token_make(TOKEN_KEY, fresh);
	token_prefix(fresh, prefix);
	sha256(fresh, strlen(fresh), hash);
	if (!db_query(db, Q_KEY_ADD,
		    ARGS(db_i64(in->account_id), db_i64(in->user_id), db_text(name),
			    db_text(in->title), db_text(prefix), db_bytes(hash, sizeof(hash)),
			    db_text(scope_list(in->scope)), db_text(in->created_by),
			    in->lifetime_ms ? db_i64(in->lifetime_ms) : db_text(NULL),
			    db_i64(API_KEYS_MAX)),
		    &res, err))
		return err_wrap(err, "key");
	if (!res.rows) {
		(void)err_set(err, ERR_CONFLICT, "there are %d keys already", API_KEYS_MAX);
		return err_advise(err, "keys", "Revoke those that nobody uses.");
	}
	*json = pool_strdup(pool, result_text(&res, 0, 0));
	memcpy(key, fresh, sizeof(fresh));
	return true;
}

bool api_key_revoke(struct db *db, int64_t account_id, const char *name, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_KEY_REVOKE, ARGS(db_i64(account_id), db_text(name)), &res, err))
		return err_wrap(err, "key");
	return res.rows || err_set(err, ERR_NOT_FOUND, "no such key");
}
