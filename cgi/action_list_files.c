/*
 * list_files: what lies in a folder of a box.
 */
#include "cleanup.h"
#include "json.h"
#include "looks.h"
#include "outputs.h"

struct list_input {
	const char *sandbox_id, *session, *path;
	int64_t wait_ms, depth, offset, limit;
};

static const struct field fields[] = {
	LOOK_FIELDS(struct list_input),
	FIELD(TEXT, struct list_input, path, .max = 4000,
		.help = "The folder: from /, or below the one that code runs in, the default."),
	FIELD(INT, struct list_input, depth, .min = 1, .max = 64, .value = 1,
		.help = "How many levels; 1: the folder alone."),
	FIELD(INT, struct list_input, offset, .max = 10000,
		.help = "Entries to pass over: next_offset of the answer before."),
	FIELD(INT, struct list_input, limit, .min = 1, .max = 1000, .value = 200,
		.help = "Entries at the most."),
};

static bool list_files(struct call *c, const void *input, struct err *err)
{
	const struct list_input *in = input;
	const struct look_box box = {in->sandbox_id, in->session, in->wait_ms};
	CLEANUP(json) struct json_object *request = json_new_object();

	if (in->path)
		json_add_text(request, "path", in->path);
	json_add_i64(request, "depth", in->depth);
	json_add_i64(request, "offset", in->offset);
	json_add_i64(request, "limit", in->limit);
	return call_look(c, &box, LOOK_LIST, request, err);
}

const struct action action_list_files = {
	.name = "list_files",
	.summary = "What lies in a folder of a box; nothing is run there.",
	.method = "GET",
	.path = "/list_files.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct list_input),
	ACTION_FIELDS(fields),
	.answers = "200 LOOK with entries: path, kind (file, dir, symlink, other), size, mode, "
		   "modified_at, target, in order of their paths; total, next_offset, skipped, "
		   "truncated (there are more than 10,000); 202 LOOK where it is not there in time",
	.run = list_files,
	.tool = {.title = "List files of a box",
		.description = "List a folder of a sandbox (sandbox_id) or of a run's box "
			       "(session) without running anything there. Give one of the "
			       "two. Go on with offset=next_offset where there is more.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_list},
};
