/*
 * teardown: ends a run and destroys its box; its work is saved first. Twice is fine.
 */
#include "action.h"
#include "config.h"
#include "outputs.h"
#include "queries.h"
#include "run.h"
#include "site.h"

struct teardown {
	const char *session;
};

static const struct field fields[] = {
	FIELD(TEXT, struct teardown, session, .required = true, .max = 64, .help = "The run.",
		.fix = "Name the run: session is what delegate answered."),
};

static bool teardown(struct call *c, const void *input, struct err *err)
{
	const struct teardown *in = input;
	int64_t run_id;

	c->subject = in->session;
	if (!run_teardown(c->db, c->caller.account_id, in->session, c->rq->id,
		    c->site->cfg->destroying_ms, &run_id, err))
		return false;
	return call_json(c, 202, Q_READ_RUN,
		ARGS(db_text(in->session), db_i64(c->caller.account_id)), "run", err);
}

const struct action action_teardown = {
	.name = "teardown",
	.summary = "End a run and destroy its box, saving its work first.",
	.method = "POST",
	.path = "/teardown.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct teardown),
	ACTION_FIELDS(fields),
	.answers = "202 RUN, also when it has ended already",
	.run = teardown,
	.tool = {.title = "End a run",
		.description = "End a run and destroy its box; what it changed is saved as "
			       "a patch first. Call it when the run's work has been taken "
			       "or is not wanted any more. A run that still works is "
			       "stopped by it. Twice is fine.",
		.hints = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT,
		.output = &output_run},
};
