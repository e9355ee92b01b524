/*
 * Placing trees. Every step may be done again from its start: the agent has not run yet, so a
 * runner that takes over simply clears the folder.
 */
#include "checkout.h"

#include <string.h>

#include "blob.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "json.h"
#include "killpoint.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

/* hooks, monitors, filters and helpers off; nothing is read but what stands here */
const char *const git_env[] = {
	"PATH",
	"/usr/local/bin:/usr/bin:/bin",
	"HOME",
	"/nonexistent",
	"LC_ALL",
	"C",
	"GIT_CONFIG_NOSYSTEM",
	"1",
	"GIT_CONFIG_GLOBAL",
	"/dev/null",
	"GIT_TERMINAL_PROMPT",
	"0",
	"GIT_OPTIONAL_LOCKS",
	"0",
	"GIT_CONFIG_COUNT",
	"10",
	"GIT_CONFIG_KEY_0",
	"core.hooksPath",
	"GIT_CONFIG_VALUE_0",
	"/dev/null",
	"GIT_CONFIG_KEY_1",
	"core.fsmonitor",
	"GIT_CONFIG_VALUE_1",
	"false",
	"GIT_CONFIG_KEY_2",
	"core.attributesFile",
	"GIT_CONFIG_VALUE_2",
	"/dev/null",
	"GIT_CONFIG_KEY_3",
	"core.excludesFile",
	"GIT_CONFIG_VALUE_3",
	"/dev/null",
	"GIT_CONFIG_KEY_4",
	"core.autocrlf",
	"GIT_CONFIG_VALUE_4",
	"false",
	"GIT_CONFIG_KEY_5",
	"core.fileMode",
	"GIT_CONFIG_VALUE_5",
	"true",
	"GIT_CONFIG_KEY_6",
	"core.symlinks",
	"GIT_CONFIG_VALUE_6",
	"true",
	/* the baseline lives as long as its box: neither made small nor flushed */
	"GIT_CONFIG_KEY_7",
	"core.looseCompression",
	"GIT_CONFIG_VALUE_7",
	"0",
	"GIT_CONFIG_KEY_8",
	"pack.compression",
	"GIT_CONFIG_VALUE_8",
	"0",
	"GIT_CONFIG_KEY_9",
	"core.fsync",
	"GIT_CONFIG_VALUE_9",
	"none",
	"GIT_AUTHOR_NAME",
	"baseline",
	"GIT_AUTHOR_EMAIL",
	"baseline@localhost",
	"GIT_COMMITTER_NAME",
	"baseline",
	"GIT_COMMITTER_EMAIL",
	"baseline@localhost",
	NULL,
};

const char *const agent_git_env[] = {
	"PATH",
	"/usr/local/bin:/usr/bin:/bin",
	"HOME",
	"/home/agent",
	"LC_ALL",
	"C.UTF-8",
	"GIT_CONFIG_NOSYSTEM",
	"1",
	"GIT_CONFIG_GLOBAL",
	"/dev/null",
	"GIT_TERMINAL_PROMPT",
	"0",
	NULL,
};

/* $1: the tree's name */
static const char clear_script[] =
	"rm -rf -- \"/workspace/$1\" \"/var/lib/asb/base/$1.git\"\n"
	"install -d -o 1000 -g 1000 \"/workspace/$1\" 2>/dev/null || mkdir -p \"/workspace/$1\"\n";

/* $1 name, $2 URL, $3 ref or "" */
static const char clone_script[] = "cd /workspace\n"
				   "git clone -q -- \"$2\" \"$1\"\n"
				   "[ -z \"$3\" ] || git -C \"$1\" checkout -q \"$3\" --\n";

