/*
 * get_files: a folder of a box as a tar.
 */
#include "cleanup.h"
#include "json.h"
#include "looks.h"
#include "outputs.h"

struct get_input {
	const char *sandbox_id, *session, *path;
	int64_t wait_ms;
};

static const struct field fields[] = {
	LOOK_FIELDS(struct get_input),
	FIELD(TEXT, struct get_input, path, .max = 4000,
		.help = "The folder: from /, or below the one that code runs in, the default."),
};

static bool get_files(struct call *c, const void *input, struct err *err)
{
	const struct get_input *in = input;
	const struct look_box box = {in->sandbox_id, in->session, in->wait_ms};
	CLEANUP(json) struct json_object *request = json_new_object();

	if (in->path)
		json_add_text(request, "path", in->path);
	return call_look(c, &box, LOOK_GET, request, err);
}

const struct action action_get_files = {
	.name = "get_files",
	.summary = "A folder of a box as a tar of plain files and folders.",
	.method = "GET",
	.path = "/get_files.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct get_input),
	ACTION_FIELDS(fields),
	.answers = "200 LOOK with blob (GET /blob?name= has the tar, for an hour), size, sha256, "
		   "files, skipped (links and whatever else is no plain file), changed (while they "
		   "were read); 413 past 10,000 entries or 256 MiB; 202 LOOK where it is not there "
		   "in time",
	.run = get_files,
	.tool = {.title = "Take files out",
		.description = "Pack a folder of a sandbox or of a run's box into a tar "
			       "that can be downloaded for an hour. Call it when somebody "
			       "wants the files themselves; to read them call read_file.",
		.hints = TOOL_IDEMPOTENT,
		.output = &output_get},
};
