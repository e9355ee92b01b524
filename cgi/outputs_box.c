/*
 * What is answered of sandboxes, of what runs in them, and of looks into boxes: SANDBOX, RESULT,
 * LOOK.
 */
#include "outputs.h"

static const struct field limits[] = {
	OUTPUT(INT, memory_bytes, .nullable = true, .help = "Memory."),
	OUTPUT(INT, cpus, .nullable = true, .help = "Processors."),
	OUTPUT(INT, disk_bytes, .nullable = true, .help = "Disk."),
	OUTPUT(INT, idle_ms, .nullable = true, .help = "Ended after this time without use."),
	OUTPUT(INT, lifetime_ms, .nullable = true, .help = "Ended after this time."),
};

static const struct field sandbox[] = {
	OUTPUT(TEXT, sandbox_id, .required = true, .help = "What the other tools take."),
	OUTPUT(TEXT, state, .required = true, .help = "Of its box."),
	OUTPUT(TEXT, status, .required = true,
		.help = "creating, ready, destroying, or destroyed once it is proved gone."),
	OUTPUT(TEXT, language, .nullable = true, .help = "What run takes."),
	OUTPUT(TEXT, network, .required = true, .help = "What it can reach, as proved."),
	OUTPUT(TEXT, isolation, .nullable = true, .help = "What separates it."),
	OUTPUT(TEXT, runtime, .nullable = true, .help = "What it runs on."),
	OUTPUT(TEXT, image, .nullable = true, .help = "What it booted from."),
	OUTPUT(TEXT, workdir, .required = true, .help = "Where code runs."),
	OUTPUT(OBJECT, limits, .required = true, OUTPUT_ROWS(limits), .help = "Its limits."),
	OUTPUT(JSON, packages, .required = true, .help = "What was asked for."),
	OUTPUT(JSON, installed, .required = true, .help = "What is there."),
	OUTPUT(JSON, seal, .nullable = true, .help = "How it was proved that it reaches nothing."),
	OUTPUT(TEXT, reason, .nullable = true, .help = "Why it failed."),
	OUTPUT(TEXT, detail, .nullable = true, .help = "More of why."),
	OUTPUT(TEXT, created_at, .nullable = true, .help = "When it was asked for."),
	OUTPUT(TEXT, ready_at, .nullable = true, .help = "When it was there."),
	OUTPUT(TEXT, used_at, .nullable = true, .help = "When it was last used."),
	OUTPUT(TEXT, expires_at, .nullable = true, .help = "When it is ended."),
	OUTPUT(TEXT, gone_at, .nullable = true, .help = "When it was proved gone."),
};
const struct output output_sandbox = {OUTPUT_ROWS(sandbox)};

#define PROCESS_ROWS                                                                               \
	OUTPUT(TEXT, sandbox_id, .required = true, .help = "Its sandbox."),                        \
		OUTPUT(TEXT, process_id, .required = true,                                         \
			.help = "What get_process_logs takes."),                                   \
		OUTPUT(TEXT, state, .required = true, .help = "queued, running, done or failed."), \
		OUTPUT(TEXT, stdout, .required = true, .help = "What it wrote."),                  \
		OUTPUT(TEXT, stderr, .required = true, .help = "What it wrote as errors."),        \
		OUTPUT(INT, exit_code, .nullable = true, .help = "Its own; null: none yet."),      \
		OUTPUT(INT, signal, .nullable = true, .help = "What ended it."),                   \
		OUTPUT(BOOL, timed_out, .nullable = true, .help = "It was killed for its time."),  \
		OUTPUT(BOOL, oom, .nullable = true, .help = "It was killed for its memory."),      \
		OUTPUT(TEXT, reason, .nullable = true, .help = "Why there is no result."),         \
		OUTPUT(TEXT, language, .nullable = true, .help = "What ran it."),                  \
		OUTPUT(BOOL, background, .nullable = true, .help = "It was not waited for."),      \
		OUTPUT(TEXT, started_at, .nullable = true, .help = "When it began."),              \
		OUTPUT(TEXT, finished_at, .nullable = true, .help = "When it ended.")

static const struct field result[] = {
	PROCESS_ROWS,
	OUTPUT(TEXT, exec, .required = true, .help = "The same as process_id."),
	OUTPUT(BOOL, success, .nullable = true, .help = "Exit code 0 in time; null while it runs."),
	OUTPUT(BOOL, truncated, .required = true, .help = "The output goes on."),
	OUTPUT(INT, duration_ms, .nullable = true, .help = "How long it ran."),
	OUTPUT(INT, timeout_ms, .nullable = true, .help = "How long it may run."),
	OUTPUT(TEXT, code_sha256, .nullable = true, .help = "Of the code that ran."),
	OUTPUT(JSON, checks, .nullable = true, .help = "What its output says of tests."),
	OUTPUT(TEXT, created_at, .nullable = true, .help = "When it was asked for."),
};
const struct output output_result = {OUTPUT_ROWS(result)};

