/*
 * pool_status: the boxes that are kept ahead, and how often one was there when it was wanted.
 */
#include "action.h"
#include "outputs.h"
#include "queries.h"

static bool pool_status(struct call *c, const void *input, struct err *err)
{
	(void)input;
	return call_json(c, 200, Q_READ_POOL, NO_ARGS, "pool", err);
}

const struct action action_pool_status = {
	.name = "pool_status",
	.summary =
		"The boxes that are kept ahead, paused and nobody's, and how often one was there "
		"when it was wanted.",
	.method = "GET",
	.path = "/pool_status.json",
	.needs = NEEDS_CALLER,
	.answers = "200 {\"pooled\",\"creating\",\"boxes\":[{\"image\",\"class\",\"runtime\","
		   "\"pooled\",\"creating\",\"oldest_at\"}],\"last_hour\":{\"claimed\","
		   "\"claims_failed\",\"cloned\"}}",
	.run = pool_status,
	.tool = {.title = "Look at the pool",
		.description = "Say how many boxes are kept ready ahead and how often one "
			       "was there when it was wanted. Call it when sandboxes or "
			       "runs start slowly.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_pool},
};
