/*
 * Fixture resources and prompts.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "mcp_door.h"
#include "mcp_fixture.h"
#include "pool.h"
#include "text.h"

#define TEMPLATE "test://template/"

static const struct {
	const char *uri, *name, *type, *content; /* the content's member as JSON */
} resources[] = {
	{"test://static-text", "static-text", "text/plain",
		"\"text\":\"This is the content of the static text resource.\""},
	{"test://static-binary", "static-binary", "image/png", "\"blob\":\"" FIXTURE_PNG "\""},
	{"test://watched-resource", "watched-resource", "text/plain", "\"text\":\"Unchanged.\""},
};
#define RESOURCES (sizeof(resources) / sizeof(resources[0]))

bool fixture_is_resource(const char *uri)
{
	for (size_t i = 0; i < RESOURCES; i++)
		if (!strcmp(resources[i].uri, uri))
			return true;
	return text_has_prefix(uri, TEMPLATE);
}

void fixture_add_resources(struct json_object *list)
{
	for (size_t i = 0; i < RESOURCES; i++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "uri", resources[i].uri);
		json_add_text(o, "name", resources[i].name);
		json_add_text(o, "description", "A fixture.");
		json_add_text(o, "mimeType", resources[i].type);
		json_push(list, o);
	}
}

void fixture_add_templates(struct json_object *list)
{
	json_push(list,
		fixture_json("{\"uriTemplate\":\"" TEMPLATE "{id}/data\",\"name\":\"template\","
			     "\"description\":\"A fixture.\",\"mimeType\":\"application/json\"}"));
}

static const char *template_content(struct pool *pool, const char *id, size_t n)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536), quoted = BUF_INIT(65536);
	const char *name = pool_memdup(pool, id, n);

	(void)buf_adds(&text, "{\"id\":");
	json_add_quoted(&text, name, n);
	(void)buf_adds(&text, ",\"templateTest\":true,\"data\":");
	json_add_quoted(&text, pool_printf(pool, "Data for ID: %s", name), n + 13);
	(void)buf_addc(&text, '}');
	(void)buf_adds(&quoted, "\"text\":");
	json_add_quoted(&quoted, text.data, text.len);
	return pool_memdup(pool, quoted.data, quoted.len);
}

bool fixture_resource(struct mcp *m)
{
	struct pool *pool = m->serve.call.pool;
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 18);
	const char *uri = "", *type = "application/json", *content = NULL;

	(void)json_get_text(m->params, "uri", &uri);
	for (size_t i = 0; i < RESOURCES; i++)
		if (!strcmp(resources[i].uri, uri)) {
			type = resources[i].type;
			content = resources[i].content;
		}
	if (!content) {
		const char *id = uri + sizeof(TEMPLATE) - 1;

		content = template_content(pool, id, strcspn(id, "/"));
	}
	(void)buf_adds(&b, "{\"contents\":[{\"uri\":");
	json_add_quoted(&b, uri, strlen(uri));
	(void)buf_addf(&b, ",\"mimeType\":\"%s\",%s}]}", type, content);
	m->result = fixture_json(b.data);
	return true;
}

#define USER(content) "{\"role\":\"user\",\"content\":" content "}"
#define ARGUMENT(name) "{\"name\":\"" name "\",\"description\":\"Any.\",\"required\":true}"

/* $1 and $2 in the messages stand for the arguments. */
static const struct {
	const char *name, *arguments[3], *list, *messages;
} prompts[] = {
	{"test_simple_prompt", {NULL}, "[]",
		"[" USER("{\"type\":\"text\",\"text\":\"This is a simple prompt for "
			 "testing.\"}") "]"},
	{"test_prompt_with_arguments", {"arg1", "arg2", NULL},
		"[" ARGUMENT("arg1") "," ARGUMENT("arg2") "]",
		"[" USER("{\"type\":\"text\",\"text\":\"Prompt with arguments: arg1='$1', "
			 "arg2='$2'\"}") "]"},
	{"test_prompt_with_embedded_resource", {"resourceUri", NULL},
		"[" ARGUMENT("resourceUri") "]",
		"[" USER("{\"type\":\"resource\",\"resource\":{\"uri\":\"$1\",\"mimeType\":"
			 "\"text/plain\",\"text\":\"Embedded resource content for "
			 "testing.\"}}") "," USER("{\"type\":\"text\",\"text\":\"Please "
						  "process the embedded resource "
						  "above.\"}") "]"},
	{"test_prompt_with_image", {NULL}, "[]",
		"[" USER("{\"type\":\"image\",\"data\":\"" FIXTURE_PNG
			 "\",\"mimeType\":\"image/png\"}") "," USER("{\"type\":\"text\","
								    "\"text\":\"Please "
								    "analyze the image "
								    "above.\"}") "]"},
	{"test_input_required_result_prompt", {NULL}, "[]", NULL},
};
#define PROMPTS (sizeof(prompts) / sizeof(prompts[0]))

bool fixture_is_prompt(const char *name)
{
	for (size_t i = 0; i < PROMPTS; i++)
		if (!strcmp(prompts[i].name, name))
			return true;
	return false;
}

void fixture_add_prompts(struct json_object *list)
{
	for (size_t i = 0; i < PROMPTS; i++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "name", prompts[i].name);
		json_add_text(o, "description", "A fixture.");
		json_add(o, "arguments", fixture_json(prompts[i].list));
		json_push(list, o);
	}
}

static bool fill(struct mcp *m, struct buf *b, const char *const *names, const char *messages)
{
	struct json_object *given = json_get(m->params, "arguments");
	const char *value;

	for (size_t i = 0; names[i]; i++)
		if (!json_get_text(given, names[i], &value))
			return mcp_bad_params(m, "arguments.%s: is missing", names[i]);
	for (; *messages; messages++) {
		if (*messages != '$') {
			(void)buf_addc(b, *messages);
			continue;
		}
		messages++;
		(void)json_get_text(given, names[*messages - '1'], &value);
		json_add_escaped(b, value, strlen(value));
	}
	return true;
}

bool fixture_prompt(struct mcp *m)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
	const char *name = "";

	(void)json_get_text(m->params, "name", &name);
	for (size_t i = 0; i < PROMPTS; i++) {
		if (strcmp(prompts[i].name, name) != 0)
			continue;
		if (!prompts[i].messages)
			return fixture_rounds(m);
		if (!fill(m, &b, prompts[i].arguments, prompts[i].messages))
			return false;
		m->result = json_new_object();
		json_add(m->result, "messages", fixture_json(b.data));
		return true;
	}
	return mcp_bad_params(m, "no such prompt");
}
