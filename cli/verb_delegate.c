/*
 * asb delegate: packs the tree, uploads it, delegates the task and follows the run to its end.
 */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "tree.h"
#include "verbs.h"

#define TASK_MAX (256u * 1024)
#define LIST_MAX 64

struct delegation {
	const char *task, *task_file, *tree, *agent, *image, *title, *memory_mb, *cpus, *patch_file;
	bool no_tree, no_wait;
	const char *repos[LIST_MAX];
	size_t nrepos;
	const char *include[LIST_MAX];
	size_t ninclude;
	struct follow_options follow;
};

enum {
	OPT_AGENT = 256,
	OPT_ANSWER,
	OPT_CPUS,
	OPT_IMAGE,
	OPT_INCLUDE,
	OPT_JSON,
	OPT_LOG,
	OPT_MEMORY,
	OPT_NO_TREE,
	OPT_NO_WAIT,
	OPT_PATCH,
	OPT_REPO,
	OPT_TASK_FILE,
	OPT_TITLE,
	OPT_TREE
};

static const struct option options[] = {
	{"agent", required_argument, NULL, OPT_AGENT},
	{"answer", required_argument, NULL, OPT_ANSWER},
	{"cpus", required_argument, NULL, OPT_CPUS},
	{"image", required_argument, NULL, OPT_IMAGE},
	{"include", required_argument, NULL, OPT_INCLUDE},
	{"json", no_argument, NULL, OPT_JSON},
	{"log", no_argument, NULL, OPT_LOG},
	{"memory-mb", required_argument, NULL, OPT_MEMORY},
	{"no-tree", no_argument, NULL, OPT_NO_TREE},
	{"no-wait", no_argument, NULL, OPT_NO_WAIT},
	{"patch", required_argument, NULL, OPT_PATCH},
	{"repo", required_argument, NULL, OPT_REPO},
	{"task-file", required_argument, NULL, OPT_TASK_FILE},
	{"title", required_argument, NULL, OPT_TITLE},
	{"tree", required_argument, NULL, OPT_TREE},
	{0},
};

static bool list_add(const char **list, size_t *n, const char *value)
{
	if (*n == LIST_MAX)
		return false;
	list[(*n)++] = value;
	return true;
}

/* One option; false where it is none of ours or there are too many of it. */
static bool option_take(struct cli *cli, struct delegation *d, int opt)
{
	switch (opt) {
	case OPT_AGENT:
		d->agent = optarg;
		return true;
	case OPT_ANSWER:
		d->follow.answer = optarg;
		return true;
	case OPT_CPUS:
		d->cpus = optarg;
		return true;
	case OPT_IMAGE:
		d->image = optarg;
		return true;
	case OPT_INCLUDE:
		return list_add(d->include, &d->ninclude, optarg);
	case OPT_JSON:
		return cli->json = true;
	case OPT_LOG:
		return d->follow.log = true;
	case OPT_MEMORY:
		d->memory_mb = optarg;
		return true;
	case OPT_NO_TREE:
		return d->no_tree = true;
	case OPT_NO_WAIT:
		return d->no_wait = true;
	case OPT_PATCH:
		d->patch_file = optarg;
		return true;
	case OPT_REPO:
		return list_add(d->repos, &d->nrepos, optarg);
	case OPT_TASK_FILE:
		d->task_file = optarg;
		return true;
	case OPT_TITLE:
		d->title = optarg;
		return true;
	case OPT_TREE:
		d->tree = optarg;
		return true;
	default:
		return false;
	}
}

static bool parse(struct cli *cli, struct delegation *d, int argc, char **argv, struct err *err)
{
	char *text;
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!option_take(cli, d, opt))
			return verb_bad_option(argv, err);
	if ((argc - optind == 1) == (d->task_file != NULL) || argc - optind > 1)
		return verb_misused(argv[0], "give one task, as text or by --task-file", err);
	if (d->nrepos && d->tree)
		return verb_misused(argv[0], "a tree or repositories, not both", err);
	if (!d->task_file) {
		d->task = argv[optind];
		return true;
	}
	if (!cli_read_file(cli->pool, d->task_file, TASK_MAX, &text, err))
		return err_wrap(err, "task");
	d->task = text;
	return true;
}

