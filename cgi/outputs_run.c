/*
 * What is answered of runs and of the fleet: RUN, BOX, and what watch and monitor add.
 */
#include "outputs.h"

static const struct field repo[] = {
	OUTPUT(TEXT, repo, .required = true, .help = "owner/name."),
	OUTPUT(TEXT, host, .nullable = true, .help = "The git host."),
	OUTPUT(TEXT, ref, .nullable = true, .help = "Branch, tag or commit."),
	OUTPUT(TEXT, dir, .nullable = true, .help = "Folder under /workspace."),
};

#define BOX_ROWS                                                                               \
	OUTPUT(TEXT, name, .required = true, .help = "The box."),                              \
		OUTPUT(TEXT, state, .required = true,                                          \
			.help = "creating, ready, destroying, gone or failed."),               \
		OUTPUT(TEXT, reason, .nullable = true, .help = "Why it failed."),              \
		OUTPUT(TEXT, runtime, .nullable = true, .help = "What it runs on."),           \
		OUTPUT(TEXT, isolation, .nullable = true, .help = "What separates it."),       \
		OUTPUT(TEXT, image, .nullable = true, .help = "What it booted from."),         \
		OUTPUT(TEXT, class, .nullable = true, .help = "Its size class."),              \
		OUTPUT(INT, memory_bytes, .nullable = true, .help = "Its memory."),            \
		OUTPUT(INT, cpus, .nullable = true, .help = "Its processors."),                \
		OUTPUT(INT, disk_bytes, .nullable = true, .help = "Its disk."),                \
		OUTPUT(TEXT, guest_boot_id, .nullable = true, .help = "Of its kernel."),       \
		OUTPUT(TEXT, guest_kernel, .nullable = true, .help = "Its kernel's version."), \
		OUTPUT(TEXT, created_at, .nullable = true, .help = "When it was asked for."),  \
		OUTPUT(TEXT, ready_at, .nullable = true, .help = "When it was there."),        \
		OUTPUT(TEXT, expires_at, .nullable = true, .help = "When it is ended."),       \
		OUTPUT(TEXT, gone_at, .nullable = true, .help = "When it was proved gone.")

static const struct field box[] = {BOX_ROWS};

static const struct field looked_at_box[] = {
	BOX_ROWS,
	OUTPUT(OBJECT, limits, .nullable = true, .help = "What it may have at the most."),
	OUTPUT(JSON, readback, .nullable = true,
		.help = "What the kernel said of the limits before the box was handed out."),
	OUTPUT(OBJECT, run, .nullable = true, .help = "The run whose box it is."),
};

static const struct field question[] = {
	OUTPUT(INT, id, .required = true, .help = "The question's number."),
	OUTPUT(TEXT, text, .required = true, .help = "What is asked."),
	OUTPUT(TEXT, asked_at, .nullable = true, .help = "When."),
};

static const struct field usage[] = {
	OUTPUT(NUMBER, input_tokens, .nullable = true, .help = "Tokens in."),
	OUTPUT(NUMBER, output_tokens, .nullable = true, .help = "Tokens out."),
	OUTPUT(NUMBER, cache_read_tokens, .nullable = true, .help = "Read from the cache."),
	OUTPUT(NUMBER, cache_write_tokens, .nullable = true, .help = "Written to the cache."),
	OUTPUT(NUMBER, cost_usd, .nullable = true, .help = "What the agent says it cost."),
};

static const struct field last[] = {
	OUTPUT(TEXT, kind, .required = true, .help = "say, tool, error or question."),
	OUTPUT(TEXT, text, .required = true, .help = "Its first 160 characters."),
	OUTPUT(TEXT, ts, .nullable = true, .help = "When."),
};

#define PATCH_ROWS                                                                 \
	OUTPUT(TEXT, blob, .required = true, .help = "Its name at GET /blob."),    \
		OUTPUT(INT, size_bytes, .nullable = true, .help = "Its size."),    \
		OUTPUT(INT, files, .nullable = true, .help = "Files it touches."), \
		OUTPUT(INT, added, .nullable = true, .help = "Lines added."),      \
		OUTPUT(INT, removed, .nullable = true, .help = "Lines removed.")
#define BUNDLE_ROWS                                                             \
	OUTPUT(TEXT, blob, .required = true, .help = "Its name at GET /blob."), \
		OUTPUT(INT, size_bytes, .nullable = true, .help = "Its size.")
