/*
 * exec_get: an exec as it is now.
 */
#include "action.h"
#include "queries.h"

struct exec_get {
	const char *exec;
};

static const struct field fields[] = {
	FIELD(TEXT, struct exec_get, exec, .required = true, .max = 64, .help = "The exec.",
		.fix = "Name the exec: it is in the answer of POST /exec.json."),
};

static bool get(struct call *c, const void *input, struct err *err)
{
	const struct exec_get *in = input;

	c->subject = in->exec;
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
	.answers = "200 EXEC",
	.run = get,
};
