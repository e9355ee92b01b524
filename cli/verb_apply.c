/*
 * asb apply: puts what a run changed on the local tree. git does it, after it has said that it can:
 * all of it or nothing. A tree with changes of its own is left alone unless its owner says
 * otherwise, because then nothing can tell the two apart afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "patchstat.h"
#include "pool.h"
#include "tree.h"
#include "verbs.h"

struct apply_options {
	const char *tree;
	bool dirty, undo, check;
};

static const struct flag flags[] = {
	FLAG(TEXT, struct apply_options, tree, .value = "DIR",
		.help = "the working tree (default: the one around here)"),
	FLAG(BOOL, struct apply_options, check,
		.help = "say whether it would go on, change nothing"),
	FLAG(BOOL, struct apply_options, dirty,
		.help = "on top of changes that are not committed; only the files\n"
			"are changed then, not git's index"),
	FLAG(BOOL, struct apply_options, undo, .help = "take it off again"),
};

struct applying {
	struct cli *cli;
	const struct apply_options *o;
	const char *session, *top, *file;
	bool is_dirty;
	struct patchstat stat;
	struct json_object *files;
};

static bool find_top(struct applying *a, struct err *err)
{
	static const char *const args[] = {"rev-parse", "--show-toplevel", NULL};
	char *out;
	size_t n;

	if (!git_run(a->cli->pool, a->o->tree ? a->o->tree : ".", args, &out, &n, err))
		return err_wrap(err, "apply");
	out[strcspn(out, "\n")] = '\0';
	a->top = out;
	return true;
}

static bool look_dirty(struct applying *a, struct err *err)
{
	static const char *const args[] = {
		"status", "--porcelain", "--untracked-files=no", "--ignore-submodules", NULL};
	char *out;
	size_t n;

	if (!git_run(a->cli->pool, a->top, args, &out, &n, err))
		return err_wrap(err, "apply");
	a->is_dirty = n > 0;
	/* what is to be undone is such a change */
	if (!a->is_dirty || a->o->dirty || a->o->undo)
		return true;
	(void)err_set(err, ERR_CONFLICT, "%.150s has changes that are not committed", a->top);
	return err_advise(err, "dirty_tree",
		"commit or stash them, or say --dirty to have the patch on top of them");
}

static bool get_patch(struct applying *a, struct buf *patch, struct err *err)
{
	struct cli *cli = a->cli;
	CLEANUP(json) struct json_object *run = NULL;
	const char *blob;

	if (!http_get_json(cli->http, cli_query(cli->pool, "/watch.json", "session", a->session),
		    &run, err))
		return false;
	blob = cli_text(json_get(run, "patch"), "blob");
	if (*blob)
		return http_get(cli->http, cli_query(cli->pool, "/blob", "name", blob), patch,
			       err) ||
		       err_wrap(err, "get the patch");
	(void)err_set(err, ERR_CONFLICT, "%.32s is %s and has no patch", a->session,
		cli_text(run, "state"));
	return err_advise(err, "no_patch",
		"it changed nothing, or nothing was saved yet; asb diff looks into a box that "
		"lives");
}

static void remember_file(
	void *arg, const char *path, size_t n, long added, long removed, bool binary)
{
	struct applying *a = arg;
	struct json_object *o = json_new_object();

	json_add_text_n(o, "path", path, n);
	json_add_i64(o, "added", added);
	json_add_i64(o, "removed", removed);
	json_add_bool(o, "binary", binary);
	json_push(a->files, o);
}

