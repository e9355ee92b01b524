/*
 * What is said of runs. Questions, titles and lines of a trace are the agent's words: each of their
 * lines is marked as quoted, so that none of them can pass for one of ours.
 */
#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "mcp_text.h"
#include "text.h"

#define TRACE_ROWS 30 /* of watch: what the last of them say is what matters */
#define TRACE_LINE 300

static const char *text_of(struct json_object *o, const char *key)
{
	const char *s = "";

	(void)json_get_text(o, key, &s);
	return s;
}

/* Adds at most max bytes of s, every line behind "> ". */
static void add_quoted(struct buf *b, const char *s, size_t max)
{
	size_t n = strlen(s);

	if (n > max)
		for (n = max; n && ((unsigned char)s[n] & 0xc0) == 0x80; n--)
			;
	while (n) {
		const char *end = memchr(s, '\n', n);
		const size_t line = end ? (size_t)(end - s) : n, step = end ? line + 1 : line;

		(void)buf_adds(b, "> ");
		text_add_sane(b, s, line);
		(void)buf_addc(b, '\n');
		s += step;
		n -= step;
	}
}

static void add_member(struct mcp_text *t, struct json_object *run, const char *key)
{
	const char *s = text_of(run, key);

	if (!*s)
		return;
	(void)buf_addf(&t->body, "%s:\n", key);
	add_quoted(&t->body, s, TRACE_LINE);
}

static void say_question(struct mcp_text *t, struct json_object *question)
{
	const char *s = text_of(question, "text");

	if (!*s)
		return;
	(void)buf_adds(&t->body, "The agent asks:\n");
	add_quoted(&t->body, s, MCP_QUESTION_MAX);
}

static void say_results(struct mcp_text *t, struct json_object *run)
{
	struct json_object *patch = json_get(run, "patch"), *files = json_get(run, "files");
	int64_t n = 0, added = 0, removed = 0;

	if (json_get_i64(patch, "files", &n) && json_get_i64(patch, "added", &added) &&
		json_get_i64(patch, "removed", &removed))
		(void)buf_addf(&t->body,
			"patch: %" PRId64 " files, +%" PRId64 " -%" PRId64 " lines\n", n, added,
			removed);
	else if (patch)
		(void)buf_adds(&t->body, "patch: there is one\n");
	for (size_t i = 0; i < json_count(files) && i < 20; i++) {
		(void)buf_adds(&t->body, "file:\n");
		add_quoted(&t->body, text_of(json_at(files, i), "name"), TRACE_LINE);
	}
}

static void say_next(struct mcp_text *t, struct json_object *run, const char *session)
{
	const char *state = text_of(run, "state");
	int64_t question = 0;

	if (!strcmp(state, "waiting")) {
		(void)json_get_i64(json_get(run, "question"), "id", &question);
		(void)buf_addf(&t->next,
			"The run stands still until its question is answered. Answer it yourself "
			"where the task or this conversation already says the answer; else ask the "
			"person, with a question tool of yours where you have one, and pass their "
			"answer on as they gave it. Do not end your turn while the run waits, and "
			"do not begin another run in its place. Call resume with session=%s "
			"question=%" PRId64 " message=ANSWER.",
			session, question);
	} else if (!strcmp(state, "done")) {
		(void)buf_addf(&t->next,
			"Look at what it did: call %s with session=%s; call teardown with it when "
			"nothing more is wanted.",
			json_get(run, "patch") ? "diff" : "watch", session);
	} else if (!strcmp(state, "failed")) {
		(void)buf_addf(&t->next, "Find out why: call watch with session=%s.", session);
	} else if (!strcmp(state, "stopped") || !strcmp(state, "lost")) {
		(void)buf_adds(&t->next, "Call delegate again if it is still wanted.");
	} else {
		(void)buf_addf(&t->next,
			"It goes on by itself: call status with session=%s now, to wait for it.",
			session);
	}
}

static void say_state(struct mcp_text *t, struct json_object *run)
{
	const char *text = text_of(run, "text");

	(void)buf_addf(
		&t->state, "%s session=%s", *text ? text : "run:unknown", text_of(run, "session"));
}

void mcp_say_run(struct mcp_text *t, struct json_object *run)
{
	say_state(t, run);
	say_question(t, json_get(run, "question"));
	add_member(t, run, "title");
	add_member(t, run, "reason");
	add_member(t, run, "detail");
	say_results(t, run);
	if (json_get(run, "last")) {
		(void)buf_adds(&t->body, "last line:\n");
		add_quoted(&t->body, text_of(json_get(run, "last"), "text"), TRACE_LINE);
	}
	say_next(t, run, text_of(run, "session"));
}

void mcp_text_say_repeat(struct mcp_text *t, struct json_object *run)
{
	(void)buf_addf(&t->state, " (an earlier run, begun at %s)", text_of(run, "created_at"));
	(void)buf_adds(&t->next,
		" No new run was begun: the same call began this one before. To have the task "
		"done once more call delegate with another title.");
}

void mcp_say_watch(struct mcp_text *t, struct json_object *run)
{
	struct json_object *rows = json_get(run, "trace");
	const size_t n = json_count(rows);

	mcp_say_run(t, run);
	if (!n)
		return;
	(void)buf_adds(&t->body, "its trace, the newest last:\n");
	for (size_t i = n > TRACE_ROWS ? n - TRACE_ROWS : 0; i < n; i++) {
		struct json_object *row = json_at(rows, i);

		(void)buf_addf(&t->body, "%s:\n", text_of(row, "kind"));
		add_quoted(&t->body, text_of(row, "text"), TRACE_LINE);
	}
}

/* "running=1 waiting=2" */
static void add_counts(struct buf *b, const char *what, struct json_object *counts)
{
	const char *key;

	(void)buf_addf(b, "%s:", what);
	for (size_t i = 0; (key = json_key_at(counts, i)); i++) {
		int64_t n = 0;

		(void)json_get_i64(counts, key, &n);
		(void)buf_addf(b, " %s=%" PRId64, key, n);
	}
	(void)buf_adds(b, json_key_at(counts, 0) ? "\n" : " none\n");
}

void mcp_say_monitor(struct mcp_text *t, struct json_object *monitor)
{
	struct json_object *boxes = json_get(monitor, "per_box");
	const char *waits = NULL;

	(void)buf_addf(&t->state, "site:up live_boxes=%zu", json_count(boxes));
	add_counts(&t->body, "runs", json_get(monitor, "runs"));
	add_counts(&t->body, "boxes", json_get(monitor, "boxes"));
	add_counts(&t->body, "jobs", json_get(monitor, "jobs"));
	for (size_t i = 0; i < json_count(boxes); i++) {
		struct json_object *box = json_at(boxes, i), *run = json_get(box, "run");

		(void)buf_addf(&t->body, "%s %s", text_of(box, "name"), text_of(box, "state"));
		if (!run) {
			(void)buf_addc(&t->body, '\n');
			continue;
		}
		(void)buf_addf(&t->body, " session=%s run:%s\n", text_of(run, "session"),
			text_of(run, "state"));
		add_quoted(&t->body, text_of(run, "title"), TRACE_LINE);
		if (!strcmp(text_of(run, "state"), "waiting"))
			waits = text_of(run, "session");
	}
	if (waits)
		(void)buf_addf(&t->next,
			"A run waits for an answer: call status with session=%s to read its "
			"question.",
			waits);
	else
		(void)buf_adds(&t->next, "Call status with a session to wait for a run.");
}
