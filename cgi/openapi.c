/*
 * An operation for each row. What an action answers is said by its output rows where it has them,
 * else in words alone, as docs/api.md has them.
 */
#include "openapi.h"

#include <stdio.h>
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "scope.h"
#include "text.h"
#include "version.h"

/* {"key": text} */
static struct json_object *of_text(const char *key, const char *text)
{
	struct json_object *o = json_new_object();

	json_add_text(o, key, text);
	return o;
}

static struct json_object *of(const char *key, struct json_object *value_taken)
{
	struct json_object *o = json_new_object();

	json_add(o, key, value_taken);
	return o;
}

static struct json_object *parameter(const char *name, const char *in, bool required,
	const char *help, struct json_object *schema_taken)
{
	struct json_object *o = json_new_object();

	json_add_text(o, "name", name);
	json_add_text(o, "in", in);
	if (required)
		json_add_bool(o, "required", true);
	json_add_text(o, "description", help);
	json_add(o, "schema", schema_taken);
	return o;
}

/* Inputs that come by the query string, and the headers of what changes something. */
static struct json_object *parameters(const struct action *a)
{
	struct json_object *list = json_new_array();
	struct json_object *schema = field_schema(a->fields, a->nfields);
	struct json_object *properties = json_get(schema, "properties"), *key;

	for (size_t i = 0; (!a->type || a->streams) && i < a->nfields; i++)
		json_push(list, parameter(a->fields[i].name, "query", a->fields[i].required,
					a->fields[i].help,
					json_share(json_get(properties, a->fields[i].name))));
	if (a->mutates) {
		key = of_text("type", "string");
		json_add_i64(key, "maxLength", 128);
		json_push(
			list, parameter("Idempotency-Key", "header", false,
				      "The same request again under one key gets the first answer.",
				      key));
	}
	json_free(schema);
	return list;
}

static struct json_object *body(const struct action *a)
{
	struct json_object *o = json_new_object(), *media;

	if (a->streams) {
		media = json_new_object();
	} else {
		media = of("schema", field_schema(a->fields, a->nfields));
	}
	json_add_bool(o, "required", true);
	json_add(o, "content", of(a->type, media));
	return o;
}

static const char *answer_type(const struct action *a)
{
	const char *dot = strrchr(a->path, '.');

	if (dot && !strcmp(dot, ".txt"))
		return "text/plain";
	if (dot && !strcmp(dot, ".ndjson"))
		return "application/x-ndjson";
	if (!strcmp(a->path, "/blob"))
		return "application/octet-stream";
	return !strcmp(a->path, "/metrics") ? "text/plain" : "application/json";
}

/* Does the text of what is answered name this status? */
static bool names_status(const char *answers, const char *status)
{
	const char *at = strstr(answers, status);

	return at && (at == answers || at[-1] == ' ') && (!at[3] || strchr(" ,;.", at[3]));
}

static struct json_object *response(const struct action *a)
{
	struct json_object *o = of_text("description", a->answers), *media = json_new_object();
	const char *type = answer_type(a);

	if (a->tool.output)
		json_add(media, "schema",
			field_output_schema(a->tool.output->fields, a->tool.output->nfields));
	else if (!strcmp(type, "application/json"))
		json_add(media, "schema", of_text("type", "object"));
	json_add(o, "content", of(type, media));
	return o;
}

static struct json_object *responses(const struct action *a)
{
	static const char *const good[] = {"200", "201", "202", "204"};
	struct json_object *o = json_new_object();

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!names_status(a->answers, good[i]))
			continue;
		json_add(o, good[i],
			strcmp(good[i], "204") ? response(a) : of_text("description", a->answers));
	}
	json_add(o, "default", of_text("$ref", "#/components/responses/error"));
	return o;
}

/* One of them is enough. No list: nobody need say who he is. */
static struct json_object *security(const struct action *a)
{
	struct json_object *list = json_new_array();

	json_push(list, of("bearer", json_new_array()));
	json_push(list, of("session", json_new_array()));
	if (a->needs == NEEDS_LOCAL)
		json_push(list, json_new_object());
	return list;
}

static struct json_object *operation(const struct action *a)
{
	struct json_object *o = json_new_object(), *list;

