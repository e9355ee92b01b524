/*
 * The routes: git fetch from the operator's upstreams for the run's own repos, the model API, and
 * package indexes (gate_pkg.c).
 */
#include "gate_routes.h"

#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "config.h"
#include "gate_pkg.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "upstream.h"

/* Path segments here are plain names; anything else (escapes, dots, doubles) is refused whole, so
 * that nothing has to be decoded and compared twice. */
static bool segment_take(struct pool *pool, const char **path, const char **out)
{
	const char *slash = strchr(*path, '/');
	const char *s;

	if (!slash)
		return false;
	s = pool_memdup(pool, *path, (size_t)(slash - *path));
	if (!text_is_name(s))
		return false;
	*path = slash + 1;
	*out = s;
	return true;
}

/* NULL: the operator has set no such host up. The first one is the default. */
static const struct upstream *upstream_named(const struct upstreams *list, const char *host)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i].name, host))
			return &list->v[i];
	return NULL;
}

/* Is owner/name at host one of the run's repos? A row without a host means the default upstream. */
static bool repo_is_runs(const char *repos, const char *host, bool is_default, const char *repo)
{
	CLEANUP(json) struct json_object *list = NULL;
	struct err ignored;

	if (!json_parse(repos, strlen(repos), &list, &ignored))
		return false;
	for (size_t i = 0; i < json_count(list); i++) {
		struct json_object *row = json_at(list, i);
		const char *r, *h = NULL;

		if (!json_get_text(row, "repo", &r) || strcasecmp(r, repo) != 0)
			continue;
		if (json_get_text(row, "host", &h) ? !strcmp(h, host) : is_default)
			return true;
	}
	return false;
}

static bool map_git(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	const char *p = req->path + strlen("/git/"), *host, *owner, *dir;
	const struct upstream *up;
	struct upstreams list;
	char *name;
	size_t n;
	bool refs;

	if (!segment_take(pool, &p, &host) || !segment_take(pool, &p, &owner) ||
		!segment_take(pool, &p, &dir) || (n = strlen(dir)) < 5 ||
		strcmp(dir + n - 4, ".git") != 0)
		return err_set(err, ERR_FORBIDDEN, "not of the form /git/HOST/OWNER/NAME.git/...");
	name = pool_memdup(pool, dir, n - 4);
	refs = !strcmp(req->method, "GET") && !strcmp(p, "info/refs") &&
	       !strcmp(req->query, "service=git-upload-pack");
	if (!refs &&
		!(!strcmp(req->method, "POST") && !strcmp(p, "git-upload-pack") && !*req->query)) {
		(void)err_set(err, ERR_FORBIDDEN, "only fetching is allowed here");
		return err_advise(err, "git_fetch_only",
			"commit in the box; the work comes back as a patch and a bundle");
	}
	to->what = pool_printf(pool, "%s/%s/%s", host, owner, name);
	if (!upstreams_parse(pool, cfg->git_upstreams, &list, err))
		return err_wrap(err, "ASB_GIT_UPSTREAMS");
	up = upstream_named(&list, host);
	if (!up || !repo_is_runs(who->repos, host, up == &list.v[0],
			   pool_printf(pool, "%s/%s", owner, name))) {
		(void)err_set(err, ERR_FORBIDDEN, "%s is not a repository of this run", to->what);
		return err_advise(err, "repo_not_in_run", "name it in `repos` when delegating");
	}
	to->url = pool_printf(pool, "%s/%s/%s.git/%s%s%s", up->url, owner, name, p,
		*req->query ? "?" : "", req->query);
	return true;
}

