/*
 * search_files: where a text stands in the files of a box.
 */
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "looks.h"
#include "outputs.h"

struct search_input {
	const char *sandbox_id, *session, *path, *text;
	int64_t wait_ms, limit;
	bool ignore_case;
};

static const struct field fields[] = {
	LOOK_FIELDS(struct search_input),
	FIELD(TEXT, struct search_input, text, .required = true, .max = 1024,
		.help = "What to look for: these very bytes, within a line.",
		.fix = "Say what to look for."),
	FIELD(TEXT, struct search_input, path, .max = 4000,
		.help = "The folder: from /, or below the one that code runs in, the default."),
	FIELD(BOOL, struct search_input, ignore_case, .help = "Upper and lower case are the same."),
	FIELD(INT, struct search_input, limit, .min = 1, .max = 1000, .value = 200,
		.help = "Lines at the most."),
};

static bool search_files(struct call *c, const void *input, struct err *err)
{
	const struct search_input *in = input;
	const struct look_box box = {in->sandbox_id, in->session, in->wait_ms};
	CLEANUP(json) struct json_object *request = json_new_object();

	if (strchr(in->text, '\n')) {
		(void)err_set(err, ERR_INVALID, "text: is looked for within a line");
		return err_advise(err, "field", "Leave the line end out.");
	}
	if (in->path)
		json_add_text(request, "path", in->path);
	json_add_text(request, "text", in->text);
	json_add_bool(request, "ignore_case", in->ignore_case);
	json_add_i64(request, "limit", in->limit);
	return call_look(c, &box, LOOK_SEARCH, request, err);
}

const struct action action_search_files = {
	.name = "search_files",
	.summary = "Where a text stands in the files of a box; nothing is run there.",
	.method = "GET",
	.path = "/search_files.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct search_input),
	ACTION_FIELDS(fields),
	.answers = "200 LOOK with matches: path, line, column, text (cut to 400 bytes); files "
		   "(searched), binary (passed over, as .git is), skipped, truncated; 202 LOOK "
		   "where it is not there in time",
	.run = search_files,
	.tool = {.title = "Search files of a box",
		.description = "Find a text in the files of a sandbox (sandbox_id) or of a "
			       "run's box (session): path, line and column of each match. "
			       "Call it before reading whole files.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.output = &output_search},
};
