/*
 * Where the conformance fixtures meet the door: which messages are for them, and what they add to
 * lists.
 */
#include "mcp_fixture.h"

#include <string.h>

#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "request.h"
#include "site.h"
#include "text.h"

struct json_object *fixture_json(const char *text)
{
	struct json_object *o = NULL;
	struct err err;

	if (!json_parse_ours(text, strlen(text), &o, &err))
		return json_new_object();
	return o;
}

static bool find_tool(const char *name, mcp_method_fn **run, const char **result)
{
	*result = NULL;
	for (const struct fixture_tool *t = mcp_fixture_tools; t->name; t++)
		if (!strcmp(t->name, name)) {
			*run = t->run;
			*result = t->result;
			return true;
		}
	for (const struct fixture_tool *t = mcp_fixture_task_tools; t->name; t++)
		if (!strcmp(t->name, name)) {
			*run = t->run;
			return true;
		}
	for (const struct fixture_rounds_row *r = mcp_fixture_rounds; r->name; r++)
		if (!strcmp(r->name, name)) {
			*run = fixture_rounds;
			return true;
		}
	return false;
}

static bool call_tool(struct mcp *m, bool *ok)
{
	const char *name, *result;
	mcp_method_fn *run = NULL;

	if (!json_get_text(m->params, "name", &name) || !find_tool(name, &run, &result))
		return false;
	m->call.tool = name;
	if (result)
		m->result = fixture_json(result);
	*ok = result || run(m);
	return true;
}

/* What a legacy client answers to a question on a stream that another child holds. */
static void deliver(struct mcp *m)
{
	const char *id;

	if (json_get_text(m->body, "id", &id) && text_has_prefix(id, "ask-"))
		fixture_post(m->serve.call.site->cfg, id, false, m->serve.body, m->serve.body_n);
}

static bool is_legacy_extra(const struct mcp *m)
{
	static const char *const names[] = {
		"logging/setLevel", "resources/subscribe", "resources/unsubscribe"};

	for (size_t i = 0; m->call.era == MCP_LEGACY && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], m->method))
			return true;
	return false;
}

bool mcp_fixture_run(struct mcp *m, bool *ok)
{
	const char *name;

	*ok = true;
	if (m->kind == MCP_RESPONSE)
		deliver(m);
	if (m->kind != MCP_REQUEST)
		return false;
	if (!strcmp(m->method, "tools/call"))
		return call_tool(m, ok);
	if (!strcmp(m->method, "subscriptions/listen") && m->call.era == MCP_MODERN) {
		*ok = fixture_listen(m);
	} else if (fixture_tasks(m, ok)) {
		return true;
	} else if (!strcmp(m->method, "resources/read") && json_get_text(m->params, "uri", &name) &&
		   fixture_is_resource(name)) {
		*ok = fixture_resource(m);
	} else if (!strcmp(m->method, "prompts/get") && json_get_text(m->params, "name", &name) &&
		   fixture_is_prompt(name)) {
		*ok = fixture_prompt(m);
	} else if (!strcmp(m->method, "completion/complete") &&
		   json_get_text(json_get(m->params, "ref"), "name", &name) &&
		   fixture_is_prompt(name)) {
		m->result = fixture_json(
			"{\"completion\":{\"values\":[\"paris\",\"park\",\"party\"],\"total\":3,"
			"\"hasMore\":false}}");
	} else if (is_legacy_extra(m)) {
		m->result = json_new_object();
	} else {
		return false;
	}
	return true;
}

static void add_tool(
	struct json_object *list, const char *name, const char *description, const char *input)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "name", name);
	json_add_text(o, "description", description);
	json_add(o, "inputSchema",
		fixture_json(
			input ? input : "{\"type\":\"object\",\"additionalProperties\":false}"));
	json_push(list, o);
}

static void add_tools(struct json_object *list)
{
	for (const struct fixture_tool *t = mcp_fixture_tools; t->name; t++)
		add_tool(list, t->name, t->description, t->input);
	for (const struct fixture_tool *t = mcp_fixture_task_tools; t->name; t++)
		add_tool(list, t->name, t->description, t->input);
	for (const struct fixture_rounds_row *r = mcp_fixture_rounds; r->name; r++)
		add_tool(list, r->name, "Asks for more input.", NULL);
}

static void add_capabilities(const struct mcp *m, struct json_object *o)
{
	if (m->call.era == MCP_LEGACY) {
		json_add(o, "logging", json_new_object());
		json_add_bool(json_get(o, "resources"), "subscribe", true);
		return;
	}
	json_add_bool(json_get(o, "tools"), "listChanged", true);
	json_add_bool(json_get(o, "prompts"), "listChanged", true);
}

void mcp_fixture_as_stream(struct mcp *m)
{
	struct response *rs = m->serve.call.rs;
	const char *text;

	if (!text_has_prefix(request_param(m->serve.call.rq, "HTTP_ACCEPT"), "text/event-stream"))
		return;
	text = pool_printf(m->serve.call.pool, "data: %s\n\n", rs->body.data);
	response_text(rs, 200, "text/event-stream", text, strlen(text));
}

void mcp_fixture_extend(struct mcp *m)
{
	struct json_object *o;

	if ((o = json_get(m->result, "capabilities")))
		add_capabilities(m, o);
	if (!strcmp(m->method, "initialize"))
		fixture_session_begin(m);
	if ((o = json_get(m->result, "tools")))
		add_tools(o);
	if ((o = json_get(m->result, "resources")))
		fixture_add_resources(o);
	if ((o = json_get(m->result, "resourceTemplates")))
		fixture_add_templates(o);
	if ((o = json_get(m->result, "prompts")))
		fixture_add_prompts(o);
}
