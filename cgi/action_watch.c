/*
 * watch: one run as it is now, all that its page shows first.
 */
#include "action.h"
#include "outputs.h"
#include "queries.h"

struct watch {
	const char *session;
};

static const struct field fields[] = {
	FIELD(TEXT, struct watch, session, .required = true, .max = 64, .help = "The run.",
		.fix = "Name the run: session is what delegate answered."),
};

static bool watch(struct call *c, const void *input, struct err *err)
{
	const struct watch *in = input;

	c->subject = in->session;
	return call_json(c, 200, Q_READ_WATCH,
		ARGS(db_text(in->session), db_i64(c->caller.account_id)), "run", err);
}

const struct action action_watch = {
	.name = "watch",
	.summary = "A run as it is now, with the last 200 rows of its trace.",
	.method = "GET",
	.path = "/watch.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct watch),
	ACTION_FIELDS(fields),
	.answers =
		"200 RUN, its `task` whole, `box` with \"limits\", \"readback\" and \"run\", and "
		"\"turns\":[{\"turn\",\"state\",\"reason\",\"exit_code\",\"detail\",\"message\","
		"\"created_at\",\"started_at\",\"finished_at\",\"usage\"}], "
		"\"questions\":[{\"id\",\"text\",\"asked_at\",\"answer\",\"answered_by\","
		"\"answered_at\",\"turn\"}], "
		"\"trace\":[{\"seq\",\"turn\",\"ts\",\"kind\",\"ref\",\"text\",\"data\"}], "
		"\"patches\":[{\"blob\",\"tree\",\"size_bytes\",\"files\",\"added\","
		"\"removed\"}] and \"bundles\":[{\"blob\",\"tree\",\"size_bytes\"}], the "
		"newest of each tree, and \"feed\"",
	.run = watch,
	.tool = {.title = "Look at a run",
		.description = "Show one run closely: its turns, questions, box and the "
			       "last rows of its trace. Call it to find out what an agent "
			       "is doing or why a run failed. To wait for a run's end call "
			       "status.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_watch},
};