/* Cuts credentials out of the tree's git configuration, then says where HEAD stands. */
static const char clean_script[] =
	"cd \"/workspace/$1\"\n"
	"for f in .git/config .git/modules/*/config; do\n"
	"	[ -f \"$f\" ] && [ ! -L \"$f\" ] || continue\n"
	"	sed -i -E -e 's#([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@[:space:]]*@#\\1#g'"
	" -e '/^[[:space:]]*(extraheader|helper|password|token)[[:space:]]*=/Id' \"$f\"\n"
	"done\n"
	"git rev-parse -q --verify HEAD 2>/dev/null || true\n";

/* $1 name, $2 HEAD or "" */
static const char baseline_script[] =
	"umask 077\n"
	"export GIT_DIR=\"/var/lib/asb/base/$1.git\" GIT_WORK_TREE=\"/workspace/$1\"\n"
	"cd \"$GIT_WORK_TREE\"\n"
	"git init -q --template=\n"
	"mkdir -p \"$GIT_DIR/info\"\n"
	"echo '* -text -filter -ident -working-tree-encoding !diff !merge' "
	">\"$GIT_DIR/info/attributes\"\n"
	/* "big" files go into one pack instead of a file each */
	"git -c core.bigFileThreshold=1 add -A -f --ignore-errors . || true\n"
	"git update-ref refs/asb/base \"$(git commit-tree -m \"head:$2\" \"$(git "
	"write-tree)\")\"\n";

static bool tree_error(struct err *err)
{
	if (!err->reason[0])
		(void)err_advise(err, "tree", NULL);
	return false;
}

static bool script_run(struct guest *g, const char *script, const char *user,
	const char *const *env, const char *const args[3], guest_sink *sink, void *arg,
	const char *what, int64_t deadline, struct err *err)
{
	const char *const argv[] = {"/bin/bash", "-euc", script, "bash", args[0],
		args[1] ? args[1] : "", args[2] ? args[2] : "", NULL};
	struct guest_exec x = {
		.argv = argv, .env = env, .cwd = "/", .user = user, .sink = sink, .arg = arg};

	return guest_exec_ok(g, &x, what, deadline, err);
}

/* Letters that git takes in a ref and no shell, option or path trick needs. */
static bool ref_is_plain(const char *s, size_t max)
{
	size_t n = strlen(s);

	return n && n <= max && s[0] != '-' && !strstr(s, "..") &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == n;
}

static const char *first_upstream(struct runner *r)
{
	const char *s = r->cfg->git_upstreams ? r->cfg->git_upstreams : "";
	size_t n = strcspn(s, "= ");

	return s[n] == '=' && n ? pool_memdup(r->pool, s, n) : "github.com";
}

static bool tree_read(
	struct runner *r, struct json_object *o, bool is_git, struct tree *t, struct err *err)
{
	const char *s;

	memset(t, 0, sizeof(*t));
	if (json_get_text(o, "repo", &s))
		t->repo = pool_strdup(r->pool, s);
	if (json_get_text(o, "ref", &s) && s[0])
		t->ref = pool_strdup(r->pool, s);
	if (json_get_text(o, "host", &s))
		t->host = pool_strdup(r->pool, s);
	if (json_get_text(o, "dir", &s))
		t->dir = pool_strdup(r->pool, s);
	else if (t->repo && strrchr(t->repo, '/'))
		t->dir = strrchr(t->repo, '/') + 1;
	if (!t->host)
		t->host = first_upstream(r);
	if (!t->dir || !text_is_name(t->dir) ||
		(is_git && (!t->repo || !ref_is_plain(t->repo, 200))) ||
		(t->ref && !ref_is_plain(t->ref, 200)) || !text_is_name(t->host)) {
		(void)err_set(err, ERR_INVALID, "the run's row names a tree that cannot be");
		return tree_error(err);
	}
	return true;
}

