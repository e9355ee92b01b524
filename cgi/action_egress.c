/*
 * egress: what a run's box asked of the gate, and each call of the model.
 */
#include "action.h"
#include "queries.h"

struct egress {
	const char *session;
};

static const struct field fields[] = {
	FIELD(TEXT, struct egress, session, .required = true, .max = 64, .help = "The run.",
		.fix = "Name the run: session is what delegate answered."),
};

static bool egress(struct call *c, const void *input, struct err *err)
{
	const struct egress *in = input;

	c->subject = in->session;
	return call_json(c, 200, Q_READ_EGRESS,
		ARGS(db_text(in->session), db_i64(c->caller.account_id)), "run", err);
}

const struct action action_egress = {
	.name = "egress",
	.summary = "What a run's box asked of the gate and was allowed; the newest 200 of each.",
	.method = "GET",
	.path = "/egress.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct egress),
	ACTION_FIELDS(fields),
	.answers =
		"200 {\"rows\":[{\"ts\",\"route\",\"target\",\"allowed\",\"reason\",\"bytes_up\","
		"\"bytes_down\"}],\"model_calls\":[{\"ts\",\"turn\",\"path\",\"model\",\"status\","
		"\"error\",\"input_tokens\",\"output_tokens\",\"cache_read_tokens\","
		"\"cache_write_tokens\",\"ms\"}]}",
	.run = egress,
};
