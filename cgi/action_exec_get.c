/*
 * exec_get: an exec as it is now, or at its end.
 */
#include "action.h"
#include "queries.h"

struct exec_get {
	const char *exec;
	int64_t wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct exec_get, exec, .required = true, .max = 64, .help = "The exec.",
		.fix = "Name the exec: it is in the answer of POST /exec.json."),
	FIELD(INT, struct exec_get, wait_ms, .max = 600000,
		.help = "Wait this long for its end; 0: answer at once."),
};

static bool get(struct call *c, const void *input, struct err *err)
{
	const struct exec_get *in = input;

	c->subject = in->exec;
	if (in->wait_ms)
		call_wait_read(c, "exec", in->exec, in->wait_ms);
	return call_json(c, 200, Q_READ_EXEC, ARGS(db_text(in->exec), db_i64(c->caller.account_id)),
		"exec", err);
}

const struct action action_exec_get = {
	.name = "exec_get",
	.summary = "An exec as it is now, with what it has written.",
	.method = "GET",
	.path = "/exec.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct exec_get),
	ACTION_FIELDS(fields),
	.answers =
		"200 EXEC; with wait_ms 200 EXEC when it has ended, or 202 EXEC where it has not",
	.run = get,
};
