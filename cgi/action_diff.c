/*
 * diff: what differs between a box's tree and what was delivered into it.
 */
#include "cleanup.h"
#include "json.h"
#include "looks.h"
#include "outputs.h"

struct diff_input {
	const char *sandbox_id, *session, *tree;
	int64_t wait_ms;
};

static const struct field fields[] = {
	LOOK_FIELDS(struct diff_input),
	FIELD(TEXT, struct diff_input, tree, .max = 128, .pattern = FIELD_NAME,
		.help = "Of a run with more than one: the tree's folder below /workspace.",
		.fix = "Leave it out where there is one tree."),
};

static bool diff(struct call *c, const void *input, struct err *err)
{
	const struct diff_input *in = input;
	const struct look_box box = {in->sandbox_id, in->session, in->wait_ms};
	CLEANUP(json) struct json_object *request = json_new_object();

	if (in->tree)
		json_add_text(request, "tree", in->tree);
	return call_look(c, &box, LOOK_DIFF, request, err);
}

const struct action action_diff = {
	.name = "diff",
	.summary = "What differs between a box's tree and what was synced or delivered into it.",
	.method = "GET",
	.path = "/diff.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct diff_input),
	ACTION_FIELDS(fields),
	.answers = "200 LOOK with patch (unified, as git's), patch_complete; of a sandbox also "
		   "changes: path, change (added, removed, modified, mode, kind, unreadable), "
		   "in_patch; truncated; 202 LOOK where it is not there in time",
	.run = diff,
	.tool = {.title = "See what changed",
		.description = "Show what a run (session) or the code in a sandbox "
			       "(sandbox_id) has changed, as a unified patch against what "
			       "was there at the beginning. Call it to review the work "
			       "before it is taken.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_diff},
};
