/*
 * What the server says of itself, in both eras, and the table of methods.
 */
#include <string.h>

#include "json.h"
#include "mcp_door.h"

static const char instructions[] =
	"Agent Sandbox runs code and coding agents in isolated boxes.\n"
	"To run code: create_sandbox once, run as often as needed, destroy_sandbox at the end. "
	"Report the output and exit code that came back, never ones you expect.\n"
	"To hand over a whole task: delegate, then status until it ends. run:waiting means that "
	"the agent asks something: answer with resume. run:running means that it still works: "
	"call status again, never delegate twice.\n"
	"The first line of each result is the state, the last line says what to do next.";

static struct json_object *capabilities(void)
{
	struct json_object *o = json_new_object();

	json_add(o, "tools", json_new_object());
	json_add(o, "resources", json_new_object());
	json_add(o, "prompts", json_new_object());
	json_add(o, "completions", json_new_object());
	return o;
}

bool mcp_initialize(struct mcp *m)
{
	const char *wanted = "", *version = mcp_legacy_versions[0];

	if (!mcp_param(m, "protocolVersion", &wanted))
		return false;
	for (size_t i = 0; mcp_legacy_versions[i]; i++)
		if (!strcmp(mcp_legacy_versions[i], wanted))
			version = mcp_legacy_versions[i];
	m->result = json_new_object();
	json_add_text(m->result, "protocolVersion", version);
	json_add(m->result, "capabilities", capabilities());
	json_add(m->result, "serverInfo", mcp_server_info());
	json_add_text(m->result, "instructions", instructions);
	return true;
}

bool mcp_discover(struct mcp *m)
{
	struct json_object *versions = json_new_array(), *has = capabilities(),
			   *extensions = json_new_object();

	json_add(extensions, MCP_TASKS, json_new_object());
	json_add(has, "extensions", extensions);
	json_push_text(versions, MCP_MODERN_VERSION);
	m->result = json_new_object();
	json_add(m->result, "supportedVersions", versions);
	json_add(m->result, "capabilities", has);
	json_add_text(m->result, "instructions", instructions);
	return true;
}

bool mcp_ping(struct mcp *m)
{
	m->result = json_new_object();
	return true;
}

const struct mcp_method mcp_methods[] = {
	{"server/discover", mcp_discover, .modern = true, .cached = true},
	{"initialize", mcp_initialize, .legacy = true},
	{"ping", mcp_ping, .legacy = true},
	{"tools/list", mcp_tools_list, .legacy = true, .modern = true, .cached = true},
	{"tools/call", mcp_tools_call, .legacy = true, .modern = true, .named = "name"},
	{"resources/list", mcp_resources_list, .legacy = true, .modern = true, .cached = true},
	{"resources/templates/list", mcp_resources_templates, .legacy = true, .modern = true,
		.cached = true},
	{"resources/read", mcp_resources_read, .legacy = true, .modern = true, .named = "uri",
		.cached = true},
	{"prompts/list", mcp_prompts_list, .legacy = true, .modern = true, .cached = true},
	{"prompts/get", mcp_prompts_get, .legacy = true, .modern = true, .named = "name"},
	{"completion/complete", mcp_complete, .legacy = true, .modern = true},
	{"tasks/get", mcp_tasks_get, .modern = true, .named = "taskId"},
	{"tasks/update", mcp_tasks_update, .modern = true, .named = "taskId"},
	{"tasks/cancel", mcp_tasks_cancel, .modern = true, .named = "taskId"},
	{NULL, NULL},
};
