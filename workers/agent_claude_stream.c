/*
 * Claude Code's stream-json, a line at a time, into trace rows and facts. Key order varies, types
 * and members come and go with its versions: whatever is not known is kept, raw and cut, and said
 * nothing about. Nothing here trusts a length, a type or an order.
 */
#include "agent_claude.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "trace.h"

#define RAW_MAX 8192	/* kept of an event that is not understood */
#define UNKNOWN_MAX 200 /* of them are shown; all are in the log */
#define BLOCKS_MAX 64	/* of one message */

/* The code of an escape \uXXXX at s; -1: it is not one. */
static long escape_code(const char *s, size_t n)
{
	char hex[5] = {0};

	if (n < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	memcpy(hex, s + 2, 4);
	return strspn(hex, "0123456789abcdefABCDEF") == 4 ? strtol(hex, NULL, 16) : -1;
}

/* Escapes that no row can hold, \u0000 and halves of a surrogate pair (text that was cut within
 * one), become \ufffd; each as long as it was. */
static void escapes_mend(char *s, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		long code, next;

		if (s[i] != '\\')
			continue;
		code = escape_code(s + i, n - i);
		next = n - i > 6 ? escape_code(s + i + 6, n - i - 6) : -1;
		if (code >= 0xd800 && code <= 0xdbff && next >= 0xdc00 && next <= 0xdfff)
			i += 10;
		else if (code == 0 || (code >= 0xd800 && code <= 0xdfff))
			memcpy(s + i, "\\ufffd", 6);
		i++;
	}
}

static void unknown_row(
	struct agent_reader *c, const char *what, const char *raw, size_t n, struct trace *trace)
{
	CLEANUP(buf) struct buf data = BUF_INIT(8 * RAW_MAX);
	char text[120];

	if (c->unknown++ >= UNKNOWN_MAX)
		return;
	(void)buf_adds(&data, "{\"event\":");
	json_add_quoted(&data, raw, n < RAW_MAX ? n : RAW_MAX);
	(void)buf_addc(&data, '}');
	(void)snprintf(text, sizeof(text), "%s%s", what,
		c->unknown == UNKNOWN_MAX ? " (the last of its kind that is shown)" : "");
	trace_add(trace, TRACE_SYSTEM, NULL, text, strlen(text), data.data);
}

/* text and thinking */
static void said_row(
	enum trace_kind kind, const char *text, const char *parent, struct trace *trace)
{
	CLEANUP(buf) struct buf data = BUF_INIT(512);

	(void)buf_addc(&data, '{');
	claude_add_parent(&data, parent);
	(void)buf_addc(&data, '}');
	if (text[strspn(text, " \t\r\n")])
		trace_add(trace, kind, NULL, text, strlen(text), data.data);
}

/* What the agent says in the model's place when the model did not answer. */
static void api_error_row(struct agent_reader *c, struct json_object *event,
	struct json_object *content, struct trace *trace)
{
	const char *text = "the model did not answer";
	int64_t status = 0;
	char data[96];

	(void)json_get_text(json_at(content, 0), "text", &text);
	(void)json_get_i64(event, "api_error_status", &status);
	(void)snprintf(
		data, sizeof(data), "{\"kind\":\"api_error\",\"status\":%lld}", (long long)status);
	c->said_api_error = true;
	trace_add(trace, TRACE_ERROR, NULL, text, strlen(text), data);
}

static void assistant(
	struct agent_reader *c, struct json_object *event, int64_t now_ms, struct trace *trace)
{
	struct json_object *message = json_get(event, "message");
	struct json_object *content = json_get(message, "content");
	const char *parent = NULL, *model, *error;
	bool is_error = false;

	c->facts.working = true;
	(void)json_get_text(event, "parent_tool_use_id", &parent);
	(void)json_get_bool(event, "is_api_error_message", &is_error);
	if (is_error || json_get_text(event, "error", &error)) {
		api_error_row(c, event, content, trace);
		return;
	}
	if (!parent && json_get_text(message, "model", &model) && model[0] != '<')
		(void)snprintf(c->model, sizeof(c->model), "%s", model);
	for (size_t i = 0; i < json_count(content) && i < BLOCKS_MAX; i++) {
		struct json_object *block = json_at(content, i);
		const char *type = "", *text = "";

		(void)json_get_text(block, "type", &type);
		if (!strcmp(type, "text") && json_get_text(block, "text", &text))
			said_row(TRACE_SAY, text, parent, trace);
		else if (!strcmp(type, "thinking") && json_get_text(block, "thinking", &text))
			said_row(TRACE_THINKING, text, parent, trace);
		else if (!strcmp(type, "tool_use"))
			claude_tool_use(c, block, parent, now_ms, trace);
	}
}

static void user(
	struct agent_reader *c, struct json_object *event, int64_t now_ms, struct trace *trace)
{
	struct json_object *content = json_get(json_get(event, "message"), "content");
	const char *parent = NULL;

	c->facts.working = true;
	(void)json_get_text(event, "parent_tool_use_id", &parent);
	for (size_t i = 0; i < json_count(content) && i < BLOCKS_MAX; i++) {
		struct json_object *block = json_at(content, i);
		const char *type = "";

		/* text is what it is told: by us, or by itself */
		(void)json_get_text(block, "type", &type);
		if (!strcmp(type, "tool_result"))
			claude_tool_result(c, block, parent, now_ms, trace);
	}
}

