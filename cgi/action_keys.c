/*
 * keys: the API keys that have not been revoked, newest first, and what became of each; never a key
 * itself.
 */
#include "action.h"
#include "queries.h"

static bool keys(struct call *c, const void *input, struct err *err)
{
	(void)input;
	return call_json(c, 200, Q_READ_KEYS, ARGS(db_i64(c->caller.account_id)), "account", err);
}

const struct action action_keys = {
	.name = "keys",
	.summary = "The API keys that have not been revoked.",
	.method = "GET",
	.path = "/keys.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.answers = "200 `{\"keys\":[KEY]}`",
	.run = keys,
};
