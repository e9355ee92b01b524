/*
 * The texts of tool results: which shape a tool's answer has, what is said of an error, and how the
 * parts are put together so that the first and the last line are always there.
 */
#include "mcp_text.h"

#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "mcp_result.h"
#include "pool.h"

#define NEXT_MAX 250 /* longer than any last line that depends on whether the body was cut */

static const struct {
	const char *tool;
	void (*say)(struct mcp_text *t, struct json_object *answer);
} says[] = {
	{"delegate", mcp_say_run},
	{"status", mcp_say_run},
	{"resume", mcp_say_run},
	{"teardown", mcp_say_run},
	{"watch", mcp_say_watch},
	{"monitor", mcp_say_monitor},
	{"create_sandbox", mcp_say_sandbox},
	{"destroy_sandbox", mcp_say_sandbox},
	{"run", mcp_say_result},
	{"get_process_logs", mcp_say_result},
	{"list_files", mcp_say_look},
	{"read_file", mcp_say_look},
	{"search_files", mcp_say_look},
	{"diff", mcp_say_look},
	{"get_files", mcp_say_look},
	{"pool_status", mcp_say_pool},
};

static void say_json(struct mcp_text *t, struct json_object *answer)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)buf_adds(&t->body, json_text(answer, pool));
}

void mcp_text_say(struct mcp_text *t, const char *tool, struct json_object *answer)
{
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (!strcmp(says[i].tool, tool)) {
			says[i].say(t, answer);
			return;
		}
	say_json(t, answer);
}

void mcp_text_say_error(struct mcp_text *t, struct json_object *error)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *code = "internal", *message = "something went wrong on our side", *fix;
	struct json_object *context = json_get(error, "context");

	(void)json_get_text(error, "code", &code);
	(void)json_get_text(error, "message", &message);
	(void)buf_addf(&t->state, "error:%s %s", code, message);
	if (json_key_at(context, 0))
		(void)buf_addf(&t->body, "context: %s", json_text(context, pool));
	if (json_get_text(error, "fix", &fix))
		(void)buf_adds(&t->next, fix);
}

/* Where a cut at n of s may be, not inside a character; forwards where up is set. */
static size_t between(const char *s, size_t n, bool up)
{
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n += up ? 1 : (size_t)-1;
	return n;
}

/* Two thirds from its beginning, one third from its end. */
static void add_shortened(struct buf *out, const struct buf *body, size_t max)
{
	size_t head, tail;

	if (body->len <= max) {
		(void)buf_add(out, body->data, body->len);
		return;
	}
	max = max > 64 ? max - 64 : 0;
	head = between(body->data, max / 3 * 2, false);
	tail = between(body->data, body->len - max / 3, true);
	(void)buf_add(out, body->data, head);
	(void)buf_addf(out, "\n[... %zu bytes left out here ...]\n", tail - head);
	(void)buf_add(out, body->data + tail, body->len - tail);
}

bool mcp_text_is_cut(const struct mcp_text *t)
{
	return t->body.len + t->state.len + NEXT_MAX > MCP_TEXT_MAX;
}

void mcp_text_join(struct buf *out, const struct mcp_text *t, size_t max)
{
	size_t around = t->state.len + t->next.len + 2;

	(void)buf_add(out, t->state.data, t->state.len);
	if (t->body.len) {
		if (out->len)
			(void)buf_addc(out, '\n');
		add_shortened(out, &t->body, max > around ? max - around : 0);
	}
	if (t->next.len) {
		if (out->len && out->data[out->len - 1] != '\n')
			(void)buf_addc(out, '\n');
		(void)buf_add(out, t->next.data, t->next.len);
	}
}