static void init(struct agent_reader *c, struct json_object *event, struct trace *trace)
{
	CLEANUP(buf) struct buf text = BUF_INIT(512);
	CLEANUP(buf) struct buf data = BUF_INIT(2048);
	const char *version = "", *model = "";

	c->facts.begun++;
	c->facts.working = true;
	(void)json_get_text(event, "claude_code_version", &version);
	(void)json_get_text(event, "model", &model);
	(void)snprintf(c->model, sizeof(c->model), "%s", model);
	/* said again with each message; once is enough */
	if (c->facts.begun > 1)
		return;
	(void)buf_addf(&text, "Claude Code %.40s, model %.80s", version, model);
	(void)buf_adds(&data, "{\"version\":");
	json_add_quoted(&data, version, strnlen(version, 40));
	(void)buf_adds(&data, ",\"model\":");
	json_add_quoted(&data, model, strnlen(model, 80));
	(void)buf_addc(&data, '}');
	trace_add(trace, TRACE_SYSTEM, NULL, text.data, text.len, data.data);
}

static void notice(struct json_object *event, struct trace *trace)
{
	const char *text = "", *tag = "";

	(void)json_get_text(event, "content", &text);
	(void)json_get_text(event, "tag", &tag);
	/* a hook that says nothing lets the tool run: somebody must know */
	if (!strcmp(tag, "hook_no_verdict"))
		trace_add(trace, TRACE_ERROR, NULL, text, strlen(text),
			"{\"kind\":\"hook_no_verdict\"}");
	else if (*text)
		trace_add(trace, TRACE_SYSTEM, NULL, text, strlen(text), NULL);
}

/* A task beside the main loop has ended. */
static void task_end(struct json_object *event, struct trace *trace)
{
	const char *id = NULL, *status = "ended", *summary = "";
	CLEANUP(buf) struct buf text = BUF_INIT(16384);

	(void)json_get_text(event, "tool_use_id", &id);
	(void)json_get_text(event, "status", &status);
	(void)json_get_text(event, "summary", &summary);
	(void)buf_addf(&text, "task %.40s: %.8000s", status, summary);
	trace_add(trace, TRACE_SYSTEM, id, text.data, text.len, "{\"kind\":\"task\"}");
}

/* Known, and of no use to who reads a trace. */
static bool is_quiet(const char *type, const char *subtype)
{
	static const char *const types[] = {"stream_event", "tool_progress", "command_lifecycle",
		"control_request", "control_response", "control_cancel_request"};
	static const char *const subtypes[] = {"status", "thinking_tokens", "session_title_changed",
		"ui_invalidate", "hook_started", "hook_response", "task_started", "task_progress",
		"task_updated", "permission_denied"};

	if (!strcmp(type, "system")) {
		for (size_t i = 0; i < sizeof(subtypes) / sizeof(subtypes[0]); i++)
			if (!strcmp(subtype, subtypes[i]))
				return true;
		return false;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

static bool system_event(
	struct agent_reader *c, const char *subtype, struct json_object *event, struct trace *trace)
{
	if (!strcmp(subtype, "init"))
		init(c, event, trace);
	else if (!strcmp(subtype, "api_retry"))
		claude_retry(c, event, trace);
	else if (!strcmp(subtype, "background_tasks_changed"))
		c->facts.background = (int64_t)json_count(json_get(event, "tasks"));
	else if (!strcmp(subtype, "informational"))
		notice(event, trace);
	else if (!strcmp(subtype, "task_notification"))
		task_end(event, trace);
	else
		return false;
	return true;
}

static void event_take(
	struct agent_reader *c, char *line, size_t n, int64_t now_ms, struct trace *trace)
{
	CLEANUP(json) struct json_object *event = NULL;
	const char *type = "", *subtype = "";
	struct err err;
	char what[100];

	if (strspn(line, " \t\r") == n)
		return;
	escapes_mend(line, n);
	if (!json_parse(line, n, &event, &err)) {
		unknown_row(c, "not an event", line, n, trace);
		return;
	}
	(void)json_get_text(event, "type", &type);
	(void)json_get_text(event, "subtype", &subtype);
	if (!strcmp(type, "assistant"))
		assistant(c, event, now_ms, trace);
	else if (!strcmp(type, "user"))
		user(c, event, now_ms, trace);
	else if (!strcmp(type, "result"))
		claude_result(c, event, trace);
	else if ((strcmp(type, "system") || !system_event(c, subtype, event, trace)) &&
		 !is_quiet(type, subtype)) {
		(void)snprintf(what, sizeof(what), "event %.30s %.40s", type, subtype);
		unknown_row(c, what, line, n, trace);
	}
}

/* The line under way is whole. */
static void line_end(struct agent_reader *c, int64_t now_ms, struct trace *trace)
{
	char text[120];

	if (!c->skipping) {
		event_take(c, c->line.data, c->line.len, now_ms, trace);
	} else {
		(void)snprintf(text, sizeof(text), "an event of %zu bytes is left out: see the log",
			c->skipped);
		trace_add(trace, TRACE_ERROR, NULL, text, strlen(text), "{\"kind\":\"too_long\"}");
	}
	buf_reset(&c->line);
	c->skipping = false;
	c->skipped = 0;
}

void claude_feed(
	struct agent_reader *c, const char *data, size_t n, int64_t now_ms, struct trace *trace)
{
	while (n) {
		const char *end = memchr(data, '\n', n);
		size_t part = end ? (size_t)(end - data) : n;

		if (!c->skipping && !buf_add(&c->line, data, part)) {
			c->skipping = true;
			c->skipped = c->line.len;
			buf_reset(&c->line);
		}
		if (c->skipping)
			c->skipped += part;
		if (end) {
			line_end(c, now_ms, trace);
			part++;
		}
		data += part;
		n -= part;
	}
}
