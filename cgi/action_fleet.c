/*
 * fleet: all that is there, for the list a person looks at.
 */
#include "action.h"
#include "queries.h"

static bool fleet(struct call *c, const void *input, struct err *err)
{
	(void)input;
	return call_json(c, 200, Q_READ_FLEET, ARGS(db_i64(c->caller.account_id)), "account", err);
}

const struct action action_fleet = {
	.name = "fleet",
	.summary = "The runs whose box lives and the newest others, and the boxes that live.",
	.method = "GET",
	.path = "/fleet.json",
	.needs = NEEDS_CALLER,
	.answers = "200 {\"runs\":[RUN],\"boxes\":[BOX],\"feed\"}",
	.run = fleet,
};
