/*
 * asb delegate: packs the tree, uploads it, delegates the task and follows the run to its end.
 */
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "verbs.h"

#define TASK_MAX (256u * 1024)

static const char *const agents[] = {"script", "claude", NULL};

struct delegation {
	const char *task_file, *tree, *agent, *image, *title, *memory_mb, *cpus, *answer, *patch;
	bool no_tree, no_wait, log;
	struct flag_texts repo, include;
	const char *task; /* the text, wherever it came from */
};

static const struct flag flags[] = {
	FLAG(TEXT, struct delegation, task_file, .value = "FILE",
		.help = "the task is in FILE (-: standard input)"),
	FLAG(TEXT, struct delegation, tree, .value = "DIR",
		.help = "the working tree (default: the one around here)"),
	FLAG(BOOL, struct delegation, no_tree, .help = "no tree: the task alone"),
	FLAG(TEXTS, struct delegation, repo, .value = "NAME[@REF]",
		.help = "clone owner/name in the box instead; may be repeated"),
	FLAG(TEXTS, struct delegation, include, .value = "PATH",
		.help = "ship PATH although its name says credentials; may be\nrepeated"),
	FLAG(TEXT, struct delegation, agent, .value = "NAME", .words = agents,
		.help = "who does it: script (default), claude"),
	FLAG(TEXT, struct delegation, image, .value = "NAME", .help = "what the box boots from"),
	FLAG(TEXT, struct delegation, memory_mb, .value = "N", .help = "memory of the box"),
	FLAG(TEXT, struct delegation, cpus, .value = "N", .help = "processors of the box"),
	FLAG(TEXT, struct delegation, title, .value = "TEXT", .help = "what lists show"),
	FLAG(TEXT, struct delegation, answer, .value = "TEXT",
		.help = "the answer to every question (default: ask here)"),
	FLAG(TEXT, struct delegation, patch, .value = "FILE", .help = "store the patch in FILE"),
	FLAG(BOOL, struct delegation, log, .help = "print the raw output too"),
	FLAG(BOOL, struct delegation, no_wait, .help = "print the session and end"),
};

static bool task_read(
	struct cli *cli, struct delegation *d, int nwords, char **words, struct err *err)
{
	char *text;

	if ((nwords == 1) == (d->task_file != NULL))
		return verb_misused("delegate", "give one task, as text or by --task-file", err);
	if (d->repo.n && d->tree)
		return verb_misused("delegate", "a tree or repositories, not both", err);
	if (!d->task_file) {
		d->task = words[0];
		return true;
	}
	if (!cli_read_file(cli->pool, d->task_file, TASK_MAX, &text, err))
		return err_wrap(err, "task");
	d->task = text;
	return true;
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

	if (!d->repo.n)
		return;
	list = json_new_array();
	for (size_t i = 0; i < d->repo.n; i++) {
		struct json_object *o = json_new_object();
		const char *at = strchr(d->repo.v[i], '@');

		json_add_text(o, "repo",
			at ? pool_memdup(cli->pool, d->repo.v[i], at - d->repo.v[i])
			   : d->repo.v[i]);
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

	if (!add_number(body, "memory_mb", d->memory_mb, err) ||
		!add_number(body, "cpus", d->cpus, err))
		return false;
	if (!d->no_tree && !d->repo.n &&
		!cli_upload_tree(cli, d->tree ? d->tree : ".", d->include.v, d->include.n, &blob,
			&name, err))
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
	return http_post_json(cli->http, "/delegate.json", json_text(body, cli->pool), run, err);
}

static bool delegate_and_follow(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	struct delegation *d = options;
	CLEANUP(json) struct json_object *run = NULL;
	CLEANUP(json) struct json_object *end = NULL;
	struct follow_options follow;
	const char *session;

	if (!d->agent)
		d->agent = "script";
	if (!task_read(cli, d, nwords, words, err) || !cli_connect(cli, err) ||
		!delegate(cli, d, &run, err))
		return false;
	session = cli_text(run, "session");
	if (d->no_wait) {
		if (cli->json)
			cli_print_json(cli, run);
		else
			(void)puts(session);
		return true;
	}
	cli_say("%s is on its way; it goes on if you stop this (asb watch %s)", session, session);
	follow = (struct follow_options){.answer = d->answer, .log = d->log};
	return follow_run(cli, session, &follow, &end, err) &&
	       report_run(cli, end, d->patch, status, err);
}

const struct verb verb_delegate = {
	.name = "delegate",
	.usage = "TASK | --task-file FILE",
	.summary = "hand a task and this working tree to an agent in a fresh box",
	VERB_FLAGS(struct delegation, flags),
	.most = 1,
	.run = delegate_and_follow,
};
