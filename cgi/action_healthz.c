/*
 * healthz: can this site answer? Says nothing else, for anybody may ask.
 */
#include "action.h"
#include "cleanup.h"
#include "queries.h"

static bool healthz(struct call *c, const void *input, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	(void)input;
	if (!db_query(c->db, Q_WEB_HEALTH, NO_ARGS, &res, err))
		return err_set(err, ERR_BUSY, "the database does not answer");
	response_json(c->rs, 200, "{\"ok\":true}");
	return true;
}

const struct action action_healthz = {
	.name = "healthz",
	.summary = "Whether the site can answer: 200, or 503 where its database cannot be reached.",
	.method = "GET",
	.path = "/healthz",
	.needs = NEEDS_NOBODY,
	.own_tx = true,
	.answers = "200 {\"ok\":true}",
	.run = healthz,
};
