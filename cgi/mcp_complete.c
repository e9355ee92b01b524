/*
 * Completion: of a run's session, of a sandbox, of a repository, out of what the caller has; of a
 * language, out of what there is.
 */
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "language.h"
#include "mcp_door.h"
#include "text.h"

#define VALUES_MAX 100

struct found {
	struct json_object *values;
	const char *prefix;
	int64_t total;
};

static bool is_there(const struct found *f, const char *value)
{
	const char *s;

	for (size_t i = 0; i < json_count(f->values); i++)
		if (json_as_text(json_at(f->values, i), &s) && !strcmp(s, value))
			return true;
	return false;
}

static void offer(struct found *f, const char *value)
{
	if (!text_has_prefix(value, f->prefix) || is_there(f, value))
		return;
	f->total++;
	if (json_count(f->values) < VALUES_MAX)
		json_push_text(f->values, value);
}

/* The text `name` of each row of the list. */
static void offer_rows(struct found *f, struct json_object *list, const char *name)
{
	const char *s;

	for (size_t i = 0; i < json_count(list); i++)
		if (json_get_text(json_at(list, i), name, &s))
			offer(f, s);
}

static bool offer_runs(struct mcp *m, struct found *f, bool repos)
{
	CLEANUP(json) struct json_object *fleet = NULL;
	struct json_object *runs;

	if (!mcp_read(m, "fleet", json_new_object(), &fleet))
		return false;
	runs = json_get(fleet, "runs");
	if (!repos)
		offer_rows(f, runs, "session");
	for (size_t i = 0; repos && i < json_count(runs); i++)
		offer_rows(f, json_get(json_at(runs, i), "repos"), "repo");
	return true;
}

static bool offer_sandboxes(struct mcp *m, struct found *f)
{
	CLEANUP(json) struct json_object *o = NULL;

	if (!mcp_read(m, "sandboxes", json_new_object(), &o))
		return false;
	offer_rows(f, json_get(o, "sandboxes"), "sandbox_id");
	return true;
}

static bool offer_argument(struct mcp *m, struct found *f, const char *name)
{
	if (!strcmp(name, "session"))
		return offer_runs(m, f, false);
	if (!strcmp(name, "repo"))
		return offer_runs(m, f, true);
	if (!strcmp(name, "sandbox_id"))
		return offer_sandboxes(m, f);
	if (!strcmp(name, "language"))
		for (const struct language *l = languages; l->name; l++)
			offer(f, l->name);
	return true;
}

/* A prompt or a template of ours; what has no completion is no error. */
static bool check_ref(struct mcp *m)
{
	struct json_object *ref = json_get(m->params, "ref");
	const char *type, *name;

	if (!json_get_text(ref, "type", &type))
		return mcp_bad_params(m, "params.ref.type: must be ref/prompt or ref/resource");
	if (!strcmp(type, "ref/prompt"))
		return (json_get_text(ref, "name", &name) && mcp_prompt_is(name)) ||
		       mcp_bad_params(m, "params.ref.name: no such prompt");
	if (!strcmp(type, "ref/resource"))
		return (json_get_text(ref, "uri", &name) && text_has_prefix(name, "asb://")) ||
		       mcp_bad_params(m, "params.ref.uri: no such resource");
	return mcp_bad_params(m, "params.ref.type: must be ref/prompt or ref/resource");
}

bool mcp_complete(struct mcp *m)
{
	struct json_object *argument = json_get(m->params, "argument"), *completion;
	struct found f = {0};
	const char *name;

	if (!check_ref(m))
		return false;
	if (!json_get_text(argument, "name", &name) || !json_get_text(argument, "value", &f.prefix))
		return mcp_bad_params(m, "params.argument: name and value must be text");
	f.values = json_new_array();
	if (!offer_argument(m, &f, name)) {
		json_free(f.values);
		return false;
	}
	completion = json_new_object();
	json_add_bool(completion, "hasMore", f.total > VALUES_MAX);
	json_add_i64(completion, "total", f.total);
	json_add(completion, "values", f.values);
	m->result = json_new_object();
	json_add(m->result, "completion", completion);
	return true;
}
