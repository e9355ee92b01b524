/*
 * Saving the work of a turn. git runs in the box only: as user git with the baseline's own
 * directory for the patch, as the agent for its own commits. What comes out is bytes to us.
 */
#include "results.h"

#include <string.h>

#include "artifacts.h"
#include "blob.h"
#include "checkout.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

#define AGAIN_MS 500 /* before a save that the database broke off is begun anew */

/* $1: the tree's name. HEAD of the start stands in the baseline's message. */
static const char patch_script[] =
	"umask 077\n"
	"export GIT_DIR=\"/var/lib/asb/base/$1.git\" GIT_WORK_TREE=\"/workspace/$1\"\n"
	"[ -d \"$GIT_DIR\" ] || exit 0\n"
	"[ -z \"$2\" ] || { cp -f \"$GIT_DIR/index\" \"$2\"; export GIT_INDEX_FILE=\"$2\"; }\n"
	"cd \"$GIT_WORK_TREE\"\n"
	"git add -A --ignore-errors . || true\n"
	"exec git diff --cached --binary --full-index --no-color --no-ext-diff --no-textconv"
	" --no-renames --src-prefix=a/ --dst-prefix=b/ refs/asb/base --\n";

static const char base_head_script[] =
	"[ -d \"/var/lib/asb/base/$1.git\" ] || exit 0\n"
	"exec git --git-dir=\"/var/lib/asb/base/$1.git\" log -1 --format=%s refs/asb/base --\n";

/* $1 name, $2 HEAD at the start or "". Nothing where HEAD did not move. */
static const char bundle_script[] = "cd \"/workspace/$1\"\n"
				    "head=$(git rev-parse -q --verify HEAD 2>/dev/null) || exit 0\n"
				    "[ \"$head\" != \"$2\" ] || exit 0\n"
				    "[ -z \"$2\" ] || set -- \"$1\" \"^$2\"\n"
				    "shift\n"
				    "exec git -c core.fsmonitor=false -c core.hooksPath=/dev/null "
				    "bundle create -q - HEAD \"$@\"\n";

/* stdout of an exec as a blob; made with the first byte, so that nothing makes no blob. */
struct saved {
	struct runner *r;
	struct blob_new blob;
	struct blob_writer *writer;
};

static bool saved_write(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct saved *s = arg;

	if (stream != 1 || !n)
		return true;
	if (!s->writer && !blob_open(s->r->db, &s->blob, &s->writer, err))
		return false;
	return blob_write(s->writer, data, n, err);
}

bool results_patch(struct guest *g, const char *name, guest_sink *sink, void *arg, int64_t deadline,
	struct err *err)
{
	const char *const argv[] = {"/bin/bash", "-euc", patch_script, "bash", name,
		pool_printf(g->r->pool, BASELINE_DIR "/%s.look", name), NULL};
	struct guest_exec x = {
		.argv = argv, .env = git_env, .cwd = "/", .user = "git", .sink = sink, .arg = arg};

	return guest_exec_ok(g, &x, "patch", deadline, err);
}

static bool saved_run(struct guest *g, struct saved *s, const char *script, const char *user,
	const char *const *env, const char *name, const char *arg, const char *what,
	int64_t deadline, int64_t *id, struct err *err)
{
	const char *const argv[] = {
		"/bin/bash", "-euc", script, "bash", name, arg ? arg : "", NULL};
	struct guest_exec x = {
		.argv = argv, .env = env, .cwd = "/", .user = user, .sink = saved_write, .arg = s};
	struct blob_made made;
	bool ok = guest_exec_ok(g, &x, what, deadline, err) &&
		  (!s->writer || blob_close(s->writer, &made, err));

	if (ok && s->writer)
		*id = made.id;
	blob_writer_free(s->writer);
	s->writer = NULL;
	return ok;
}

/* HEAD when the tree was placed; "" where it had none. */
static bool base_head(
	struct guest *g, const char *name, const char **head, int64_t deadline, struct err *err)
{
	const char *const argv[] = {"/bin/bash", "-euc", base_head_script, "bash", name, NULL};
	struct guest_said h = {0};
	struct guest_exec x = {.argv = argv,
		.env = git_env,
		.cwd = "/",
		.user = "git",
		.sink = guest_said_read,
		.arg = &h};
	size_t n;

