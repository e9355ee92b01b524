/*
 * Rows of connected clients.
 */
#include "oauth.h"

#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "pool.h"
#include "queries.h"

bool oauth_token_use(struct db *db, struct pool *pool, const char *token, const char *resource,
	const struct bearer_use *use, struct bearer **out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];

	sha256(token, strlen(token), hash);
	if (!db_query(db, Q_TOKEN_USE,
		    ARGS(db_bytes(hash, sizeof(hash)), db_text(resource), db_text(use->address),
			    db_text(use->client)),
		    &res, err))
		return err_wrap(err, "access token");
	*out = bearer_of(&res, pool);
	return true;
}

bool oauth_client_find(struct db *db, struct pool *pool, const char *client_id,
	struct oauth_client **out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct oauth_client *c;

	if (!db_query(db, Q_OAUTH_CLIENT_FIND, ARGS(db_text(client_id), db_i64(OAUTH_DOCUMENT_MS)),
		    &res, err))
		return err_wrap(err, "client");
	*out = NULL;
	if (!res.rows)
		return true;
	c = POOL_NEW(pool, struct oauth_client);
	c->client_id = pool_strdup(pool, client_id);
	c->title = pool_strdup(pool, result_text(&res, 0, 0));
	c->redirect_uris = pool_strdup(pool, result_text(&res, 0, 1));
	c->is_document = result_bool(&res, 0, 2);
	*out = c;
	return true;
}

bool oauth_client_add(struct db *db, const char *title, const char *redirect_uris,
	char client_id[ID_SIZE], struct err *err)
{
	CLEANUP(result) struct result res = {0};
	char fresh[ID_SIZE];

	random_id(fresh, sizeof(fresh), "client-", 16);
	if (!db_query(db, Q_OAUTH_CLIENT_ADD,
		    ARGS(db_text(fresh), db_text(title), db_text(redirect_uris),
			    db_i64(OAUTH_CLIENTS_MAX)),
		    &res, err))
		return err_wrap(err, "client");
	if (!res.affected)
		return err_set(err, ERR_LIMITED, "too many clients have registered; try tomorrow");
	memcpy(client_id, fresh, sizeof(fresh));
	return true;
}

bool oauth_document_put(struct db *db, const char *client_id, const char *title,
	const char *redirect_uris, struct err *err)
{
	if (!db_query(db, Q_OAUTH_DOCUMENT_PUT,
		    ARGS(db_text(client_id), db_text(title), db_text(redirect_uris)), NULL, err))
		return err_wrap(err, "client");
	return true;
}

bool oauth_grant_add(struct db *db, const struct oauth_grant_new *in, char name[ID_SIZE],
	char code[TOKEN_SIZE], struct err *err)
{
	unsigned char hash[SHA256_SIZE];
	char fresh[TOKEN_SIZE], id[ID_SIZE];

	random_id(id, sizeof(id), "grant-", 16);
	token_make(TOKEN_CODE, fresh);
	sha256(fresh, strlen(fresh), hash);
	if (!db_query(db, Q_OAUTH_GRANT_ADD,
		    ARGS(db_i64(in->account_id), db_i64(in->user_id), db_text(id),
			    db_text(in->client_id), db_text(in->title), db_text(in->redirect_uri),
			    db_text(scope_list(in->scope)), db_text(in->resource),
			    db_bytes(hash, sizeof(hash)), db_text(in->challenge)),
		    NULL, err))
		return err_wrap(err, "grant");
	memcpy(name, id, sizeof(id));
	memcpy(code, fresh, sizeof(fresh));
	return true;
}

bool oauth_grant_revoke(struct db *db, int64_t account_id, const char *name, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_OAUTH_GRANT_REVOKE, ARGS(db_i64(account_id), db_text(name)), &res, err))
		return err_wrap(err, "grant");
	return res.rows || err_set(err, ERR_NOT_FOUND, "no such connected client");
}

