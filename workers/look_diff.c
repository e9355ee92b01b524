/*
 * diff: what differs between a tree and what was delivered. Of a sandbox, boxd compares the tree
 * with the copy that only git's user in the box can reach, and the texts of both sides are compared
 * here: nothing is started in the box. Of a run, whose tree may have come by git, our git in the
 * box makes the patch as at the end of a turn.
 */
#include <stdlib.h>
#include <string.h>

#include "checkout.h"
#include "cleanup.h"
#include "json.h"
#include "looks.h"
#include "pool.h"
#include "results.h"
#include "runner.h"
#include "text.h"
#include "textdiff.h"

/* Of a file on either side; of the whole patch LOOK_ANSWER_MAX. */
#define TEXT_MAX (512 * 1024)

/* As git writes names in a patch. */
static void name_add(struct buf *b, const char *side, const char *path)
{
	bool plain = true;

	for (const char *p = path; *p; p++)
		plain &= (unsigned char)*p >= ' ' && *p != '"' && *p != '\\' && *p != 127;
	if (plain) {
		(void)buf_addf(b, "%s%s", side, path);
		return;
	}
	(void)buf_addf(b, "\"%s", side);
	for (const char *p = path; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < ' ' || c == 127)
			(void)buf_addf(b, "\\%03o", c);
		else
			(void)buf_addf(b, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
	}
	(void)buf_addc(b, '"');
}

static void header_add(
	struct buf *b, const char *path, const char *change, int64_t mode, int64_t was)
{
	/* a file is executable or it is not: git knows no more */
	const char *now = mode & 0100 ? "100755" : "100644",
		   *old = was & 0100 ? "100755" : "100644";

	(void)buf_adds(b, "diff --git ");
	name_add(b, "a/", path);
	(void)buf_addc(b, ' ');
	name_add(b, "b/", path);
	(void)buf_addc(b, '\n');
	if (!strcmp(change, "added"))
		(void)buf_addf(b, "new file mode %s\n", now);
	else if (!strcmp(change, "removed"))
		(void)buf_addf(b, "deleted file mode %s\n", old);
	else if (strcmp(now, old) != 0)
		(void)buf_addf(b, "old mode %s\nnew mode %s\n", old, now);
}

struct side {
	const char *kind;
	int64_t size, mode;
	struct buf text;
};

/* True: there is a text to compare, which may be none at all. */
static bool side_read(struct looking *l, struct side *s, const char *path, const char *user)
{
	CLEANUP(json) struct json_object *done = NULL;
	struct err err;

	if (!*s->kind)
		return true;
	return !strcmp(s->kind, "file") && s->size <= TEXT_MAX &&
	       (!s->size || look_bytes(l, path, user, 0, TEXT_MAX, &s->text, &done, &err)) &&
	       !memchr(s->text.data, 0, s->text.len) && text_is_utf8(s->text.data, s->text.len);
}

static void hunks_add(
	struct buf *b, const char *path, const struct side *was, const struct side *now)
{
	if (!was->text.len && !now->text.len)
		return;
	(void)buf_adds(b, "--- ");
	if (*was->kind)
		name_add(b, "a/", path);
	else
		(void)buf_adds(b, "/dev/null");
	(void)buf_adds(b, "\n+++ ");
	if (*now->kind)
		name_add(b, "b/", path);
	else
		(void)buf_adds(b, "/dev/null");
	(void)buf_addc(b, '\n');
	(void)textdiff(was->text.data, was->text.len, now->text.data, now->text.len, b);
}

/* One change as text; false: the patch does not have it. */
static bool patch_add(struct looking *l, const struct look_line *line, const char *change,
	const char *tree, const char *base, struct buf *patch)
{
	CLEANUP(buf) struct buf one = BUF_INIT(LOOK_ANSWER_MAX);
	struct side now = {.kind = "", .text = BUF_INIT(TEXT_MAX)};
	struct side was = {.kind = "", .text = BUF_INIT(TEXT_MAX)};
	struct pool *pool = l->r->pool;
	bool ok;

	(void)json_get_text(line->o, "kind", &now.kind);
	(void)json_get_i64(line->o, "size", &now.size);
	(void)json_get_i64(line->o, "mode", &now.mode);
	(void)json_get_text(line->o, "base_kind", &was.kind);
	(void)json_get_i64(line->o, "base_size", &was.size);
	(void)json_get_i64(line->o, "base_mode", &was.mode);
	ok = strcmp(change, "kind") != 0 && strcmp(change, "unreadable") != 0 &&
	     side_read(l, &was, pool_printf(pool, "%s/%s", base, line->path), "git") &&
	     side_read(l, &now, pool_printf(pool, "%s/%s", tree, line->path), "agent");
	if (ok) {
		header_add(&one, line->path, change, now.mode, was.mode);
		hunks_add(&one, line->path, &was, &now);
	} else if (!strcmp(now.kind, "file") || !strcmp(was.kind, "file")) {
		header_add(&one, line->path, change, now.mode, was.mode);
		(void)buf_adds(&one, "Binary files ");
		name_add(&one, "a/", line->path);
		(void)buf_adds(&one, " and ");
		name_add(&one, "b/", line->path);
		(void)buf_adds(&one, " differ\n");
	}
	ok = ok && !one.failed;
	if (!one.failed)
		ok = buf_add(patch, one.data, one.len) && ok;
	buf_done(&now.text);
	buf_done(&was.text);
	return ok;
}