	json_add_text(o, "operationId", a->name);
	json_add_text(o, "summary", a->summary);
	if (a->needs != NEEDS_NOBODY)
		json_add_text(o, "x-scope", scope_name(action_scope(a)));
	list = parameters(a);
	if (json_count(list))
		json_add(o, "parameters", list);
	else
		json_free(list);
	if (a->type)
		json_add(o, "requestBody", body(a));
	json_add(o, "responses", responses(a));
	json_add(o, "security", a->needs == NEEDS_NOBODY ? json_new_array() : security(a));
	return o;
}

static struct json_object *paths(void)
{
	struct json_object *o = json_new_object();

	for (size_t i = 0; actions[i]; i++) {
		const struct action *a = actions[i];
		char method[16];

		(void)snprintf(method, sizeof(method), "%s", a->method);
		for (char *c = method; *c; c++)
			*c = (char)(*c | 0x20);
		if (!json_has(o, a->path))
			json_add(o, a->path, json_new_object());
		json_add(json_get(o, a->path), method, operation(a));
	}
	return o;
}

static struct json_object *error_schema(void)
{
	static const struct {
		const char *name, *type, *description;
	} members[] = {
		{"message", "string", "For people."},
		{"fix", "string", "What to do about it."},
		{"context", "object", "More about it; `reason` is a word for machines."},
		{"request_id", "string", "What the site's log has it under."},
	};
	struct json_object *properties = json_new_object(), *codes = json_new_array();
	struct json_object *code = of_text("type", "string"), *error, *types;

	for (int c = ERR_INVALID; c < ERR_CODE__COUNT; c++)
		json_push_text(codes, err_info((enum err_code)c)->name);
	json_add(code, "enum", codes);
	json_add(properties, "code", code);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		struct json_object *o = of_text("description", members[i].description);

		types = json_new_array();
		json_push_text(types, members[i].type);
		json_push_text(types, "null");
		json_add(o, "type", types);
		json_add(properties, members[i].name, o);
	}
	error = of_text("type", "object");
	json_add(error, "properties", properties);
	types = json_new_array();
	json_push_text(types, "code");
	json_push_text(types, "message");
	json_add(error, "required", types);
	properties = of_text("type", "object");
	json_add(properties, "properties", of("error", error));
	return properties;
}

static struct json_object *components(const char *cookie)
{
	struct json_object *o = json_new_object(), *schemes = json_new_object();
	struct json_object *bearer = of_text("type", "http"), *session = of_text("type", "apiKey");
	struct json_object *error =
		of_text("description", "Refused or failed; `code` says what to do.");

	json_add_text(bearer, "scheme", "bearer");
	json_add_text(bearer, "description", "The operator's token, or an API key.");
	json_add(schemes, "bearer", bearer);
	json_add_text(session, "in", "cookie");
	json_add_text(session, "name", cookie);
	json_add_text(session, "description",
		"Of a signed-in browser; what changes something wants X-CSRF-Token as well.");
	json_add(schemes, "session", session);
	json_add(error, "content",
		of("application/json",
			of("schema", of_text("$ref", "#/components/schemas/error"))));
	json_add(o, "schemas", of("error", error_schema()));
	json_add(o, "responses", of("error", error));
	json_add(o, "securitySchemes", schemes);
	return o;
}

struct json_object *openapi_document(const char *url, const char *cookie)
{
	struct json_object *o = of_text("openapi", "3.1.0"), *info = json_new_object();
	struct json_object *servers = json_new_array(), *license = of_text("name", "Apache 2.0");

	json_add_text(license, "identifier", "Apache-2.0");
	json_add_text(info, "title", "Agent Sandbox");
	json_add_text(info, "version", ASB_VERSION);
	json_add_text(info, "summary", "Tasks for coding agents in throwaway boxes.");
	json_add_text(info, "description",
		"Times are RFC 3339 UTC, sizes bytes, durations milliseconds. Streams of events "
		"are described in docs/streams.md, MCP in docs/mcp.md.");
	json_add(info, "license", license);
	json_add(o, "info", info);
	json_push(servers, of_text("url", url));
	json_add(o, "servers", servers);
	json_add(o, "paths", paths());
	json_add(o, "components", components(cookie));
	return o;
}

void openapi_print(struct buf *b)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json)
	struct json_object *o = openapi_document("http://127.0.0.1:8380", "asb_dev");

	(void)buf_adds(b, json_text(o, pool));
	(void)buf_addc(b, '\n');
}