bool oauth_code_take(struct db *db, struct pool *pool, const char *code, struct oauth_taken **out,
	struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];
	struct oauth_taken *t;

	sha256(code, strlen(code), hash);
	if (!db_query(db, Q_OAUTH_CODE_TAKE, ARGS(db_bytes(hash, sizeof(hash))), &res, err))
		return err_wrap(err, "code");
	*out = NULL;
	if (!res.rows)
		return true;
	t = POOL_NEW(pool, struct oauth_taken);
	t->account_id = result_i64(&res, 0, 0);
	t->grant_id = result_i64(&res, 0, 1);
	t->client_id = pool_strdup(pool, result_text(&res, 0, 2));
	t->redirect_uri = pool_strdup(pool, result_text(&res, 0, 3));
	t->challenge = pool_strdup(pool, result_text(&res, 0, 4));
	t->resource = pool_strdup(pool, result_text(&res, 0, 5));
	*out = t;
	return scope_parse(result_text(&res, 0, 6), &t->scope) ||
	       err_set(err, ERR_INTERNAL, "code: a scope that is none");
}

bool oauth_refresh_take(struct db *db, struct pool *pool, const char *token, const char *client_id,
	struct oauth_taken **out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];
	struct oauth_taken *t;

	sha256(token, strlen(token), hash);
	if (!db_query(db, Q_OAUTH_REFRESH_TAKE,
		    ARGS(db_bytes(hash, sizeof(hash)), db_text(client_id)), &res, err))
		return err_wrap(err, "refresh token");
	*out = NULL;
	if (!res.rows)
		return true;
	t = POOL_NEW(pool, struct oauth_taken);
	t->account_id = result_i64(&res, 0, 0);
	t->grant_id = result_i64(&res, 0, 1);
	t->resource = pool_strdup(pool, result_text(&res, 0, 2));
	*out = t;
	return scope_parse(result_text(&res, 0, 3), &t->scope) ||
	       err_set(err, ERR_INTERNAL, "refresh token: a scope that is none");
}

static bool token_add(struct db *db, const struct oauth_taken *of, const char *kind,
	const char *token, int64_t lifetime_s, struct err *err)
{
	unsigned char hash[SHA256_SIZE];

	sha256(token, strlen(token), hash);
	return db_query(db, Q_OAUTH_TOKEN_ADD,
		       ARGS(db_i64(of->account_id), db_i64(of->grant_id), db_text(kind),
			       db_bytes(hash, sizeof(hash)), db_text(scope_list(of->scope)),
			       db_i64(lifetime_s)),
		       NULL, err) ||
	       err_wrap(err, "token");
}

bool oauth_tokens_add(struct db *db, const struct oauth_taken *of, char access[TOKEN_SIZE],
	char refresh[TOKEN_SIZE], struct err *err)
{
	char a[TOKEN_SIZE], r[TOKEN_SIZE];

	token_make(TOKEN_OAUTH, a);
	token_make(TOKEN_REFRESH, r);
	if (!token_add(db, of, "access", a, OAUTH_ACCESS_S, err) ||
		!token_add(db, of, "refresh", r, OAUTH_REFRESH_S, err))
		return false;
	memcpy(access, a, sizeof(a));
	memcpy(refresh, r, sizeof(r));
	return true;
}

bool oauth_token_drop(struct db *db, const char *token, const char *client_id, int64_t *account_id,
	struct err *err)
{
	CLEANUP(result) struct result res = {0};
	unsigned char hash[SHA256_SIZE];

	sha256(token, strlen(token), hash);
	if (!db_query(db, Q_OAUTH_TOKEN_DROP,
		    ARGS(db_bytes(hash, sizeof(hash)), db_text(client_id)), &res, err))
		return err_wrap(err, "token");
	*account_id = res.rows ? result_i64(&res, 0, 0) : 0;
	return true;
}