#define TREE_ROW \
	OUTPUT(TEXT, tree, .nullable = true, .help = "Folder under /workspace that it is of.")

static const struct field patch[] = {PATCH_ROWS};
static const struct field bundle[] = {BUNDLE_ROWS};
static const struct field tree_patch[] = {PATCH_ROWS, TREE_ROW};
static const struct field tree_bundle[] = {BUNDLE_ROWS, TREE_ROW};

static const struct field file[] = {
	OUTPUT(TEXT, blob, .required = true, .help = "Its name at GET /blob."),
	OUTPUT(TEXT, name, .nullable = true, .help = "Its file name."),
	OUTPUT(INT, size_bytes, .nullable = true, .help = "Its size."),
};

#define RUN_ROWS(box_rows)                                                                         \
	OUTPUT(TEXT, session, .required = true, .help = "The run: what the other tools take."),    \
		OUTPUT(TEXT, state, .required = true,                                              \
			.help = "queued, starting, running, waiting (for an answer), idle, done, " \
				"failed, stopped or lost."),                                       \
		OUTPUT(TEXT, text, .required = true,                                               \
			.help = "run:STATE, with exit=N at the end."),                             \
		OUTPUT(INT, turn, .required = true, .help = "Its last turn."),                     \
		OUTPUT(INT, exit_code, .nullable = true, .help = "Of its program."),               \
		OUTPUT(TEXT, reason, .nullable = true, .help = "Why it failed."),                  \
		OUTPUT(TEXT, detail, .nullable = true, .help = "More of why."),                    \
		OUTPUT(TEXT, title, .nullable = true, .help = "One line."),                        \
		OUTPUT(TEXT, task, .nullable = true, .help = "What was asked for."),               \
		OUTPUT(TEXT, agent, .nullable = true, .help = "Who does it."),                     \
		OUTPUT(TEXT, source, .nullable = true, .help = "Where its tree came from."),       \
		OUTPUT(ITEMS, repos, OUTPUT_ROWS(repo), .help = "The trees that were cloned."),    \
		OUTPUT(TEXT, created_by, .nullable = true, .help = "Who asked."),                  \
		OUTPUT(OBJECT, box, .nullable = true, OUTPUT_ROWS(box_rows), .help = "Its box."),  \
		OUTPUT(OBJECT, question, .nullable = true, OUTPUT_ROWS(question),                  \
			.help = "What it waits to be told; resume answers it."),                   \
		OUTPUT(OBJECT, usage, .nullable = true, OUTPUT_ROWS(usage),                        \
			.help = "Of all its turns; null where none was reported."),                \
		OUTPUT(OBJECT, last, .nullable = true, OUTPUT_ROWS(last),                          \
			.help = "The newest line of its trace that says something."),              \
		OUTPUT(OBJECT, patch, .nullable = true, OUTPUT_ROWS(patch),                        \
			.help = "What it changed."),                                               \
		OUTPUT(OBJECT, bundle, .nullable = true, OUTPUT_ROWS(bundle),                      \
			.help = "Its commits."),                                                   \
		OUTPUT(ITEMS, files, OUTPUT_ROWS(file), .help = "Files it handed out."),           \
		OUTPUT(INT, trace_rows, .nullable = true, .help = "Rows of its trace."),           \
		OUTPUT(INT, log_bytes, .nullable = true, .help = "Bytes of its log."),             \
		OUTPUT(INT, log_lines, .nullable = true, .help = "Lines of its log."),             \
		OUTPUT(TEXT, created_at, .nullable = true, .help = "When it was asked for."),      \
		OUTPUT(TEXT, started_at, .nullable = true, .help = "When it began."),              \
		OUTPUT(TEXT, finished_at, .nullable = true, .help = "When it ended.")

static const struct field run[] = {RUN_ROWS(box)};
const struct output output_run = {OUTPUT_ROWS(run)};

static const struct field turn[] = {
	OUTPUT(INT, turn, .required = true, .help = "Its number."),
	OUTPUT(TEXT, state, .required = true, .help = "How it ended, or is."),
	OUTPUT(TEXT, reason, .nullable = true, .help = "Why it failed."),
	OUTPUT(INT, exit_code, .nullable = true, .help = "Of its program."),
	OUTPUT(TEXT, detail, .nullable = true, .help = "More of why."),
	OUTPUT(TEXT, message, .nullable = true, .help = "What it began with."),
	OUTPUT(TEXT, created_at, .nullable = true, .help = "When it was asked for."),
	OUTPUT(TEXT, started_at, .nullable = true, .help = "When it began."),
	OUTPUT(TEXT, finished_at, .nullable = true, .help = "When it ended."),
	OUTPUT(JSON, usage, .nullable = true, .help = "As the agent reported it."),
};