static void say_left_out(void *arg, const char *path, const char *why)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)arg;
	cli_say("stays here: %s: %s", cli_sane(pool, path), why);
}

/* The tree as a blob of the site; *name: what it is called in the box. */
static bool upload(struct cli *cli, const struct delegation *d, const char **blob,
	const char **name, struct err *err)
{
	struct tree_options opt = {.dir = d->tree ? d->tree : ".",
		.include = d->include,
		.ninclude = d->ninclude,
		.max_bytes = TREE_MAX_BYTES,
		.note = say_left_out};
	CLEANUP(fd) int fd = -1;
	struct tree_packed packed;

	if (!cli_temporary(&fd, err) || !tree_pack(cli->pool, &opt, fd, &packed, err))
		return false;
	cli_say("tree %s: %d files, %.1f MB%s", packed.name, packed.files,
		(double)lseek(fd, 0, SEEK_END) / 1e6, packed.is_git ? ", with its history" : "");
	*name = packed.name;
	return cli_upload_tar(cli, fd, blob, err);
}

static bool add_number(struct json_object *o, const char *key, const char *text, struct err *err)
{
	int64_t n;

	if (!text)
		return true;
	if (!text_to_i64(text, 1, 1 << 30, &n))
		return err_set(err, ERR_INVALID, "%s: %.40s is no number", key, text);
	json_add_i64(o, key, n);
	return true;
}

static void add_repos(struct cli *cli, const struct delegation *d, struct json_object *body)
{
	struct json_object *list;

	if (!d->nrepos)
		return;
	list = json_new_array();
	for (size_t i = 0; i < d->nrepos; i++) {
		struct json_object *o = json_new_object();
		const char *at = strchr(d->repos[i], '@');

		json_add_text(o, "repo",
			at ? pool_memdup(cli->pool, d->repos[i], at - d->repos[i]) : d->repos[i]);
		if (at)
			json_add_text(o, "ref", at + 1);
		json_push(list, o);
	}
	json_add(body, "repos", list);
}

static bool delegate(
	struct cli *cli, const struct delegation *d, struct json_object **run, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object();
	const char *blob = NULL, *name = NULL;

	if (!d->no_tree && !d->nrepos && !upload(cli, d, &blob, &name, err))
		return false;
	json_add_text(body, "task", d->task);
	json_add_text(body, "agent", d->agent);
	if (blob) {
		json_add_text(body, "upload", blob);
		json_add_text(body, "dir", name);
	}
	add_repos(cli, d, body);
	if (d->image)
		json_add_text(body, "image", d->image);
	if (d->title)
		json_add_text(body, "title", d->title);
	if (!add_number(body, "memory_mb", d->memory_mb, err) ||
		!add_number(body, "cpus", d->cpus, err))
		return false;
	return http_post_json(cli->http, "/delegate.json", json_text(body, cli->pool), run, err);
}

bool verb_delegate(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	struct delegation d = {.agent = "script"};
	CLEANUP(json) struct json_object *run = NULL;
	CLEANUP(json) struct json_object *end = NULL;
	const char *session;

	if (!parse(cli, &d, argc, argv, err) || !cli_connect(cli, err) ||
		!delegate(cli, &d, &run, err))
		return false;
	session = cli_text(run, "session");
	if (d.no_wait) {
		if (cli->json)
			cli_print_json(cli, run);
		else
			(void)puts(session);
		return true;
	}
	cli_say("%s is on its way; it goes on if you stop this (asb watch %s)", session, session);
	return follow_run(cli, session, &d.follow, &end, err) &&
	       report_run(cli, end, d.patch_file, status, err);
}
