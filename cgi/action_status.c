/*
 * status: a run as it is now, or at its next boundary. The state is that of its last turn, so what
 * was answered or followed up before is never taken for the boundary.
 */
#include "action.h"
#include "outputs.h"
#include "queries.h"

struct status {
	const char *session;
	int64_t wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct status, session, .required = true, .max = 64, .help = "The run.",
		.fix = "Name the run: session is what delegate answered."),
	FIELD(INT, struct status, wait_ms, .max = 600000,
		.help = "Wait this long for the run's end or its question; 0: answer at once."),
};

static bool status(struct call *c, const void *input, struct err *err)
{
	const struct status *in = input;

	c->subject = in->session;
	if (in->wait_ms)
		call_wait(c, "run", in->session, 0, in->wait_ms);
	return call_json(c, 200, Q_READ_RUN,
		ARGS(db_text(in->session), db_i64(c->caller.account_id)), "run", err);
}

const struct action action_status = {
	.name = "status",
	.summary = "A run as it is now, or as soon as it has ended or asks.",
	.method = "GET",
	.path = "/status.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct status),
	ACTION_FIELDS(fields),
	.answers = "200 RUN; with wait_ms 200 RUN at its end or question, or 202 RUN where it "
		   "still goes on",
	.run = status,
	.tool = {.title = "Wait for a run",
		.description = "Wait for a run that delegate began. Call it with the session "
			       "whenever an answer said run:running, run:queued or "
			       "run:starting, again and again until the run has ended or "
			       "asks: it answers at once with run:done, run:failed or "
			       "run:waiting, and otherwise after about 50 s with how far it "
			       "is. run:waiting brings a question: answer it with resume. "
			       "To see what a run is doing call watch.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.asks = true,
		.output = &output_run},
};
