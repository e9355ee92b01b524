/*
 * The table of secrets that an account may have, and their rows.
 */
#include "secret.h"

#include <assert.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "queries.h"

const char *const secret_names[] = {
	[SECRET_ANTHROPIC_API_KEY] = "anthropic_api_key",
	[SECRET__COUNT] = NULL,
};
static_assert(sizeof(secret_names) / sizeof(secret_names[0]) == SECRET__COUNT + 1, "a name each");

const struct secret_kind secret_kinds[] = {
	[SECRET_ANTHROPIC_API_KEY] = {.title = "Anthropic API key",
		.use = "Claude Code's calls of its model are made with it."},
};
static_assert(sizeof(secret_kinds) / sizeof(secret_kinds[0]) == SECRET__COUNT, "a row each");

bool secret_is_value(const char *value)
{
	size_t n = 0;

	while (value[n] > ' ' && value[n] <= '~')
		n++;
	return n && n <= SECRET_VALUE_MAX && !value[n];
}

bool secret_put(struct db *db, struct pool *pool, int64_t account_id, const char *name,
	const char *value, struct err *err)
{
	CLEANUP(result) struct result key = {0};
	unsigned char *sealed;
	size_t n;

	if (!db_query(db, Q_SEAL_KEY_NEWEST, NO_ARGS, &key, err))
		return err_wrap(err, "secret");
	if (!key.rows) {
		(void)err_set(err, ERR_BUSY,
			"the gate has not told its key, to which secrets are sealed");
		return err_advise(err, "seal_key", "See that asb-gate runs and has ASB_SEAL_KEY.");
	}
	if (!secret_seal(pool, result_text(&key, 0, 0), account_id, name, value, &sealed, &n, err))
		return false;
	if (!db_query(db, Q_SECRET_PUT,
		    ARGS(db_i64(account_id), db_text(name), db_bytes(sealed, n)), NULL, err))
		return err_wrap(err, "secret");
	return true;
}

bool secret_delete(struct db *db, int64_t account_id, const char *name, struct err *err)
{
	if (!db_query(db, Q_SECRET_DELETE, ARGS(db_i64(account_id), db_text(name)), NULL, err))
		return err_wrap(err, "secret");
	return true;
}

bool secret_is_of_site(const struct config *cfg, enum secret_id id)
{
	return id == SECRET_ANTHROPIC_API_KEY && (cfg->has_model || *cfg->model_key);
}

bool secret_is_set(struct db *db, const struct config *cfg, int64_t account_id, enum secret_id id,
	bool *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!secret_is_of_site(cfg, id) &&
		!db_query(db, Q_SECRET_IS_SET, ARGS(db_i64(account_id), db_text(secret_names[id])),
			&res, err))
		return err_wrap(err, "secret");
	*out = res.rows > 0 || secret_is_of_site(cfg, id);
	return true;
}

bool secret_use(struct db *db, struct pool *pool, const struct seal_key *key, int64_t account_id,
	const char *name, const char **value, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	const unsigned char *sealed;
	size_t n;

	if (!db_query(db, Q_SECRET_USE, ARGS(db_i64(account_id), db_text(name)), &res, err))
		return err_wrap(err, "secret");
	*value = NULL;
	if (!res.rows)
		return true;
	sealed = result_bytes(&res, pool, 0, 0, &n);
	return secret_open(pool, key, account_id, name, sealed, n, value, err);
}