	if (!guest_exec_ok(g, &x, "baseline", deadline, err))
		return false;
	*head = "";
	if (strncmp(h.text, "head:", 5))
		return true;
	n = strcspn(h.text + 5, "\n");
	if (strspn(h.text + 5, "0123456789abcdef") == n && (n == 40 || n == 64))
		*head = pool_memdup(g->r->pool, h.text + 5, n);
	return true;
}

static void note_add(struct results *out, const char *what, const struct err *e)
{
	size_t n = strlen(out->note);

	(void)snprintf(
		out->note + n, sizeof(out->note) - n, "%s%s: %s", n ? "; " : "", what, e->msg);
}

/* Errors that are not about this one result: no use to go on. */
static bool is_final(const struct guest *g, const struct err *e)
{
	return runner_is_stale(g->r, e) || g->r->term || e->code == ERR_INTERNAL ||
	       e->code == ERR_BUSY || !strcmp(e->reason, "box_lost") ||
	       !strcmp(e->reason, "guest_panic") || !strcmp(e->reason, "protocol") ||
	       !strcmp(e->reason, "agent_lost") || !strcmp(e->reason, "stale_epoch");
}

static bool tree_save(struct guest *g, const struct tree *t, bool first, struct saved *s,
	int64_t deadline, struct results *out, struct err *err)
{
	const char *head = "";
	int64_t patch = 0, bundle = 0;

	s->blob.kind = BLOB_PATCH;
	s->blob.file_name = pool_printf(g->r->pool, "%s.patch", t->dir);
	if (!saved_run(g, s, patch_script, "git", git_env, t->dir, NULL, "patch", deadline, &patch,
		    err)) {
		if (is_final(g, err))
			return false;
		note_add(out, t->dir, err);
	}
	s->blob.kind = BLOB_BUNDLE;
	s->blob.file_name = pool_printf(g->r->pool, "%s.bundle", t->dir);
	if (!base_head(g, t->dir, &head, deadline, err) ||
		!saved_run(g, s, bundle_script, "agent", agent_git_env, t->dir, head, "bundle",
			deadline, &bundle, err)) {
		if (is_final(g, err))
			return false;
		note_add(out, t->dir, err);
	}
	/* the turn's row names those of the first tree; the others are found by run and kind */
	if (first || !out->patch_id)
		out->patch_id = patch;
	if (first || !out->bundle_id)
		out->bundle_id = bundle;
	return true;
}

static bool save_once(struct guest *g, const struct trees *trees, struct saved *s, int64_t deadline,
	struct results *out, struct err *err)
{
	for (size_t i = 0; i < trees->count; i++)
		if (!tree_save(g, &trees->list[i], i == 0, s, deadline, out, err))
			return false;
	if (!artifacts_save(g, &s->blob, deadline, &out->artifacts, err)) {
		if (is_final(g, err))
			return false;
		note_add(out, "artifacts", err);
	}
	return true;
}

struct newest {
	int64_t run_id, blob_id;
};

static bool newest_body(struct runner *r, void *arg, struct err *err)
{
	struct newest *n = arg;

	return blob_newest(r->db, n->run_id, &n->blob_id, err);
}

bool results_save(struct guest *g, const struct trees *trees, int64_t run_id, int64_t turn_id,
	int64_t deadline, struct results *out, struct err *err)
{
	struct newest before = {.run_id = run_id};
	struct runner *r = g->r;
	struct saved s = {
		.r = r,
		.blob =
			{
				.account_id = r->job.account_id,
				.run_id = run_id,
				.turn_id = turn_id,
				.max_bytes = r->cfg->artifact_max,
				.run_max_bytes = r->cfg->run_blob_max,
				.fence = &r->job.fence,
			},
	};

	if (!runner_try(r, newest_body, &before, err))
		return false;
	do {
		*out = (struct results){.before = before.blob_id};
		if (save_once(g, trees, &s, deadline, out, err))
			return true;
	} while (err->code == ERR_BUSY && !r->stale && !r->cancel && time_boot_ms() < deadline &&
		 runner_sleep(r, AGAIN_MS));
	return false;
}

bool results_replace(struct runner *r, const struct results *saved, int64_t run_id, int64_t turn_id,
	struct err *err)
{
	return saved->note[0] ||
	       blob_replace(r->db, &r->job.fence, run_id, turn_id, saved->before, err);
}
