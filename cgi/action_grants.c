/*
 * grants, revoke_grant: the clients that are connected, and the end of one.
 */
#include "action.h"
#include "oauth.h"
#include "queries.h"

struct revoke_grant {
	const char *grant_id;
};

static const struct field fields[] = {
	FIELD(TEXT, struct revoke_grant, grant_id, .required = true, .max = 64,
		.pattern = FIELD_NAME, .help = "The connection's name as grants says it.",
		.fix = "Say which connection: grant_id of GET /grants.json."),
};

static bool grants(struct call *c, const void *input, struct err *err)
{
	(void)input;
	return call_json(c, 200, Q_READ_GRANTS, ARGS(db_i64(c->caller.account_id)), "account", err);
}

static bool revoke_grant(struct call *c, const void *input, struct err *err)
{
	const struct revoke_grant *in = input;

	if (!oauth_grant_revoke(c->db, c->caller.account_id, in->grant_id, err))
		return false;
	c->subject = in->grant_id;
	response_json(c->rs, 200, "{\"revoked\":true}");
	return true;
}

const struct action action_grants = {
	.name = "grants",
	.summary = "The clients that are connected.",
	.method = "GET",
	.path = "/grants.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.answers = "200 `{\"grants\":[GRANT]}`",
	.run = grants,
};

const struct action action_revoke_grant = {
	.name = "revoke_grant",
	.summary = "Disconnect a client now: its tokens end. A second time changes nothing.",
	.method = "POST",
	.path = "/revoke_grant.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct revoke_grant),
	ACTION_FIELDS(fields),
	.answers = "200 {\"revoked\":true}; 404 where there is no such connection",
	.run = revoke_grant,
};
