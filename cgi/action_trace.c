/*
 * trace: older rows of a run's trace, a page at a time, from the newest backwards.
 */
#include "action.h"
#include "queries.h"

struct trace {
	const char *session;
	int64_t before, limit;
};

static const struct field fields[] = {
	FIELD(TEXT, struct trace, session, .required = true, .max = 64, .help = "The run.",
		.fix = "Name the run: session is what delegate answered."),
	FIELD(INT, struct trace, before, .min = 1, .max = INT64_MAX, .value = INT64_MAX,
		.help = "Rows before this seq; absent: the newest."),
	FIELD(INT, struct trace, limit, .min = 1, .max = 500, .value = 200,
		.help = "How many rows at the most."),
};

static bool trace(struct call *c, const void *input, struct err *err)
{
	const struct trace *in = input;

	c->subject = in->session;
	return call_json(c, 200, Q_READ_TRACE,
		ARGS(db_text(in->session), db_i64(c->caller.account_id), db_i64(in->before),
			db_i64(in->limit)),
		"run", err);
}

const struct action action_trace = {
	.name = "trace",
	.summary = "Rows of a run's trace before a given one.",
	.method = "GET",
	.path = "/trace.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct trace),
	ACTION_FIELDS(fields),
	.answers =
		"200 {\"rows\":[as in watch, ascending],\"first_seq\",\"more\"}; a page ends at 1 "
		"MiB too",
	.run = trace,
};
