/*
 * capabilities: what a sandbox can be and must not exceed, so that nobody has to find out by
 * failing; and what is not claimed of it.
 */
#include <stdio.h>
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "images.h"
#include "isolation.h"
#include "json.h"
#include "language.h"
#include "sandbox.h"
#include "site.h"
#include "size_class.h"

static const char *const not_claimed[] = {
	"Emulation (emulated-vm) is not a boundary that hardware enforces; a container shares its "
	"host's kernel, and its disk has no limit but for the size of each file.",
	"Packages come from public indexes and are not vetted.",
	"Side channels between boxes of one host are not addressed.",
	"A sandbox shows what the code did in it, not that the code is right elsewhere.",
	NULL,
};

static struct json_object *text_list(const char *const *texts)
{
	struct json_object *list = json_new_array();

	for (size_t i = 0; texts[i]; i++)
		json_push_text(list, texts[i]);
	return list;
}

static struct json_object *language_list(struct call *c)
{
	struct json_object *list = json_new_array();

	for (const struct language *l = languages; l->name; l++) {
		struct json_object *o = json_new_object();
		bool built = image_is_built(c->pool, c->site->cfg, l->image);

		json_add_text(o, "language", l->name);
		json_add_bool(o, "ready", built || l->is_in_base);
		json_add_text(o, "image",
			built		? l->image
			: l->is_in_base ? c->site->cfg->box_image
					: NULL);
		json_add_text(o, "packages", l->manager);
		json_push(list, o);
	}
	return list;
}

static struct json_object *size_list(void)
{
	struct json_object *list = json_new_array();

	for (const struct size_class *s = size_classes; s->name; s++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "class", s->name);
		json_add_i64(o, "memory_bytes", s->memory_bytes);
		json_add_i64(o, "cpus", s->cpus);
		json_add_i64(o, "disk_bytes", s->disk_bytes);
		json_push(list, o);
	}
	return list;
}

static struct json_object *limits(const struct config *cfg)
{
	struct json_object *o = json_new_object();

	json_add_i64(o, "memory_mb", cfg->box_memory_mb);
	json_add_i64(o, "cpus", cfg->box_cpus);
	json_add(o, "sizes", size_list());
	json_add_i64(o, "timeout_s", SANDBOX_TIMEOUT_S);
	json_add_i64(o, "timeout_max_s", SANDBOX_TIMEOUT_MAX_S);
	json_add_i64(o, "code_bytes", SANDBOX_CODE_MAX);
	json_add_i64(o, "output_characters", SANDBOX_OUTPUT_CHARS);
	json_add_i64(o, "packages", SANDBOX_PACKAGES_MAX);
	json_add_i64(o, "background_processes", SANDBOX_BACKGROUND_MAX);
	json_add_i64(o, "idle_s", cfg->box_idle_s);
	json_add_i64(o, "lifetime_s", cfg->box_max_s);
	return o;
}

/* What may stand in `backend`, and what separates boxes of it. */
static void add_backends(struct json_object *o, const struct config *cfg)
{
	struct json_object *list = json_new_array(), *isolation = json_new_object();
	const char *at = cfg->box_runtimes ? cfg->box_runtimes : "";

	json_push_text(list, cfg->box_runtime);
	json_add_text(isolation, cfg->box_runtime, isolation_of(cfg->box_runtime));
	for (; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		char name[33];

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, at);
		if (n && strcmp(name, cfg->box_runtime) != 0) {
			json_push_text(list, name);
			json_add_text(isolation, name, isolation_of(name));
		}
		at += n;
	}
	json_add(o, "backends", list);
	json_add(o, "isolation", isolation);
}

static bool capabilities(struct call *c, const void *input, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	CLEANUP(json) struct json_object *o = json_new_object();

	(void)input;
	(void)err;
	json_add(o, "languages", language_list(c));
	json_add(o, "environments", text_list(images_list(c->pool, cfg)));
	add_backends(o, cfg);
	json_add(o, "limits", limits(cfg));
	json_add_text(o, "network",
		"sealed: no network device. Packages are installed at creation, before any of "
		"your code runs; afterwards nothing is reached.");
	json_add_text(o, "state",
		"Files and packages persist from run to run; what was in memory does not.");
	json_add(o, "not_claimed", text_list(not_claimed));
	return call_answer(c, 200, o);
}

const struct action action_capabilities = {
	.name = "capabilities",
	.summary = "The real limits of a sandbox and what it can be.",
	.method = "GET",
	.path = "/capabilities.json",
	.needs = NEEDS_CALLER,
	.answers = "200 `{\"languages\",\"environments\",\"backends\",\"isolation\",\"limits\","
		   "\"network\",\"state\",\"not_claimed\"}`; `isolation` has the class of each "
		   "backend",
	.run = capabilities,
};