bool trees_read(struct runner *r, const char *source, const char *repos, int64_t upload_id,
	struct trees *out, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	bool is_git = !strcmp(source, "git");
	size_t n;

	memset(out, 0, sizeof(*out));
	out->source = source;
	out->upload_id = upload_id;
	out->cwd = "/workspace";
	if (!strcmp(source, "none"))
		return true;
	if (!json_parse(repos, strlen(repos), &o, err))
		return err_wrap(err, "repos");
	n = json_count(o);
	out->list = POOL_ARRAY(r->pool, struct tree, n + 1);
	for (size_t i = 0; i < n; i++)
		if (!tree_read(r, json_at(o, i), is_git, &out->list[i], err))
			return false;
	out->count = n;
	if (!is_git && !n) {
		out->list[0].dir = "tree";
		out->count = 1;
	}
	if (out->count == 1)
		out->cwd = pool_printf(r->pool, "/workspace/%s", out->list[0].dir);
	return true;
}

/* A blob as the source of a tar: one chunk in memory at a time. */
struct upload {
	struct runner *r;
	int64_t id, next;
	struct pool *pool;
	const unsigned char *data;
	size_t size, at;
};

static bool upload_read(void *arg, void *data, size_t size, size_t *n, struct err *err)
{
	struct upload *u = arg;

	if (u->at == u->size) {
		pool_free(u->pool);
		u->pool = pool_new();
		u->at = u->size = 0;
		if (!blob_chunk(u->r->db, u->pool, u->id, u->next++, &u->data, &u->size, err))
			return err_wrap(err, "read upload");
	}
	*n = u->size - u->at < size ? u->size - u->at : size;
	memcpy(data, u->data + u->at, *n);
	u->at += *n;
	return true;
}

bool tree_keep(
	struct guest *g, int64_t upload_id, const char *dir, int64_t deadline, struct err *err)
{
	struct upload u = {.r = g->r, .id = upload_id};
	bool ok = guest_tar_in(g, pool_printf(g->r->pool, BASELINE_DIR "/%s" BASELINE_FILES, dir),
		"git", upload_read, &u, deadline, err);

	pool_free(u.pool);
	return ok ? true : tree_error(err);
}

static bool tree_fetch(struct guest *g, const struct trees *trees, const struct tree *t,
	int64_t deadline, struct err *err)
{
	struct runner *r = g->r;
	const char *path = pool_printf(r->pool, "/workspace/%s", t->dir);

	if (!strcmp(trees->source, "upload")) {
		struct upload u = {.r = r, .id = trees->upload_id};
		bool ok = guest_tar_in(g, path, "agent", upload_read, &u, deadline, err);

		pool_free(u.pool);
		return ok;
	}
	const char *url =
		pool_printf(r->pool, "http://127.0.0.1:8377/git/%s/%s.git", t->host, t->repo);

	return script_run(g, clone_script, "agent", agent_git_env,
		(const char *const[3]){t->dir, url, t->ref}, NULL, NULL, "git clone", deadline,
		err);
}

static bool tree_place(struct guest *g, const struct trees *trees, const struct tree *t,
	int64_t deadline, struct err *err)
{
	const char *args[3] = {t->dir, NULL, NULL};
	struct guest_said head = {0};
	size_t n;

	if (!script_run(g, clear_script, "root", git_env, args, NULL, NULL, "clear the workspace",
		    deadline, err) ||
		!tree_fetch(g, trees, t, deadline, err) ||
		!script_run(g, clean_script, "agent", agent_git_env, args, guest_said_read, &head,
			"clean the tree", deadline, err))
		return false;
	n = strcspn(head.text, "\n");
	head.text[n] = '\0';
	if (strspn(head.text, "0123456789abcdef") == n && (n == 40 || n == 64))
		args[1] = head.text;
	return script_run(
		g, baseline_script, "git", git_env, args, NULL, NULL, "baseline", deadline, err);
}

bool trees_place(struct guest *g, const struct trees *trees, int64_t deadline, struct err *err)
{
	for (size_t i = 0; i < trees->count; i++)
		if (!tree_place(g, trees, &trees->list[i], deadline, err)) {
			(void)err_wrap(err, "tree %s", trees->list[i].dir);
			return tree_error(err);
		}
	kill_point("after_tree");
	return true;
}
