/*
 * sandboxes: those that live, newest first; or one of them, also when it has ended.
 */
#include "action.h"
#include "queries.h"

struct sandboxes {
	const char *sandbox_id;
};

static const struct field fields[] = {
	FIELD(TEXT, struct sandboxes, sandbox_id, .max = 64,
		.help = "This one alone, whatever became of it."),
};

static bool sandboxes(struct call *c, const void *input, struct err *err)
{
	const struct sandboxes *in = input;

	c->subject = in->sandbox_id;
	return call_json(c, 200, Q_READ_SANDBOXES,
		ARGS(db_i64(c->caller.account_id), db_text(in->sandbox_id)), "account", err);
}

const struct action action_sandboxes = {
	.name = "sandboxes",
	.summary = "The sandboxes that live, or one of them.",
	.method = "GET",
	.path = "/sandboxes.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct sandboxes),
	ACTION_FIELDS(fields),
	.answers = "200 `{\"sandboxes\":[SANDBOX]}`",
	.run = sandboxes,
};
