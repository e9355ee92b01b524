/*
 * create_sandbox: a sealed box to run code in. What can be known here is checked here; the box is
 * made by a worker, and handed out when it is proved to be sealed.
 */
#include <stdio.h>
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "images.h"
#include "json.h"
#include "language.h"
#include "outputs.h"
#include "package_file.h"
#include "pool.h"
#include "queries.h"
#include "sandbox.h"
#include "site.h"
#include "size_class.h"

struct create_sandbox {
	const char *language, *backend, *environment, *upload, *packages_from;
	struct field_texts packages;
	int64_t memory_mb, cpus, wait_ms;
};

static const struct field fields[] = {
	FIELD(WORD, struct create_sandbox, language, .required = true, .words = language_names,
		.reason = "unsupported_language",
		.help = "What the code you will run is written in.",
		.fix = "Name the language: python, javascript, bash, go or java."),
	FIELD(TEXT, struct create_sandbox, backend, .max = 64, .pattern = FIELD_NAME,
		.text = "auto",
		.help = "The runtime that makes the box; auto: the best this site has."),
	FIELD(TEXT, struct create_sandbox, environment, .max = 64, .pattern = FIELD_NAME,
		.help = "An image that a person has built for this; the language's own where "
			"absent.",
		.fix = "Leave it out for the language's own image; a person names others: asb "
		       "build."),
	FIELD(TEXTS, struct create_sandbox, packages, .max = SANDBOX_PACKAGES_MAX, .each_max = 200,
		.help = "Packages to install before the box is sealed, each a name or a name with "
			"an exact version in the language's own way.",
		.fix = "Send a list of at most 25 texts, each a name or a name with an exact "
		       "version."),
	FIELD(TEXT, struct create_sandbox, packages_from, .max = 64, .pattern = FIELD_NAME,
		.help = "A lock file of the tree to install from: requirements.txt, "
			"package-lock.json, go.sum or pom.xml."),
	FIELD(TEXT, struct create_sandbox, upload, .max = 64, .pattern = FIELD_NAME,
		.help = "A tree that was uploaded (sync_from of the CLI), copied in once."),
	FIELD(INT, struct create_sandbox, memory_mb, .max = 65536,
		.help = "Memory of the box, rounded up to the next size; 0: the site's default."),
	FIELD(INT, struct create_sandbox, cpus, .max = 64,
		.help = "Processors of the box, rounded up to the next size; 0: the site's "
			"default."),
	FIELD(INT, struct create_sandbox, wait_ms, .max = 600000,
		.help = "Wait this long for it to be ready; 0: answer at once."),
};

static bool choose_runtime(
	const struct config *cfg, const char *backend, const char **out, struct err *err)
{
	const char *runtime = strcmp(backend, "auto") ? backend : cfg->box_runtime;

	if (!config_has_runtime(cfg, runtime)) {
		char fix[160];

		(void)snprintf(fix, sizeof(fix), "It has %s%s%s. Leave backend out for the first.",
			cfg->box_runtime, cfg->box_runtimes && *cfg->box_runtimes ? " " : "",
			cfg->box_runtimes ? cfg->box_runtimes : "");
		(void)err_set(err, ERR_INVALID, "backend: this site has no %s", backend);
		return err_advise(err, "unsupported_backend", fix);
	}
	*out = runtime;
	return true;
}

/* There is no image that it runs in; says which languages have one. */
static bool language_unready(struct call *c, const struct language *wanted, struct err *err)
{
	char ready[80] = "none", fix[160];
	size_t n = 0;

	for (const struct language *l = languages; l->name && n < sizeof(ready); l++)
		if (l->is_in_base || image_is_built(c->pool, c->site->cfg, l->image))
			n += (size_t)snprintf(
				ready + n, sizeof(ready) - n, "%s%s", n ? ", " : "", l->name);
	(void)snprintf(fix, sizeof(fix),
		"Ready: %s. The operator adds it: ASB_IMAGES=%s deploy/stack up", ready,
		wanted->image);
	(void)err_set(
		err, ERR_INVALID, "language: this site has not built the image %s", wanted->image);
	return err_advise(err, "unsupported_language", fix);
}

