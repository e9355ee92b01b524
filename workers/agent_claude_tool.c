/*
 * Claude Code's tool calls and their results as trace rows, paired by the call's id.
 */
#include "agent_claude.h"

#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "text.h"
#include "trace.h"

#define INPUT_MAX (16u * 1024) /* of a call's input, as JSON */
#define OUTPUT_MAX 4096	       /* of a result's text */
#define LINE_MAX 300	       /* of a row's one line */

/* What of a tool's input says most in one line. */
static const struct {
	const char *tool, *key;
} telling[] = {
	{"Bash", "command"},
	{"Read", "file_path"},
	{"Edit", "file_path"},
	{"Write", "file_path"},
	{"NotebookEdit", "notebook_path"},
	{"Grep", "pattern"},
	{"Glob", "pattern"},
	{"Agent", "description"},
	{"Task", "description"},
	{"WebFetch", "url"},
	{"WebSearch", "query"},
	{"Skill", "skill"},
};

void claude_tool_line(struct buf *out, const char *tool, struct json_object *input)
{
	const char *text = NULL;
	size_t n;

	(void)buf_add(out, tool, strnlen(tool, 80));
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
		if (!strcmp(tool, telling[i].tool))
			(void)json_get_text(input, telling[i].key, &text);
	if (!text)
		return;
	text += strspn(text, " \t\r\n");
	n = strcspn(text, "\r\n");
	if (n > LINE_MAX)
		for (n = LINE_MAX; n && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
			;
	(void)buf_adds(out, ": ");
	(void)buf_add(out, text, n);
	if (text[n + strspn(text + n, " \t\r\n")])
		(void)buf_adds(out, " …");
}

void claude_add_parent(struct buf *data, const char *parent)
{
	if (!parent)
		return;
	(void)buf_adds(data, data->len > 1 ? ",\"parent\":" : "\"parent\":");
	json_add_quoted(data, parent, strnlen(parent, 64));
}

/* The input, its long strings cut, more of each the larger it is; at last only how large it is. */
static void add_input(struct buf *data, struct json_object *input)
{
	static const size_t cuts[] = {INPUT_MAX, 4096, 1024, 128};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		CLEANUP(buf) struct buf json = BUF_INIT(INPUT_MAX + 256);

		json_add_bounded(&json, input, cuts[i]);
		if (json.failed)
			continue;
		(void)buf_add(data, json.data, json.len);
		return;
	}
	(void)buf_adds(data, "\"more than is kept: see the log\"");
}

void claude_tool_use(struct agent_reader *c, struct json_object *block, const char *parent,
	int64_t now_ms, struct trace *trace)
{
	CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX + 200);
	CLEANUP(buf) struct buf data = BUF_INIT(INPUT_MAX + 2048);
	struct json_object *input = json_get(block, "input");
	struct claude_call *call = &c->calls[c->next_call++ % CLAUDE_CALLS];
	const char *id = "", *tool = "tool";

	(void)json_get_text(block, "id", &id);
	(void)json_get_text(block, "name", &tool);
	claude_tool_line(&line, tool, input);
	(void)buf_adds(&data, "{\"tool\":");
	json_add_quoted(&data, tool, strnlen(tool, 80));
	(void)buf_adds(&data, ",\"input\":");
	add_input(&data, input);
	claude_add_parent(&data, parent);
	(void)buf_addc(&data, '}');
	(void)snprintf(call->id, sizeof(call->id), "%s", id);
	call->since_ms = now_ms;
	trace_add(trace, TRACE_TOOL, id, line.data, line.len, data.data);
}

/* The text of a result: a string, or a list of blocks of which only text is shown. */
static void output_text(struct buf *out, struct json_object *content)
{
	const char *text;
	size_t n = json_count(content);

	if (json_as_text(content, &text)) {
		(void)buf_add(out, text, strnlen(text, out->max));
		return;
	}
	for (size_t i = 0; i < n && !out->failed; i++) {
		struct json_object *block = json_at(content, i);
		const char *type = "";

		(void)json_get_text(block, "type", &type);
		if (!strcmp(type, "text") && json_get_text(block, "text", &text))
			(void)buf_add(out, text, strnlen(text, out->max - out->len));
		else
			(void)buf_addf(out, "[%.40s]", type);
		if (i + 1 < n)
			(void)buf_addc(out, '\n');
	}
}

/* "Exit code 3" begins what a command that failed has written. */
static bool exit_code_of(const char *text, int64_t *code)
{
	static const char begin[] = "Exit code ";
	char number[8];
	size_t n;

	if (strncmp(text, begin, sizeof(begin) - 1))
		return false;
	text += sizeof(begin) - 1;
	n = strspn(text, "0123456789");
	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	return text_to_i64(number, 0, 255, code);
}

void claude_tool_result(struct agent_reader *c, struct json_object *block, const char *parent,
	int64_t now_ms, struct trace *trace)
{
	CLEANUP(buf) struct buf text = BUF_INIT(CLAUDE_LINE_MAX);
	CLEANUP(buf) struct buf data = BUF_INIT(1024);
	const char *id = "";
	bool is_error = false;
	int64_t code;
	size_t keep;

	(void)json_get_text(block, "tool_use_id", &id);
	(void)json_get_bool(block, "is_error", &is_error);
	output_text(&text, json_get(block, "content"));
	for (keep = text.len < OUTPUT_MAX ? text.len : OUTPUT_MAX;
		keep < text.len && keep && ((unsigned char)text.data[keep] & 0xc0) == 0x80; keep--)
		;
	(void)buf_addf(&data, "{\"is_error\":%s", is_error ? "true" : "false");
	if (is_error && exit_code_of(text.data, &code))
		(void)buf_addf(&data, ",\"exit_code\":%lld", (long long)code);
	for (size_t i = 0; *id && i < CLAUDE_CALLS; i++) {
		struct claude_call *call = &c->calls[i];

		if (strncmp(call->id, id, sizeof(call->id) - 1))
			continue;
		(void)buf_addf(&data, ",\"duration_ms\":%lld",
			(long long)(now_ms > call->since_ms ? now_ms - call->since_ms : 0));
		call->id[0] = '\0';
		break;
	}
	(void)buf_addf(&data, ",\"truncated\":%s", keep < text.len ? "true" : "false");
	claude_add_parent(&data, parent);
	(void)buf_addc(&data, '}');
	trace_add(trace, TRACE_RESULT, id, text.data, keep, data.data);
}
