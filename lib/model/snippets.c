/*
 * The table of clients and its printers. A string of JSON is one of TOML and of YAML as well, so
 * all three quote alike.
 */
#include "snippets.h"

#include <string.h>

#include "buf.h"
#include "json.h"

#define SERVER "agent-sandbox"
#define BEARER_KEY "Bearer " SNIPPET_KEY

const struct snippet snippets[] = {
	{"claude", "Claude Code", ".mcp.json in the project", SNIPPET_JSON, "mcpServers",
		"\"type\": \"stdio\"", "url", "\"type\": \"http\"",
		"Bearer ${" SNIPPET_KEY_VARIABLE "}"},
	{"cursor", "Cursor", "~/.cursor/mcp.json", SNIPPET_JSON, "mcpServers", NULL, "url", NULL,
		"Bearer ${env:" SNIPPET_KEY_VARIABLE "}"},
	{"vscode", "VS Code", ".vscode/mcp.json in the project", SNIPPET_JSON, "servers",
		"\"type\": \"stdio\"", "url", "\"type\": \"http\"",
		"Bearer ${env:" SNIPPET_KEY_VARIABLE "}"},
	{"windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json", SNIPPET_JSON, "mcpServers",
		NULL, "serverUrl", NULL, "Bearer ${env:" SNIPPET_KEY_VARIABLE "}"},
	{"zed", "Zed", "~/.config/zed/settings.json", SNIPPET_JSON, "context_servers",
		"\"source\": \"custom\"", "url", "\"source\": \"custom\"", BEARER_KEY},
	{"cline", "Cline", "cline_mcp_settings.json (Cline: MCP Servers, Configure)", SNIPPET_JSON,
		"mcpServers", "\"disabled\": false, \"autoApprove\": []", "url",
		"\"type\": \"streamableHttp\", \"disabled\": false, \"autoApprove\": []",
		BEARER_KEY},
	{"codex", "Codex", "~/.codex/config.toml", SNIPPET_TOML, "mcp_servers", NULL, "url", NULL,
		SNIPPET_KEY_VARIABLE},
	{"antigravity", "Antigravity", "~/.gemini/antigravity/mcp_config.json", SNIPPET_JSON,
		"mcpServers", NULL, "serverUrl", NULL, BEARER_KEY},
	{"json", "a client that reads JSON", "its list of MCP servers", SNIPPET_JSON, "mcpServers",
		NULL, "url", "\"type\": \"http\"", BEARER_KEY},
	{"yaml", "a client that reads YAML", "its list of MCP servers", SNIPPET_YAML, "mcpServers",
		NULL, "url", NULL, BEARER_KEY},
	{0},
};

const struct snippet *snippet_find(const char *name)
{
	for (const struct snippet *s = snippets; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const char *snippet_key_place(const struct snippet *s)
{
	return strstr(s->bearer, SNIPPET_KEY_VARIABLE) ? SNIPPET_KEY_VARIABLE : SNIPPET_KEY;
}

/* before, the quoted text, after */
static void quoted(struct buf *out, const char *before, const char *text, const char *after)
{
	(void)buf_adds(out, before);
	json_add_quoted(out, text, strlen(text));
	(void)buf_adds(out, after);
}

static void json_print(const struct snippet *s, enum snippet_form form,
	const struct snippet_values *values, struct buf *out)
{
	const char *more = form == SNIPPET_STDIO ? s->more : s->remote_more;

	(void)buf_addf(out, "{\n  \"%s\": {\n    \"" SERVER "\": {\n", s->root);
	if (more)
		(void)buf_addf(out, "      %s,\n", more);
	if (form == SNIPPET_REMOTE) {
		(void)buf_addf(out, "      \"%s\": ", s->url);
		quoted(out, "", values->url, ",\n");
		quoted(out, "      \"headers\": { \"Authorization\": ", s->bearer, " }\n");
	} else {
		quoted(out, "      \"command\": ", values->program,
			",\n      \"args\": [\"mcp\"],\n");
		quoted(out, "      \"env\": { \"ASB_URL\": ", values->url, "");
		if (values->token_file)
			quoted(out, ", \"ASB_TOKEN_FILE\": ", values->token_file, "");
		(void)buf_adds(out, " }\n");
	}
	(void)buf_adds(out, "    }\n  }\n}\n");
}

static void toml_print(const struct snippet *s, enum snippet_form form,
	const struct snippet_values *values, struct buf *out)
{
	(void)buf_addf(out, "[%s." SERVER "]\n", s->root);
	if (form == SNIPPET_REMOTE) {
		quoted(out, "url = ", values->url, "\n");
		quoted(out, "bearer_token_env_var = ", s->bearer, "\n");
		return;
	}
	quoted(out, "command = ", values->program, "\nargs = [\"mcp\"]\n\n");
	(void)buf_addf(out, "[%s." SERVER ".env]\n", s->root);
	quoted(out, "ASB_URL = ", values->url, "\n");
	if (values->token_file)
		quoted(out, "ASB_TOKEN_FILE = ", values->token_file, "\n");
}

static void yaml_print(const struct snippet *s, enum snippet_form form,
	const struct snippet_values *values, struct buf *out)
{
	(void)buf_addf(out, "%s:\n  " SERVER ":\n", s->root);
	if (form == SNIPPET_REMOTE) {
		quoted(out, "    url: ", values->url, "\n    headers:\n");
		quoted(out, "      Authorization: ", s->bearer, "\n");
		return;
	}
	quoted(out, "    command: ", values->program, "\n    args: [\"mcp\"]\n    env:\n");
	quoted(out, "      ASB_URL: ", values->url, "\n");
	if (values->token_file)
		quoted(out, "      ASB_TOKEN_FILE: ", values->token_file, "\n");
}

void snippet_print(const struct snippet *s, enum snippet_form form,
	const struct snippet_values *values, struct buf *out)
{
	switch (s->syntax) {
	case SNIPPET_JSON:
		json_print(s, form, values, out);
		break;
	case SNIPPET_TOML:
		toml_print(s, form, values, out);
		break;
	case SNIPPET_YAML:
		yaml_print(s, form, values, out);
		break;
	}
}
