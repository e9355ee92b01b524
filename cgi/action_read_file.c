/*
 * read_file: a piece of a file of a box.
 */
#include "cleanup.h"
#include "json.h"
#include "looks.h"
#include "outputs.h"

struct read_input {
	const char *sandbox_id, *session, *path, *encoding;
	int64_t wait_ms, offset, max_bytes;
};

static const char *const encodings[] = {"text", "base64", NULL};

static const struct field fields[] = {
	LOOK_FIELDS(struct read_input),
	FIELD(TEXT, struct read_input, path, .required = true, .max = 4000,
		.help = "The file: from /, or below the folder that code runs in.",
		.fix = "Name the file: list_files says what is there."),
	FIELD(INT, struct read_input, offset, .max = INT64_C(1) << 50,
		.help = "The byte to begin with: next_offset of the answer before."),
	FIELD(INT, struct read_input, max_bytes, .min = 1, .max = 262144, .value = 65536,
		.help = "Bytes at the most."),
	FIELD(WORD, struct read_input, encoding, .words = encodings, .text = "text",
		.help = "base64: any bytes; text: none of a binary file."),
};

static bool read_file(struct call *c, const void *input, struct err *err)
{
	const struct read_input *in = input;
	const struct look_box box = {in->sandbox_id, in->session, in->wait_ms};
	CLEANUP(json) struct json_object *request = json_new_object();

	json_add_text(request, "path", in->path);
	json_add_i64(request, "offset", in->offset);
	json_add_i64(request, "max_bytes", in->max_bytes);
	json_add_text(request, "encoding", in->encoding);
	return call_look(c, &box, LOOK_READ, request, err);
}

const struct action action_read_file = {
	.name = "read_file",
	.summary = "A piece of a file of a box; nothing is run there.",
	.method = "GET",
	.path = "/read_file.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct read_input),
	ACTION_FIELDS(fields),
	.answers = "200 LOOK with size, modified_at, offset, bytes, next_offset (there is more), "
		   "binary, encoding, content (null of a binary file, unless base64), changed "
		   "(while it was read); 202 LOOK where it is not there in time",
	.run = read_file,
	.tool = {.title = "Read a file of a box",
		.description = "Read a piece of a file of a sandbox (sandbox_id) or of a "
			       "run's box (session) without running anything there. Go on "
			       "with offset=next_offset; a binary file is read with "
			       "encoding=base64.",
		.hints = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
		.bound = "max_bytes",
		.bound_value = 6000,
		.output = &output_read},
};
