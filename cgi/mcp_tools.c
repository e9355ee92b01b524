/*
 * Tools: the actions that are tools, as MCP shows them, and their calls. A call is done exactly as
 * the action's JSON route would do it; what is different is the envelope. What fails in the action
 * is a result with isError, which a model reads, not an error of the protocol, which it does not.
 */
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "encode.h"
#include "field.h"
#include "json.h"
#include "mcp.h"
#include "mcp_door.h"
#include "pool.h"
#include "response.h"
#include "router.h"
#include "site.h"

static bool has_field(const struct action *a, const char *name)
{
	for (size_t i = 0; i < a->nfields; i++)
		if (!strcmp(a->fields[i].name, name))
			return true;
	return false;
}

static struct json_object *elicit_schema(void)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "type", "boolean");
	json_add_text(o, "description",
		"Have the client ask its person by a form where the run asks something. Only for "
		"clients that can; without it the question comes back as text, for resume.");
	json_add_bool(o, "default", false);
	return o;
}

/* The action's own, with the waits and bounds of this door. */
static struct json_object *input_schema(const struct action *a)
{
	struct json_object *o = field_schema(a->fields, a->nfields),
			   *properties = json_get(o, "properties"),
			   *wait = json_get(properties, "wait_ms"),
			   *bound = a->tool.bound ? json_get(properties, a->tool.bound) : NULL;

	if (wait) {
		json_add_text(wait, "description",
			"Wait at most this many milliseconds for the end before answering how far "
			"it is; 0: answer at once.");
		json_add_i64(wait, "maximum", MCP_WAIT_TOKEN_MAX_MS);
		json_add_i64(wait, "default", MCP_WAIT_MS);
	}
	if (bound)
		json_add_i64(bound, "default", a->tool.bound_value);
	if (a->tool.asks)
		json_add(properties, "elicit", elicit_schema());
	return o;
}

static struct json_object *annotations(const struct tool *t)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "title", t->title);
	json_add_bool(o, "readOnlyHint", t->hints & TOOL_READ_ONLY);
	json_add_bool(o, "destructiveHint", t->hints & TOOL_DESTRUCTIVE);
	json_add_bool(o, "idempotentHint", t->hints & TOOL_IDEMPOTENT);
	json_add_bool(o, "openWorldHint", t->hints & TOOL_OPEN_WORLD);
	return o;
}

/* The action's own, with the words that mcp_result.c adds. */
static struct json_object *output_schema(const struct output *output)
{
	static const struct field words[] = {
		{.name = "summary", .help = "The state, in one line."},
		{.name = "next", .help = "What to do next."},
	};
	struct json_object *o = field_output_schema(output->fields, output->nfields),
			   *ours = field_output_schema(words, 2);

	for (size_t i = 0; i < 2; i++)
		json_add(json_get(o, "properties"), words[i].name,
			json_share(json_get(json_get(ours, "properties"), words[i].name)));
	json_free(ours);
	return o;
}

struct json_object *mcp_tool_json(const struct action *a)
{
	const struct tool *t = &a->tool;
	struct json_object *o = json_new_object();

	json_add_text(o, "name", a->name);
	json_add_text(o, "title", t->title);
	json_add_text(o, "description", t->description);
	json_add(o, "inputSchema", input_schema(a));
	json_add(o, "outputSchema", output_schema(t->output));
	json_add(o, "annotations", annotations(t));
	return o;
}

static struct json_object *tools_json(void)
{
	struct json_object *list = json_new_array();

	for (size_t i = 0; actions[i]; i++)
		if (actions[i]->tool.title)
			json_push(list, mcp_tool_json(actions[i]));
	return list;
}

const char *mcp_tools_print(struct pool *pool)
{
	CLEANUP(json) struct json_object *list = tools_json();

	return json_text(list, pool);
}

/* Fixtures are added to a list that can be read. */
bool mcp_tools_list(struct mcp *m)
{
	const struct site *site = m->serve.call.site;

	if (!mcp_one_page(m))
		return false;
	m->result = json_new_object();
	json_add(m->result, "tools",
		site->cfg->has_conformance ? tools_json() : json_new_printed(site->tools));
	return true;
}

/* What the caller left out of this door's defaults, and a wait that the client would not sit out.
 */
static void set_defaults(const struct mcp *m, const struct action *a, struct json_object *args)
{
	int64_t wait, max = m->call.token ? MCP_WAIT_TOKEN_MAX_MS : MCP_WAIT_MS;

	if (has_field(a, "wait_ms")) {
		if (m->is_task)
			json_add_i64(args, "wait_ms", 0);
		else if (!json_get(args, "wait_ms"))
			json_add_i64(args, "wait_ms", MCP_WAIT_MS);
		else if (json_get_i64(args, "wait_ms", &wait) && wait > max)
			json_add_i64(args, "wait_ms", max);
	}
	if (a->tool.bound && !json_get(args, a->tool.bound))
		json_add_i64(args, a->tool.bound, a->tool.bound_value);
}