/* The environment asked for, the language's own image, or the base where that can run it. */
static bool choose_image(
	struct call *c, const struct create_sandbox *in, const char **out, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	const struct language *l = language_find(in->language);

	if (in->environment) {
		if (!image_check(c->pool, cfg, in->environment, err)) {
			char fix[160];

			(void)snprintf(fix, sizeof(fix),
				"%.110s. A person builds others: asb build.", err->fix);
			(void)err_set(
				err, ERR_INVALID, "environment: no such image %s", in->environment);
			return err_advise(err, "unknown_environment", fix);
		}
		*out = in->environment;
		return true;
	}
	*out = image_is_built(c->pool, cfg, l->image) ? l->image : cfg->box_image;
	if (*out == l->image || l->is_in_base)
		return true;
	return language_unready(c, l, err);
}

/* What can be known of packages before there is a box. */
static bool packages_check(struct call *c, const struct create_sandbox *in, struct err *err)
{
	struct package p[PACKAGES_MAX];
	enum package_manager manager, from;

	if (!package_manager_find(language_find(in->language)->manager, &manager))
		return err_set(err, ERR_INTERNAL, "no package manager of %s", in->language);
	if (!packages_parse(c->pool, manager, in->packages.v, in->packages.n, p, err))
		return false;
	if (!in->packages_from)
		return true;
	if (!package_file_manager(in->packages_from, &from) || from != manager) {
		(void)err_set(err, ERR_INVALID, "packages_from: %s is no lock file of %s",
			in->packages_from, in->language);
		return err_advise(err, "invalid_package",
			"It is requirements.txt, package-lock.json, go.sum or pom.xml, by "
			"language.");
	}
	if (in->upload)
		return true;
	(void)err_set(err, ERR_INVALID, "packages_from: there is no tree to find it in");
	return err_advise(err, "invalid_package", "Copy the project in with sync_from.");
}

static const char *packages_json(struct call *c, const struct create_sandbox *in)
{
	CLEANUP(json) struct json_object *list = json_new_array();

	for (size_t i = 0; i < in->packages.n; i++)
		json_push_text(list, in->packages.v[i]);
	return in->packages.n ? json_text(list, c->pool) : NULL;
}

static bool create_sandbox(struct call *c, const void *input, struct err *err)
{
	const struct create_sandbox *in = input;
	const struct config *cfg = c->site->cfg;
	const struct size_class *size;
	struct sandbox_made made;
	struct sandbox_new box = {
		.account_id = c->caller.account_id,
		.language = in->language,
		.packages = packages_json(c, in),
		.packages_from = in->packages_from,
		.upload = in->upload,
		.max_ms = cfg->box_max_s * 1000,
		.idle_ms = cfg->box_idle_s * 1000,
		.request_id = c->rq->id,
	};

	box.creating_ms = sandbox_creating_ms(cfg->starting_ms, box.packages, box.packages_from);
	if (!packages_check(c, in, err) || !choose_runtime(cfg, in->backend, &box.runtime, err) ||
		!choose_image(c, in, &box.image, err) ||
		!size_class_choose(in->memory_mb ? in->memory_mb : cfg->box_memory_mb,
			in->cpus ? in->cpus : cfg->box_cpus, &size, err))
		return false;
	box.image_key = image_key(c->pool, cfg, box.image);
	box.size_class = size->name;
	box.memory_bytes = size->memory_bytes;
	box.cpus = size->cpus;
	box.disk_bytes = size_class_disk(size, box.runtime);
	if (!sandbox_create(c->db, &box, &made, err))
		return false;
	c->subject = pool_strdup(c->pool, made.name);
	if (in->wait_ms) {
		call_wait(c, "box", made.name, 0, in->wait_ms);
		return true;
	}
	return call_json(c, 202, Q_READ_SANDBOX,
		ARGS(db_text(made.name), db_i64(c->caller.account_id)), "sandbox", err);
}

const struct action action_create_sandbox = {
	.name = "create_sandbox",
	.summary = "Make a sealed, disposable box to run code in and see what really happens.",
	.method = "POST",
	.path = "/create_sandbox.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct create_sandbox),
	ACTION_FIELDS(fields),
	.answers = "202 SANDBOX; with wait_ms 200 SANDBOX when it is ready, or the error that "
		   "it could not be made",
	.run = create_sandbox,
	.tool = {.title = "Create a sandbox",
		.description = "Make an isolated box to run code in and get its sandbox_id. "
			       "Call it before run, once for a whole conversation: files "
			       "and installed packages stay from one run to the next. Name "
			       "the packages you need now; afterwards the box reaches no "
			       "network at all. Use it instead of running code that is "
			       "untrusted or that you just wrote on the person's own "
			       "machine. Call destroy_sandbox when you are done.",
		.output = &output_sandbox},
};
