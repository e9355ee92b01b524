/*
 * asb build: an image of a person's own, on the host of a site, by whoever runs the site. It checks
 * what was asked and leaves the building to the site's own tool (`stack image`). No action does
 * this: what boxes boot from is not an agent's to choose.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "cli.h"
#include "config.h"
#include "json.h"
#include "pool.h"
#include "verbs.h"

#define NAME_LEN_MAX 40
/* Debian's packages over a slow line take their time. */
#define BUILD_TIMEOUT_MS (60 * 60 * 1000)

struct building {
	const char *config, *recipe, *image, *dockerfile;
	const char *name;
	const char *how, *from; /* "--recipe" and its value */
};

static const struct flag flags[] = {
	FLAG(TEXT, struct building, recipe, .value = "FILE",
		.help = "of Debian's packages, by the words of docs/packages.md"),
	FLAG(TEXT, struct building, image, .value = "REF",
		.help = "of an image that podman has or can pull"),
	FLAG(TEXT, struct building, dockerfile, .value = "FILE",
		.help = "of what podman builds from it"),
	FLAG(TEXT, struct building, config, .value = "FILE", .help = "the site's settings"),
};

static bool check(const struct building *b, struct err *err)
{
	size_t n = strlen(b->name);

	if (!n || n > NAME_LEN_MAX || b->name[0] == '-' ||
		strspn(b->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
		return err_set(err, ERR_INVALID, "build: a name is at most %d of a-z, 0-9 and -",
			NAME_LEN_MAX);
	/* it would be an option of podman's */
	if (!*b->from || *b->from == '-')
		return err_set(err, ERR_INVALID, "build: %.20s: %.80s is none", b->how, b->from);
	if (strcmp(b->how, "--image") != 0 && access(b->from, R_OK))
		return err_errno(err, ERR_INVALID, "build: %.120s", b->from);
	return true;
}

/* The one of the three ways that was given. */
static bool choose(struct building *b, struct err *err)
{
	const char *const ways[][2] = {
		{"--recipe", b->recipe}, {"--image", b->image}, {"--dockerfile", b->dockerfile}};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!ways[i][1])
			continue;
		if (b->how)
			return verb_misused("build", "one recipe, image or dockerfile", err);
		b->how = ways[i][0];
		b->from = ways[i][1];
	}
	return b->how ? check(b, err) : verb_misused("build", "of what?", err);
}

/* The tool works from its true place, for the site of these settings, and with the caller's
 * environment, which is theirs: proxies and folders are podman's business as well. */
static bool build(const struct building *b, const struct config *cfg, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char tool[PATH_MAX];
	struct child c = {
		.argv = (const char *const[]){tool, "image", b->name, b->how, b->from, NULL},
		.die_with_parent = true};
	int status = 0;

	if (!realpath(pool_printf(pool, "%s/stack", cfg->lib_dir), tool)) {
		(void)err_errno(err, ERR_INVALID, "build: %.120s/stack", cfg->lib_dir);
		return err_advise(
			err, NULL, "run it on the site's host; --config names the site's settings");
	}
	if (setenv("ASB_SITE", cfg->site, 1))
		return err_errno(err, ERR_INTERNAL, "build");
	c.env = (const char *const *)environ; /* setenv may have moved it */
	if (!child_start(&c, err) || !child_wait(&c, BUILD_TIMEOUT_MS, &status, err))
		return err_wrap(err, "build");
	if (status)
		return err_set(err, ERR_UPSTREAM, "build: %s was not built; see above", b->name);
	return true;
}

static bool build_image(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const struct config *cfg;
	struct building *b = options;

	(void)nwords;
	(void)status;
	b->name = words[0];
	if (!choose(b, err) || !cli_settings(cli, b->config, &cfg, err) || !build(b, cfg, err))
		return false;
	json_add_text(o, "image", b->name);
	if (cli->json)
		cli_print_json(cli, o);
	else
		(void)printf("%s\n", b->name);
	return true;
}

const struct verb verb_build = {
	.name = "build",
	.usage = "NAME --recipe FILE | --image REF | --dockerfile FILE",
	.summary = "build an image of your own, on the site's host",
	.about = "What the build says goes to standard error.",
	VERB_FLAGS(struct building, flags),
	.least = 1,
	.most = 1,
	.wants = "which image?",
	.run = build_image,
};