/* The arguments but for the wait, which may be another the second time. */
static const char *what_is_asked(struct mcp *m, struct json_object *args)
{
	struct pool *pool = m->serve.call.pool;
	CLEANUP(buf) struct buf b = BUF_INIT(ROUTER_BODY_MAX * 2);
	const char *key;

	for (size_t i = 0; (key = json_key_at(args, i)); i++)
		if (strcmp(key, "wait_ms") != 0)
			(void)buf_addf(&b, "%s %s\n", key, json_text(json_get(args, key), pool));
	return pool_memdup(pool, b.data, b.len);
}

/* Where the caller brought no key of his own, what he asks stands for it. */
static void set_key(struct mcp *m, struct json_object *args)
{
	struct serve *s = &m->serve;
	struct request *rq = s->call.rq;
	unsigned char hash[SHA256_SIZE];
	char hex[SHA256_SIZE * 2 + 1];
	const char *asked;

	if (!s->action->tool.once_ms || *rq->idempotency_key)
		return;
	asked = what_is_asked(m, args);
	s->body = asked;
	s->body_n = strlen(asked);
	asked = pool_printf(s->call.pool, "%s\n%s", s->call.caller.name, asked);
	sha256(asked, strlen(asked), hash);
	hex_encode(hash, sizeof(hash), hex);
	rq->idempotency_key = pool_printf(s->call.pool, "mcp-%s", hex);
	s->key_ms = s->action->tool.once_ms;
}

static bool read_arguments(struct mcp *m, struct json_object *args, struct err *err)
{
	struct serve *s = &m->serve;
	const struct action *a = s->action;

	/* an Idempotency-Key stands for what was sent, not for what was made of it */
	s->body = json_text(args, s->call.pool);
	s->body_n = strlen(s->body);
	set_key(m, args);
	set_defaults(m, a, args);
	s->input = pool_alloc(s->call.pool, a->input_size);
	return field_from_json(a->fields, a->nfields, args, s->call.pool, s->input, err);
}

/* The run that the same call began before, as it is now; waited for as this call would have it. */
static bool look_at_first(struct mcp *m, struct json_object *args, struct err *err)
{
	struct serve *s = &m->serve;
	struct json_object *wait = json_get(args, "wait_ms");
	CLEANUP(json) struct json_object *o = json_new_object();

	m->call.is_repeat = true;
	json_add_text(o, "session", s->repeated);
	if (wait)
		json_add(o, "wait_ms", json_share(wait));
	s->action = action_find_tool("status");
	s->input = pool_alloc(s->call.pool, s->action->input_size);
	return field_from_json(
		       s->action->fields, s->action->nfields, o, s->call.pool, s->input, err) &&
	       serve_run(s, err);
}

/* asb-live gives the answer: it must know to whom. */
static void redirect(struct mcp *m)
{
	struct response *rs = m->serve.call.rs;
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	mcp_call_print(&b, &m->call);
	rs->internal = pool_printf(m->serve.call.pool, "%s&mcp=%s", rs->internal, b.data);
}

static void wrap(struct mcp *m)
{
	struct response *rs = m->serve.call.rs;
	struct pool *pool = m->serve.call.pool;
	const char *json = pool_memdup(pool, rs->body.data, rs->body.len), *answer;

	if (m->is_task && rs->status < 400 && mcp_task_begin(m, json))
		answer = mcp_answer(pool, &m->call, json_share(m->result));
	else
		answer = mcp_result(pool, &m->call, rs->status, json);
	response_json(rs, 200, answer);
}

/* What a model left out some clients fill in with null: such a member is not there. It is safe for
 * each of ours, `timeout` of run included, whose default is the shorter time. */
static struct json_object *arguments(struct json_object *given)
{
	struct json_object *o = json_new_object();
	const char *key;

	for (size_t i = 0; (key = json_key_at(given, i)); i++)
		if (json_get(given, key))
			json_add(o, key, json_share(json_get(given, key)));
	return o;
}

bool mcp_tools_call(struct mcp *m)
{
	struct serve *s = &m->serve;
	struct call *c = &s->call;
	struct json_object *given = json_get(m->params, "arguments");
	CLEANUP(json) struct json_object *args = NULL;
	struct err err = {0};
	bool ok, asks;

	if (!mcp_param(m, "name", &m->call.tool))
		return false;
	if (given && !json_is_object(given))
		return mcp_bad_params(m, "params.arguments: must be an object");
	s->action = action_find_tool(m->call.tool);
	if (!s->action)
		return mcp_bad_params(m, "no such tool: tools/list says which there are");
	args = arguments(given);
	if (!mcp_elicit_take(m, &args))
		return false;
	m->is_task = s->action->tool.task && mcp_tasks_declared(m);
	if (m->is_task)
		m->elicit_digest = NULL; /* a task asks by itself */
	s->what = s->action->name;
	/* a client may get itself a token that does, which only HTTP's own answer tells it to */
	if (!serve_may(s, &err))
		return mcp_outer_fault(m, err_info(err.code)->http, &err);
	ok = read_arguments(m, args, &err) && serve_run(s, &err) &&
	     (!s->repeated || look_at_first(m, args, &err));
	asks = !ok && mcp_secret_ask(m, &err);
	if (!ok && !asks) {
		response_error(c->rs, &err, c->rq->id, c->context);
		c->context = NULL;
	}
	mcp_elicit_seal(m);
	serve_end(s, ok, &err);
	if (c->rs->internal)
		redirect(m);
	else if (!asks)
		wrap(m);
	m->answered = true;
	return true;
}
