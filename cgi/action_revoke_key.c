/*
 * revoke_key: from the next request on nobody is let in with it, and its streams end.
 */
#include "action.h"
#include "api_key.h"

struct revoke_key {
	const char *key_id;
};

static const struct field fields[] = {
	FIELD(TEXT, struct revoke_key, key_id, .required = true, .max = 64, .pattern = FIELD_NAME,
		.help = "The key's name as keys says it, not the key itself.",
		.fix = "Say which key: key_id of GET /keys.json."),
};

static bool revoke_key(struct call *c, const void *input, struct err *err)
{
	const struct revoke_key *in = input;

	if (!api_key_revoke(c->db, c->caller.account_id, in->key_id, err))
		return false;
	/* only now: somebody may have sent the key itself, which is no word for a log */
	c->subject = in->key_id;
	response_json(c->rs, 200, "{\"revoked\":true}");
	return true;
}

const struct action action_revoke_key = {
	.name = "revoke_key",
	.summary = "End an API key now. Revoking it again changes nothing.",
	.method = "POST",
	.path = "/revoke_key.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct revoke_key),
	ACTION_FIELDS(fields),
	.answers = "200 {\"revoked\":true}; 404 where there is no such key",
	.run = revoke_key,
};
