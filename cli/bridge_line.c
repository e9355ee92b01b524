/*
 * A line of the client's: which call it is, or what it says about another one.
 */
#include <string.h>

#include "bridge.h"
#include "cleanup.h"
#include "json.h"
#include "json_scan.h"
#include "pool.h"
#include "text.h"

#define PARSE_ERROR (-32700)
#define REPLY_MAX (64u << 20)
#define SHIP_REPLY_MAX 65536

static struct bridge_call *call_new(struct bridge *b, const char *line, size_t n)
{
	struct pool *pool = pool_new();
	struct bridge_call *c = POOL_NEW(pool, struct bridge_call);

	*c = (struct bridge_call){.next = b->calls,
		.bridge = b,
		.pool = pool,
		.method = "",
		.body = pool_memdup(pool, line, n),
		.shipped = -1};
	buf_init(&c->reply, REPLY_MAX);
	buf_init(&c->ship_reply, SHIP_REPLY_MAX);
	b->calls = c;
	b->ncalls++;
	return c;
}

/* The member of params that Mcp-Name repeats, by the method. */
static const char *named_by(const char *method)
{
	if (!strcmp(method, "tools/call") || !strcmp(method, "prompts/get"))
		return "name";
	if (!strcmp(method, "resources/read"))
		return "uri";
	return text_has_prefix(method, "tasks/") ? "taskId" : NULL;
}

static void call_read(struct bridge_call *c)
{
	struct json_object *params = json_get(c->message, "params");
	const char *at = NULL, *key;
	size_t n = 0;

	/* as it was written: the answer must have the same */
	if (json_has(c->message, "id") && json_scan_member(c->body, strlen(c->body), "id", &at, &n))
		c->id = pool_memdup(c->pool, at, n);
	if (!json_get_text(c->message, "method", &c->method)) {
		c->method = "";
		/* an answer of the client's is not answered; what is no message is, as refused */
		c->id = json_has(c->message, "result") || json_has(c->message, "error") ? NULL
											: "null";
	}
	(void)json_get_text(
		json_get(params, "_meta"), MCP_META_KEY("protocolVersion"), &c->version);
	key = named_by(c->method);
	if (key)
		(void)json_get_text(params, key, &c->name);
}

/* notifications/cancelled: the wait ends here, and by its closed connection there. */
static void cancel(struct bridge *b, struct bridge_call *note)
{
	const char *at = NULL, *params = NULL;
	size_t n = 0, params_n = 0;

	if (!json_scan_member(note->body, strlen(note->body), "params", &params, &params_n) ||
		!json_scan_member(params, params_n, "requestId", &at, &n))
		return;
	for (struct bridge_call *c = b->calls, *next; c; c = next) {
		next = c->next;
		if (c->id && strlen(c->id) == n && !memcmp(c->id, at, n))
			bridge_call_end(c);
	}
}

/* The answer to our roots/list: the first root that is a directory of this machine. */
static bool take_roots(struct bridge *b, struct bridge_call *c)
{
	const char *id = "", *uri = "";

	if (*c->method || !json_get_text(c->message, "id", &id) || strcmp(id, ROOTS_ID) != 0)
		return false;
	(void)json_get_text(
		json_at(json_get(json_get(c->message, "result"), "roots"), 0), "uri", &uri);
	b->root = bridge_root_path(b->pool, uri);
	b->roots_known = true;
	return true;
}

static void pong(struct bridge_call *c)
{
	const char *line =
		pool_printf(c->pool, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", c->id);

	bridge_put(c->bridge, line, strlen(line));
}

void bridge_take_line(struct bridge *b, const char *line, size_t n)
{
	struct bridge_call *c = call_new(b, line, n);
	struct err err;

	if (!json_parse(line, n, &c->message, &err)) {
		bridge_put_error(c, PARSE_ERROR, err.msg, NULL);
		bridge_call_end(c);
		return;
	}
	call_read(c);
	if (take_roots(b, c)) {
		bridge_call_end(c);
		bridge_local_roots(b);
	} else if (!strcmp(c->method, "notifications/cancelled")) {
		cancel(b, c);
		bridge_call_end(c);
	} else if (!strcmp(c->method, "ping") && c->id && !c->version) {
		/* a site that is being started anew is no reason to give us up */
		pong(c);
		bridge_call_end(c);
	} else {
		/* a legacy client says in initialize what it has */
		if (!strcmp(c->method, "initialize") && !c->version)
			b->has_roots = json_has(
				json_get(json_get(c->message, "params"), "capabilities"), "roots");
		if (!bridge_local_begin(c))
			bridge_send(c);
	}
}
