/*
 * get_process_logs: what a process of a sandbox has written, from an offset on. Of a run in the
 * background it is the way to see anything; of any other the way to what was cut.
 */
#include "action.h"
#include "outputs.h"
#include "queries.h"

struct process_logs {
	const char *sandbox_id, *process_id;
	int64_t offset;
};

static const struct field fields[] = {
	FIELD(TEXT, struct process_logs, sandbox_id, .required = true, .max = 64,
		.help = "The sandbox.", .fix = "Name the sandbox_id that create_sandbox answered."),
	FIELD(TEXT, struct process_logs, process_id, .required = true, .max = 64,
		.help = "The process.", .fix = "Name the process_id that run answered."),
	FIELD(INT, struct process_logs, offset, .max = INT64_MAX,
		.help = "Bytes to leave out from the beginning: next_offset of the last answer."),
};

static bool get_process_logs(struct call *c, const void *input, struct err *err)
{
	const struct process_logs *in = input;
	const struct db_arg sandbox[] = {
		db_i64(c->caller.account_id), db_text(in->sandbox_id), db_bool(false)};

	c->subject = in->process_id;
	/* whoever reads is using it */
	if (!db_query(c->db, Q_SANDBOX_USE, sandbox, 3, NULL, err))
		return false;
	if (call_json(c, 200, Q_SANDBOX_PROCESS,
		    ARGS(sandbox[0], sandbox[1], db_text(in->process_id), db_i64(in->offset)),
		    "process in this sandbox", err))
		return true;
	return err_advise(err, NULL,
		err->code == ERR_NOT_FOUND
			? "Use the process_id that run answered, with its sandbox_id."
			: NULL);
}

const struct action action_get_process_logs = {
	.name = "get_process_logs",
	.summary = "Read what a process in a sandbox has printed so far.",
	.method = "GET",
	.path = "/get_process_logs.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct process_logs),
	ACTION_FIELDS(fields),
	.answers = "200 `{\"sandbox_id\",\"process_id\",\"state\",\"running\",\"stdout\","
		   "\"stderr\",\"offset\",\"next_offset\",\"more\",\"exit_code\",...}`, at most "
		   "64 KiB from offset on",
	.run = get_process_logs,
	.tool = {.title = "Read a process's output",
		.description = "Read what a process in a sandbox has written so far, from a "
			       "byte offset on, and whether it still runs. Call it after "
			       "run answered with a process_id that still runs, or to read "
			       "more of a long output: go on with offset=next_offset.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_process},
};
