/*
 * monitor: counts by state, and the live boxes.
 */
#include "action.h"
#include "outputs.h"
#include "queries.h"

static bool monitor(struct call *c, const void *input, struct err *err)
{
	(void)input;
	return call_json(
		c, 200, Q_READ_MONITOR, ARGS(db_i64(c->caller.account_id)), "account", err);
}

const struct action action_monitor = {
	.name = "monitor",
	.summary = "Counts of runs, boxes and jobs by state, and every live box.",
	.method = "GET",
	.path = "/monitor.json",
	.needs = NEEDS_CALLER,
	.answers = "200 {\"runs\",\"boxes\",\"jobs\",\"per_box\":[BOX with \"limits\", "
		   "\"readback\" and "
		   "\"run\":{\"session\",\"title\",\"state\"}]}",
	.run = monitor,
	.tool = {.title = "Look at the fleet",
		.description = "Count runs, boxes and jobs by state and list every live box "
			       "with its limits. Call it when asked what is going on here "
			       "or what is left running; for one run call watch.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_monitor},
};
