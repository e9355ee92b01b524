/*
 * sandboxes: those that live, newest first; or one of them, also when it has ended.
 */
#include "action.h"
#include "queries.h"

struct sandboxes {
	const char *sandbox_id;
	int64_t wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct sandboxes, sandbox_id, .max = 64, .pattern = FIELD_NAME,
		.help = "This one alone, whatever became of it."),
	FIELD(INT, struct sandboxes, wait_ms, .max = 600000,
		.help = "Of one: wait this long until it is made, or has failed; 0: answer at "
			"once."),
};

static bool sandboxes(struct call *c, const void *input, struct err *err)
{
	const struct sandboxes *in = input;

	c->subject = in->sandbox_id;
	if (in->wait_ms && !in->sandbox_id)
		return err_set(
			err, ERR_INVALID, "wait_ms: is for one sandbox; name its sandbox_id");
	if (in->wait_ms)
		call_wait_read(c, "box", in->sandbox_id, in->wait_ms);
	return call_json(c, 200, Q_READ_SANDBOXES,
		ARGS(db_text(in->sandbox_id), db_i64(c->caller.account_id)), "account", err);
}

const struct action action_sandboxes = {
	.name = "sandboxes",
	.summary = "The sandboxes that live, or one of them.",
	.method = "GET",
	.path = "/sandboxes.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct sandboxes),
	ACTION_FIELDS(fields),
	.answers =
		"200 `{\"sandboxes\":[SANDBOX]}`; with wait_ms once it is made or has failed, or "
		"202 where it is not yet, 404 where there is none",
	.run = sandboxes,
};
