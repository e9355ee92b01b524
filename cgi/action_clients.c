/*
 * clients: what is put into each client's settings so that it finds this site, of the table that
 * `asb config` prints from. The form that needs no program of ours, and no secret in it.
 */
#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "pool.h"
#include "site.h"
#include "snippets.h"

static struct json_object *client(const struct snippet *s, const char *address)
{
	const struct snippet_values values = {.url = address};
	CLEANUP(buf) struct buf text = BUF_INIT(64 * 1024);
	struct json_object *o = json_new_object();

	snippet_print(s, SNIPPET_REMOTE, &values, &text);
	json_add_text(o, "format", s->name);
	json_add_text(o, "client", s->client);
	json_add_text(o, "file", s->file);
	json_add_text(o, "text", text.data);
	json_add_text(o, "key", snippet_key_place(s));
	return o;
}

static bool clients(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *list = json_new_array();
	const char *address = pool_printf(c->pool, "%s/mcp", c->site->cfg->url);

	(void)input;
	for (const struct snippet *s = snippets; s->name; s++)
		json_push(list, client(s, address));
	json_add(o, "clients", list);
	json_add_text(o, "then", SNIPPET_THEN);
	(void)err;
	return call_answer(c, 200, o);
}

const struct action action_clients = {
	.name = "clients",
	.summary = "What is put into each client's settings so that it finds this site.",
	.method = "GET",
	.path = "/clients.json",
	.needs = NEEDS_CALLER,
	.answers =
		"200 `{\"clients\":[{\"format\",\"client\",\"file\",\"text\",\"key\"}],\"then\"}`: "
		"text goes into file; key says where the API key goes",
	.run = clients,
};
