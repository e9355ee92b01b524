/*
 * destroy_sandbox: ends a sandbox and all that runs in it. Twice is fine, and so is one that never
 * was. `destroyed` is said only where the box was proved to be gone.
 */
#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "outputs.h"
#include "queries.h"
#include "sandbox.h"
#include "site.h"

struct destroy_sandbox {
	const char *sandbox_id;
	int64_t wait_ms;
};

static const struct field fields[] = {
	FIELD(TEXT, struct destroy_sandbox, sandbox_id, .required = true, .max = 64,
		.help = "The sandbox.", .fix = "Name the sandbox_id that create_sandbox answered."),
	FIELD(INT, struct destroy_sandbox, wait_ms, .max = 600000,
		.help = "Wait this long until it is proved gone; 0: answer at once."),
};

static bool never_was(struct call *c, const char *name)
{
	CLEANUP(json) struct json_object *o = json_new_object();

	json_add_text(o, "sandbox_id", name);
	json_add_text(o, "status", "destroyed");
	json_add_text(o, "state", NULL);
	return call_answer(c, 200, o);
}

static bool destroy_sandbox(struct call *c, const void *input, struct err *err)
{
	const struct destroy_sandbox *in = input;
	bool known, gone;

	c->subject = in->sandbox_id;
	if (!sandbox_destroy(c->db, c->caller.account_id, in->sandbox_id, c->rq->id,
		    c->site->cfg->destroying_ms, &known, &gone, err))
		return false;
	if (!known)
		return never_was(c, in->sandbox_id);
	if (!gone && in->wait_ms) {
		call_wait(c, "end", in->sandbox_id, 0, in->wait_ms);
		return true;
	}
	return call_json(c, gone ? 200 : 202, Q_READ_SANDBOX,
		ARGS(db_text(in->sandbox_id), db_i64(c->caller.account_id)), "sandbox", err);
}

const struct action action_destroy_sandbox = {
	.name = "destroy_sandbox",
	.summary = "Destroy a sandbox and everything in it. Twice is fine.",
	.method = "POST",
	.path = "/destroy_sandbox.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct destroy_sandbox),
	ACTION_FIELDS(fields),
	.answers = "200 SANDBOX with status destroyed when it is gone; 202 while it is not yet",
	.run = destroy_sandbox,
	.tool = {.title = "Destroy a sandbox",
		.description = "Destroy a sandbox and everything in it. Call it when you "
			       "are done; files you still want must be read first with "
			       "read_file or get_files. Twice is fine.",
		.hints = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT,
		.output = &output_sandbox},
};