static const struct field answered[] = {
	OUTPUT(INT, id, .required = true, .help = "The question's number."),
	OUTPUT(TEXT, text, .required = true, .help = "What is asked."),
	OUTPUT(TEXT, asked_at, .nullable = true, .help = "When."),
	OUTPUT(TEXT, answer, .nullable = true, .help = "What was answered."),
	OUTPUT(TEXT, answered_by, .nullable = true, .help = "By whom."),
	OUTPUT(TEXT, answered_at, .nullable = true, .help = "When."),
	OUTPUT(INT, turn, .nullable = true, .help = "The turn that asked."),
};

static const struct field row[] = {
	OUTPUT(INT, seq, .required = true, .help = "Its number."),
	OUTPUT(INT, turn, .nullable = true, .help = "Its turn."),
	OUTPUT(TEXT, ts, .nullable = true, .help = "When."),
	OUTPUT(TEXT, kind, .required = true, .help = "What it tells of."),
	OUTPUT(TEXT, ref, .nullable = true, .help = "What it belongs to."),
	OUTPUT(TEXT, text, .nullable = true, .help = "What it says."),
	OUTPUT(JSON, data, .nullable = true, .help = "More of it."),
};

static const struct field watched[] = {
	RUN_ROWS(looked_at_box),
	OUTPUT(ITEMS, turns, OUTPUT_ROWS(turn), .help = "Its turns."),
	OUTPUT(ITEMS, questions, OUTPUT_ROWS(answered), .help = "What it asked."),
	OUTPUT(ITEMS, trace, OUTPUT_ROWS(row), .help = "The last rows of its trace."),
	OUTPUT(ITEMS, patches, OUTPUT_ROWS(tree_patch), .help = "The newest patch of each tree."),
	OUTPUT(ITEMS, bundles, OUTPUT_ROWS(tree_bundle),
		.help = "The newest commit bundle of each tree."),
	OUTPUT(INT, feed, .nullable = true, .help = "Where a stream goes on."),
};
const struct output output_watch = {OUTPUT_ROWS(watched)};

static const struct field monitored[] = {
	OUTPUT(OBJECT, runs, .required = true, .help = "How many, by state."),
	OUTPUT(OBJECT, boxes, .required = true, .help = "How many, by state."),
	OUTPUT(OBJECT, jobs, .required = true, .help = "How many, by state."),
	OUTPUT(ITEMS, per_box, .required = true, OUTPUT_ROWS(looked_at_box),
		.help = "Every live box."),
};
const struct output output_monitor = {OUTPUT_ROWS(monitored)};

static const struct field pooled_box[] = {
	OUTPUT(TEXT, image, .required = true, .help = "What they booted from."),
	OUTPUT(TEXT, class, .nullable = true, .help = "Their size class."),
	OUTPUT(TEXT, runtime, .nullable = true, .help = "What they run on."),
	OUTPUT(INT, pooled, .required = true, .help = "Kept ready."),
	OUTPUT(INT, creating, .required = true, .help = "Being made."),
	OUTPUT(TEXT, oldest_at, .nullable = true, .help = "The oldest of them."),
};

static const struct field last_hour[] = {
	OUTPUT(INT, claimed, .required = true, .help = "Taken from the pool."),
	OUTPUT(INT, claims_failed, .required = true, .help = "Taken, and not there after all."),
	OUTPUT(INT, cloned, .required = true, .help = "Made when they were wanted."),
};

static const struct field pool[] = {
	OUTPUT(INT, pooled, .required = true, .help = "Kept ready."),
	OUTPUT(INT, creating, .required = true, .help = "Being made."),
	OUTPUT(ITEMS, boxes, .required = true, OUTPUT_ROWS(pooled_box), .help = "By image."),
	OUTPUT(OBJECT, last_hour, .required = true, OUTPUT_ROWS(last_hour),
		.help = "How often one was there."),
};
const struct output output_pool = {OUTPUT_ROWS(pool)};