static bool map_model(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	const char *p = req->path + strlen("/model");
	const char *base = cfg->model_upstream;
	const char *key = who->model_key ? who->model_key : cfg->model_key;
	size_t n = strlen(base);

	if (*p && *p != '/')
		return err_set(err, ERR_FORBIDDEN, "no such route");
	to->what = pool_printf(pool, "model%.200s", p);
	/* Claude Code asks whether the endpoint is there before its first message */
	if (!strcmp(req->method, "HEAD") && !p[strspn(p, "/")])
		return true;
	if (strcmp(req->method, "POST") != 0 ||
		(strcmp(p, "/v1/messages") != 0 && strcmp(p, "/v1/messages/count_tokens") != 0) ||
		(*req->query && strcmp(req->query, "beta=true") != 0)) {
		(void)err_set(err, ERR_FORBIDDEN,
			"only messages and count_tokens of the model API are served");
		return err_advise(err, "model_path", NULL);
	}
	if (!who->turn_id) {
		(void)err_set(err, ERR_FORBIDDEN,
			"this box has no turn under way: its run waits for an answer or has ended");
		return err_advise(err, "no_turn", NULL);
	}
	if (!*base || !*key) {
		(void)err_set(err, ERR_NOT_FOUND, "no model API is set up on this site");
		return err_advise(err, "model_unset",
			"enter a key on the page of keys, or set ANTHROPIC_API_KEY for asb-gate");
	}
	while (n && base[n - 1] == '/')
		n--;
	to->url = pool_printf(
		pool, "%.*s%s%s%s", (int)n, base, p, *req->query ? "?" : "", req->query);
	to->headers[to->nheaders++] = pool_printf(pool, "x-api-key: %s", key);
	to->key = key;
	return true;
}

static const char *const git_up[] = {
	"content-type", "content-encoding", "accept", "accept-encoding", "git-protocol", NULL};
static const char *const git_down[] = {"content-type", "content-encoding", "cache-control", NULL};
/* No accept-encoding: what is metered must be readable. */
static const char *const model_up[] = {"content-type", "content-encoding", "accept",
	"anthropic-version", "anthropic-beta", "x-app", "x-stainless-*", "x-claude-code-session-id",
	NULL};
static const char *const model_down[] = {"content-type", "retry-after", "retry-after-ms",
	"request-id", "x-should-retry", "anthropic-ratelimit-*", NULL};

/* No accept-encoding: what is rewritten must be readable. */
static const char *const package_up[] = {"accept", NULL};
static const char *const package_down[] = {
	"content-type", "etag", "last-modified", "cache-control", NULL};

#define PACKAGE_ROUTE(index_)                                                                \
	{                                                                                    \
		.name = "pkg-" #index_, .prefix = "/pkg/" #index_ "/", .egress = "packages", \
		.map = pkg_map_##index_, .pass_up = package_up, .pass_down = package_down,   \
		.is_package = true,                                                          \
	}

const struct gate_route gate_routes[] = {
	{
		.name = "git",
		.prefix = "/git/",
		.egress = "run",
		.map = map_git,
		.pass_up = git_up,
		.pass_down = git_down,
	},
	{
		.name = "model",
		.prefix = "/model",
		.egress = "run",
		.map = map_model,
		.pass_up = model_up,
		.pass_down = model_down,
		.body_max = 32 << 20,
		.is_model = true,
	},
	PACKAGE_ROUTE(npm),
	PACKAGE_ROUTE(pypi),
	PACKAGE_ROUTE(debian),
	PACKAGE_ROUTE(go),
	PACKAGE_ROUTE(maven),
	{.name = NULL},
};

const struct gate_route *gate_route_find(const char *path)
{
	for (const struct gate_route *r = gate_routes; r->name; r++)
		if (text_has_prefix(path, r->prefix))
			return r;
	return NULL;
}

bool gate_header_passes(const char *const *list, const char *name, size_t n)
{
	for (; *list; list++) {
		size_t m = strlen(*list);

		if ((*list)[m - 1] == '*' ? n >= m - 1 && !strncasecmp(*list, name, m - 1)
					  : n == m && !strncasecmp(*list, name, n))
			return true;
	}
	return false;
}
