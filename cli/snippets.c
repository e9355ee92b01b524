/*
 * The table of clients and its three printers. A string of JSON is one of TOML and of YAML as well,
 * so all three quote alike.
 */
#include "snippets.h"

#include <string.h>

#include "buf.h"
#include "json.h"

#define SERVER "agent-sandbox"

const struct snippet snippets[] = {
	{"claude", "Claude Code", ".mcp.json in the project", SNIPPET_JSON, "mcpServers",
		"\"type\": \"stdio\""},
	{"cursor", "Cursor", "~/.cursor/mcp.json", SNIPPET_JSON, "mcpServers", NULL},
	{"vscode", "VS Code", ".vscode/mcp.json in the project", SNIPPET_JSON, "servers",
		"\"type\": \"stdio\""},
	{"windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json", SNIPPET_JSON, "mcpServers",
		NULL},
	{"zed", "Zed", "~/.config/zed/settings.json", SNIPPET_JSON, "context_servers",
		"\"source\": \"custom\""},
	{"cline", "Cline", "cline_mcp_settings.json (Cline: MCP Servers, Configure)", SNIPPET_JSON,
		"mcpServers", "\"disabled\": false, \"autoApprove\": []"},
	{"codex", "Codex", "~/.codex/config.toml", SNIPPET_TOML, "mcp_servers", NULL},
	{"antigravity", "Antigravity", "~/.gemini/antigravity/mcp_config.json", SNIPPET_JSON,
		"mcpServers", NULL},
	{"json", "a client that reads JSON", "its list of MCP servers", SNIPPET_JSON, "mcpServers",
		NULL},
	{"yaml", "a client that reads YAML", "its list of MCP servers", SNIPPET_YAML, "mcpServers",
		NULL},
	{0},
};

const struct snippet *snippet_find(const char *name)
{
	for (const struct snippet *s = snippets; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

/* before, the quoted text, after */
static void quoted(struct buf *out, const char *before, const char *text, const char *after)
{
	(void)buf_adds(out, before);
	json_add_quoted(out, text, strlen(text));
	(void)buf_adds(out, after);
}

static void json_print(
	const struct snippet *s, const struct snippet_values *values, struct buf *out)
{
	(void)buf_addf(out, "{\n  \"%s\": {\n    \"" SERVER "\": {\n", s->root);
	if (s->more)
		(void)buf_addf(out, "      %s,\n", s->more);
	quoted(out, "      \"command\": ", values->program, ",\n      \"args\": [\"mcp\"],\n");
	quoted(out, "      \"env\": { \"ASB_URL\": ", values->url, "");
	quoted(out, ", \"ASB_TOKEN_FILE\": ", values->token_file, " }\n    }\n  }\n}\n");
}

static void toml_print(
	const struct snippet *s, const struct snippet_values *values, struct buf *out)
{
	(void)buf_addf(out, "[%s." SERVER "]\n", s->root);
	quoted(out, "command = ", values->program, "\nargs = [\"mcp\"]\n\n");
	(void)buf_addf(out, "[%s." SERVER ".env]\n", s->root);
	quoted(out, "ASB_URL = ", values->url, "\n");
	quoted(out, "ASB_TOKEN_FILE = ", values->token_file, "\n");
}

static void yaml_print(
	const struct snippet *s, const struct snippet_values *values, struct buf *out)
{
	(void)buf_addf(out, "%s:\n  " SERVER ":\n", s->root);
	quoted(out, "    command: ", values->program, "\n    args: [\"mcp\"]\n    env:\n");
	quoted(out, "      ASB_URL: ", values->url, "\n");
	quoted(out, "      ASB_TOKEN_FILE: ", values->token_file, "\n");
}

void snippet_print(const struct snippet *s, const struct snippet_values *values, struct buf *out)
{
	switch (s->syntax) {
	case SNIPPET_JSON:
		json_print(s, values, out);
		break;
	case SNIPPET_TOML:
		toml_print(s, values, out);
		break;
	case SNIPPET_YAML:
		yaml_print(s, values, out);
		break;
	}
}
