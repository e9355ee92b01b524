/*
 * asb build: an image of a person's own, on the host of a site, by whoever runs the site. It checks
 * what was asked and leaves the building to the site's own tool (`stack image`). No action does
 * this: what boxes boot from is not an agent's to choose.
 */
#include <errno.h>
#include <getopt.h>
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
	const char *name;
	const char *how, *from; /* "--recipe" and its value */
	const char *config;
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

static bool parse(struct cli *cli, struct building *b, int argc, char **argv, struct err *err)
{
	static const struct option options[] = {{"config", required_argument, NULL, 'c'},
		{"dockerfile", required_argument, NULL, 'd'},
		{"image", required_argument, NULL, 'i'}, {"json", no_argument, NULL, 'j'},
		{"recipe", required_argument, NULL, 'r'}, {0}};
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == '?')
			return verb_bad_option(argv, err);
		if (opt == 'j') {
			cli->json = true;
		} else if (opt == 'c') {
			b->config = optarg;
		} else if (b->how) {
			return verb_misused(argv[0], "one recipe, image or dockerfile", err);
		} else {
			b->how = opt == 'r' ? "--recipe" : opt == 'i' ? "--image" : "--dockerfile";
			b->from = optarg;
		}
	}
	if (argc - optind != 1 || !b->how)
		return verb_misused(argv[0], "which image, and of what?", err);
	b->name = argv[optind];
	return check(b, err);
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

bool verb_build(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const struct config *cfg;
	struct building b = {0};
	char flag[] = "--config";

	if (!parse(cli, &b, argc, argv, err) ||
		!config_load(cli->pool, b.config ? 3 : 1,
			(char *[]){argv[0], flag, pool_strdup(cli->pool, b.config ? b.config : ""),
				NULL},
			&cfg, err) ||
		!build(&b, cfg, err))
		return false;
	json_add_text(o, "image", b.name);
	if (cli->json)
		cli_print_json(cli, o);
	else
		(void)printf("%s\n", b.name);
	*status = 0;
	return true;
}
