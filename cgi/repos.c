/*
 * Naming git trees. Only names are looked at here: whether a repo is there, and may be read, is
 * found out when the box clones it through the gate.
 */
#include "repos.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "upstream.h"

static const char name_chars[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

static bool unknown(const struct upstreams *upstreams, const char *repo, struct err *err)
{
	char list[160];
	size_t n = 0;

	(void)snprintf(list, sizeof(list),
		"No git host is set up here: set ASB_GIT_UPSTREAMS, or upload the tree.");
	for (size_t i = 0; i < upstreams->n && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s/OWNER/NAME",
			i ? ", " : "Possible: OWNER/NAME, ", upstreams->v[i].name);
	(void)err_set(err, ERR_INVALID, "repos: unknown repo %.100s", repo);
	return err_advise(err, "unknown_repo", list);
}

static bool has_dir(const char *const *dirs, size_t n, const char *dir)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(dirs[i], dir))
			return true;
	return false;
}

bool repos_json(struct pool *pool, const struct upstreams *upstreams, const struct repo_input *in,
	size_t n, const char **out, struct err *err)
{
	CLEANUP(json) struct json_object *list = json_new_array();
	const char **dirs = POOL_ARRAY(pool, const char *, n);

	*out = NULL;
	for (size_t i = 0; i < n; i++) {
		struct json_object *o;
		const char *owner_name, *dir = in[i].dir;
		const struct upstream *up = upstream_match(upstreams, in[i].repo, &owner_name);

		if (!up)
			return unknown(upstreams, in[i].repo, err);
		if (!dir)
			dir = strchr(owner_name, '/') + 1;
		if (has_dir(dirs, i, dir)) {
			(void)err_set(
				err, ERR_INVALID, "repos: two trees in one folder, %.100s", dir);
			return err_advise(err, "field", "Give one of them another dir.");
		}
		dirs[i] = dir;
		o = json_new_object();
		json_add_text(o, "repo", owner_name);
		json_add_text(o, "host", up->name);
		json_add_text(o, "ref", in[i].ref);
		json_add_text(o, "dir", dir);
		json_push(list, o);
	}
	if (n)
		*out = json_text(list, pool);
	return true;
}

/* "owner/name" at s, without a ".git" and without the full stop of a sentence; NULL: there is none.
 */
static const char *owner_name_at(struct pool *pool, const char *s)
{
	size_t owner = strspn(s, name_chars), n;
	char *text;

	if (!owner || s[owner] != '/')
		return NULL;
	n = owner + 1 + strspn(s + owner + 1, name_chars);
	while (n > owner + 1 && s[n - 1] == '.')
		n--;
	if (n > owner + 5 && !strncmp(s + n - 4, ".git", 4))
		n -= 4;
	text = pool_memdup(pool, s, n);
	return text;
}

static bool is_boundary(const char *text, const char *at)
{
	return at == text || !strchr(name_chars, at[-1]);
}

size_t repos_infer(struct pool *pool, const struct upstreams *upstreams, const char *text,
	struct repo_input out[REPOS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < upstreams->n; i++) {
		const char *host = pool_printf(pool, "%s/", upstreams->v[i].name), *ignored,
			   *at = text;

		while (n < REPOS_MAX && (at = strstr(at, host)) != NULL) {
			const char *found = owner_name_at(pool, at + strlen(host)), *repo;
			bool known = false;

			repo = found ? pool_printf(pool, "%s%s", host, found) : "";
			for (size_t k = 0; k < n; k++)
				known = known || !strcmp(out[k].repo, repo);
			if (is_boundary(text, at) && !known &&
				upstream_match(upstreams, repo, &ignored))
				out[n++] = (struct repo_input){.repo = repo};
			at += strlen(host);
		}
	}
	return n;
}