/* git's own files say what git did, which is no change of the tree. */
static bool is_gits(const char *path)
{
	return text_has_prefix(path, ".git/") || !strcmp(path, ".git");
}

static bool changes_add(struct looking *l, const struct look_lines *lines, const char *tree,
	const char *base, struct json_object *out, struct err *err)
{
	CLEANUP(buf) struct buf patch = BUF_INIT(LOOK_ANSWER_MAX);
	struct json_object *changes = json_new_array();
	bool complete = true, truncated = false;

	for (size_t i = 0; i < lines->n; i++) {
		struct json_object *o = json_new_object();
		const char *change = "";
		bool in_patch = false;

		(void)json_get_text(lines->list[i].o, "change", &change);
		if (time_boot_ms() < l->deadline - 2000 && !is_gits(lines->list[i].path))
			in_patch = patch_add(l, &lines->list[i], change, tree, base, &patch);
		json_add_text(o, "path", lines->list[i].path);
		json_add_text(o, "change", change);
		json_add_bool(o, "in_patch", in_patch);
		complete &= in_patch || is_gits(lines->list[i].path);
		if (is_gits(lines->list[i].path))
			json_free(o);
		else
			json_push(changes, o);
	}
	(void)err;
	(void)json_get_bool(lines->done, "truncated", &truncated);
	json_add(out, "changes", changes);
	json_add_text_n(out, "patch", patch.data, patch.len);
	json_add_bool(out, "patch_complete", complete && !truncated);
	json_add_bool(out, "truncated", truncated);
	return true;
}

static bool sandbox_diff(struct looking *l, struct json_object *out, struct err *err)
{
	CLEANUP(look_lines) struct look_lines lines = {0};
	CLEANUP(json) struct json_object *request = json_new_object();
	static const char base[] = BASELINE_DIR "/" SANDBOX_TREE BASELINE_FILES;

	if (!l->row.upload_id) {
		(void)err_set(err, ERR_CONFLICT, "nothing was synced into this sandbox");
		return err_advise(err, "no_baseline", NULL);
	}
	json_add_text(request, "path", l->trees.cwd);
	json_add_text(request, "base", base);
	json_add_i64(request, "max_changes", LOOK_ENTRIES_MAX);
	if (!look_lines_get(l, WIRE_DIFF, request, &lines, err))
		return false;
	json_add_text(out, "path", l->trees.cwd);
	return changes_add(l, &lines, l->trees.cwd, base, out, err);
}

struct text_sink {
	struct buf text;
	bool cut;
};

static bool patch_keep(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct text_sink *s = arg;
	size_t room = s->text.max - s->text.len;

	(void)err;
	if (stream != 1)
		return true;
	s->cut |= n > room;
	(void)buf_add(&s->text, data, n < room ? n : room);
	return true;
}

/* The tree that is asked for, or the only one. */
static const char *run_tree(struct looking *l, struct err *err)
{
	const char *name = look_text(l, "tree", "");
	CLEANUP(buf) struct buf names = BUF_INIT(1024);

	for (size_t i = 0; i < l->trees.count; i++) {
		const char *dir = l->trees.list[i].dir;

		if (!strcmp(dir, name) || (!name[0] && l->trees.count == 1))
			return dir;
		(void)buf_addf(&names, "%s%s", i ? ", " : "", dir);
	}
	if (!l->trees.count) {
		(void)err_set(err, ERR_CONFLICT, "nothing was delivered into this run's box");
		(void)err_advise(err, "no_baseline", NULL);
		return NULL;
	}
	(void)err_set(err, ERR_INVALID, "tree: one of %s", names.data);
	(void)err_advise(err, "field", NULL);
	return NULL;
}

static bool run_diff(struct looking *l, struct json_object *out, struct err *err)
{
	const char *name = run_tree(l, err);
	struct text_sink s = {.text = BUF_INIT(LOOK_ANSWER_MAX)};
	CLEANUP(buf) struct buf sane = BUF_INIT(LOOK_ANSWER_MAX * 4);
	bool ok;

	if (!name)
		return false;
	ok = results_patch(&l->g, name, patch_keep, &s, l->deadline, err);
	/* what is not UTF-8 is shown as such: the patch that is kept at a turn's end is exact */
	text_add_sane(&sane, s.text.data, s.text.len);
	buf_done(&s.text);
	if (!ok)
		return false;
	json_add_text(out, "path", pool_printf(l->r->pool, "/workspace/%s", name));
	json_add_text_n(out, "patch", sane.data, sane.len);
	json_add_bool(out, "patch_complete", !s.cut);
	json_add_bool(out, "truncated", s.cut);
	return true;
}

bool look_op_diff(struct looking *l, struct json_object *out, struct err *err)
{
	return l->row.is_sandbox ? sandbox_diff(l, out, err) : run_diff(l, out, err);
}