/* git reads it from a file, which nobody else can. */
static bool store(struct applying *a, const struct buf *patch, char *path, struct err *err)
{
	CLEANUP(fd) int fd = mkstemp(path);

	if (fd < 0)
		return err_errno(err, ERR_INTERNAL, "a temporary file");
	a->file = path;
	for (size_t at = 0; at < patch->len;) {
		ssize_t n = write(fd, patch->data + at, patch->len - at);

		if (n < 0 && errno != EINTR)
			return err_errno(err, ERR_INTERNAL, "a temporary file");
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* how: --index, --3way or NULL (the files alone). */
static bool git_apply(struct applying *a, const char *how, bool check, struct err *err)
{
	const char *args[8] = {"apply", "--binary", "--whitespace=nowarn"};
	const char *said;
	size_t at = 3, n;
	char *out;

	if (a->o->undo)
		args[at++] = "-R";
	if (how)
		args[at++] = how;
	if (check)
		args[at++] = "--check";
	args[at] = a->file;
	if (!git_run_said(a->cli->pool, a->top, args, &out, &n, &said, err))
		return false;
	/* a merge that leaves marks in files is a success to git's check */
	return !strstr(said, "with conflicts") ||
	       err_set(err, ERR_CONFLICT, "it and the tree changed the same lines");
}

static bool put_on(struct applying *a, struct err *err)
{
	const char *how = a->o->undo ? "--index" : a->is_dirty ? NULL : "--3way";
	struct err ignored;

	/* what --dirty put on is in the files alone */
	if (a->o->undo && !git_apply(a, how, true, &ignored))
		how = NULL;
	if (!git_apply(a, how, true, err)) {
		err->code = ERR_CONFLICT;
		(void)err_wrap(err, "nothing was changed");
		return err_advise(err, "patch_conflict",
			a->o->undo ? "what it changed was changed again, or it is not on this tree"
				   : "is this the tree that was delegated, and as it was then?");
	}
	return a->o->check || git_apply(a, how, false, err);
}

static void report(struct applying *a)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct pool *pool = a->cli->pool;
	const char *did = a->o->check ? "would go on" : a->o->undo ? "was taken off" : "is on";

	json_add_text(o, "session", a->session);
	json_add_text(o, "tree", a->top);
	json_add_bool(o, "changed", !a->o->check);
	json_add_bool(o, "undone", a->o->undo);
	json_add(o, "files", json_share(a->files));
	if (a->cli->json) {
		cli_print_json(a->cli, o);
		return;
	}
	for (size_t i = 0; i < json_count(a->files); i++) {
		struct json_object *f = json_at(a->files, i);
		int64_t added = 0, removed = 0;
		bool binary = false;

		(void)json_get_bool(f, "binary", &binary);
		(void)json_get_i64(f, "added", &added);
		(void)json_get_i64(f, "removed", &removed);
		(void)printf("  %s | %s\n", cli_line(pool, cli_text(f, "path")),
			binary ? "binary"
			       : pool_printf(pool, "+%lld -%lld", (long long)added,
					 (long long)removed));
	}
	(void)printf("%s %s %s: %d files, %ld insertions, %ld deletions\n", a->session, did, a->top,
		a->stat.files, a->stat.added, a->stat.removed);
	if (!a->o->check && !a->o->undo)
		(void)printf("undo with: asb apply --undo %s\n", a->session);
}

static bool apply(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(buf) struct buf patch = BUF_INIT(HTTP_REPLY_MAX);
	CLEANUP(json) struct json_object *files = json_new_array();
	struct applying a = {.cli = cli, .o = options, .session = words[0], .files = files};
	const char *tmp = getenv("TMPDIR");
	char *path =
		pool_printf(cli->pool, "%s/asb-patch.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	bool ok;

	(void)nwords;
	(void)status;
	if (!find_top(&a, err) || !look_dirty(&a, err) || !cli_connect(cli, err) ||
		!get_patch(&a, &patch, err))
		return false;
	patchstat_count(patch.data, patch.len, &a.stat, remember_file, &a);
	ok = store(&a, &patch, path, err) && put_on(&a, err);
	if (a.file)
		(void)unlink(a.file);
	if (ok)
		report(&a);
	return ok;
}

const struct verb verb_apply = {
	.name = "apply",
	.usage = "SESSION",
	.summary = "put what a run changed on the local tree",
	.about = "Binary files and new files are put on as well. git checks first: all of the "
		 "patch\n"
		 "goes on, or nothing is changed.",
	VERB_FLAGS(struct apply_options, flags),
	.least = 1,
	.most = 1,
	.wants = "which session?",
	.word = WORD_SESSION,
	.run = apply,
};
