/*
 * processes: what was run in a sandbox, newest first, without its output, which exec_get and log
 * have. Looking at it is no use of the sandbox: a page that shows it does not keep it alive.
 */
#include "action.h"
#include "queries.h"

struct processes {
	const char *sandbox_id;
	int64_t limit;
};

static const struct field fields[] = {
	FIELD(TEXT, struct processes, sandbox_id, .required = true, .max = 64,
		.pattern = FIELD_NAME, .help = "The sandbox, whatever became of it.",
		.fix = "Name the sandbox_id that create_sandbox answered."),
	FIELD(INT, struct processes, limit, .min = 1, .max = 200, .value = 50,
		.help = "At most this many, the newest."),
};

static bool processes(struct call *c, const void *input, struct err *err)
{
	const struct processes *in = input;

	c->subject = in->sandbox_id;
	return call_json(c, 200, Q_SANDBOX_PROCESSES,
		ARGS(db_text(in->sandbox_id), db_i64(c->caller.account_id), db_i64(in->limit)),
		"sandbox", err);
}

const struct action action_processes = {
	.name = "processes",
	.summary = "What was run in a sandbox, newest first.",
	.method = "GET",
	.path = "/processes.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct processes),
	ACTION_FIELDS(fields),
	.answers = "200 `{\"sandbox\":SANDBOX,\"total\",\"processes\":[{\"process_id\",\"state\","
		   "\"exit_code\",\"signal\",\"timed_out\",\"oom\",\"reason\",\"language\","
		   "\"background\",\"checks\",\"code\",\"code_bytes\",\"files\",\"duration_ms\","
		   "\"receipt\",\"created_at\",\"started_at\",\"finished_at\"}]}`; `code` is its "
		   "first 8,000 characters, `files` the names that were given with it, `receipt` "
		   "whether it is signed",
	.run = processes,
};