static const struct field process[] = {
	PROCESS_ROWS,
	OUTPUT(BOOL, running, .required = true, .help = "It has not ended."),
	OUTPUT(INT, offset, .required = true, .help = "Where this piece begins."),
	OUTPUT(INT, next_offset, .required = true, .help = "Where the next one does."),
	OUTPUT(BOOL, more, .required = true, .help = "There is more already."),
};
const struct output output_process = {OUTPUT_ROWS(process)};

/* Beyond `state` a look has its members once that is done. */
#define LOOK_ROWS                                                                                  \
	OUTPUT(TEXT, look, .required = true, .help = "The look."),                                 \
		OUTPUT(TEXT, op, .required = true, .help = "What it looks for."),                  \
		OUTPUT(TEXT, state, .required = true, .help = "queued, running, done or failed."), \
		OUTPUT(TEXT, sandbox_id, .nullable = true, .help = "Of this sandbox."),            \
		OUTPUT(TEXT, session, .nullable = true, .help = "Of the box of this run."),        \
		OUTPUT(TEXT, path, .help = "Where.")

#define CUT_ROWS                                                 \
	OUTPUT(INT, skipped, .help = "What could not be read."), \
		OUTPUT(BOOL, truncated, .help = "There is more than is taken.")

static const struct field entry[] = {
	OUTPUT(TEXT, path, .required = true, .help = "Below the folder."),
	OUTPUT(TEXT, kind, .help = "file, dir, symlink or other."),
	OUTPUT(INT, size, .help = "Bytes."),
	OUTPUT(TEXT, mode, .help = "Octal."),
	OUTPUT(TEXT, modified_at, .help = "When."),
	OUTPUT(TEXT, target, .help = "Of a symlink."),
};

static const struct field list[] = {
	LOOK_ROWS,
	CUT_ROWS,
	OUTPUT(ITEMS, entries, OUTPUT_ROWS(entry), .help = "In order of their paths."),
	OUTPUT(INT, total, .help = "How many there are."),
	OUTPUT(INT, next_offset, .help = "Where the next page begins."),
};
const struct output output_list = {OUTPUT_ROWS(list)};

static const struct field read[] = {
	LOOK_ROWS,
	OUTPUT(INT, size, .help = "Of the whole file."),
	OUTPUT(TEXT, modified_at, .help = "When."),
	OUTPUT(INT, offset, .help = "Where this piece begins."),
	OUTPUT(INT, bytes, .help = "Of this piece."),
	OUTPUT(INT, next_offset, .help = "Where the next one begins, where there is one."),
	OUTPUT(BOOL, binary, .help = "It is no text."),
	OUTPUT(TEXT, encoding, .help = "text or base64."),
	OUTPUT(TEXT, content, .nullable = true, .help = "null of a binary file, unless base64."),
	OUTPUT(BOOL, changed, .help = "It changed while it was read."),
};
const struct output output_read = {OUTPUT_ROWS(read)};

static const struct field match[] = {
	OUTPUT(TEXT, path, .required = true, .help = "The file."),
	OUTPUT(INT, line, .required = true, .help = "From 1."),
	OUTPUT(INT, column, .required = true, .help = "From 1."),
	OUTPUT(TEXT, text, .required = true, .help = "The line."),
};

static const struct field search[] = {
	LOOK_ROWS,
	CUT_ROWS,
	OUTPUT(ITEMS, matches, OUTPUT_ROWS(match), .help = "What was found."),
	OUTPUT(INT, files, .help = "How many were searched."),
	OUTPUT(INT, binary, .help = "How many were passed over."),
};
const struct output output_search = {OUTPUT_ROWS(search)};

static const struct field change[] = {
	OUTPUT(TEXT, path, .required = true, .help = "The file."),
	OUTPUT(TEXT, change, .required = true,
		.help = "added, removed, modified, mode, kind or unreadable."),
	OUTPUT(BOOL, in_patch, .help = "The patch shows it."),
};

static const struct field diff[] = {
	LOOK_ROWS,
	CUT_ROWS,
	OUTPUT(ITEMS, changes, OUTPUT_ROWS(change), .help = "Of a sandbox: what changed."),
	OUTPUT(TEXT, patch, .help = "Unified, as git's."),
	OUTPUT(BOOL, patch_complete, .help = "It shows everything."),
};
const struct output output_diff = {OUTPUT_ROWS(diff)};

static const struct field get[] = {
	LOOK_ROWS,
	OUTPUT(TEXT, blob, .help = "The tar's name at GET /blob, for an hour."),
	OUTPUT(INT, size, .help = "Its bytes."),
	OUTPUT(TEXT, sha256, .help = "Its hash."),
	OUTPUT(INT, files, .help = "Files in it."),
	OUTPUT(INT, changed, .help = "Changed while they were read."),
	OUTPUT(INT, skipped, .help = "Links and whatever else is no plain file."),
};
const struct output output_get = {OUTPUT_ROWS(get)};
