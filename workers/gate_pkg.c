/*
 * Package indexes: which paths of theirs may be read. An index is reached by GET and HEAD without a
 * query, on paths of the forms its clients use, so that a name or a query string carries little out
 * and nothing is published. Escapes stand for what a name may hold and never for a path's parts.
 */
#include "gate_pkg.h"

#include <assert.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "gate.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

/* "http://" HOST "/pkg/npm/": within REWRITE_GROW of the shortest base */
#define HOST_MAX_BYTES 64
#define WINDOW_LOOK_MS 1000 /* how often a transfer looks whether its window is still open */
#define PATH_MAX_BYTES 400  /* the longest file names of indexes are about 200 */

/* --- paths --- */

static int hex(char c)
{
	return c >= '0' && c <= '9'		    ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

static bool is_plain(char c, const char *extra)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr(extra, c));
}

/* Parts between slashes, none empty, none beginning with a dot; `slash`: %2f may stand in one. */
static bool path_ok(const char *p, const char *extra, bool slash)
{
	bool first = true;

	if (strlen(p) > PATH_MAX_BYTES)
		return false;
	for (; *p; p++) {
		if (*p == '/' || (first && *p == '.')) {
			if (first)
				return false;
			first = true;
			continue;
		}
		if (*p == '%') {
			int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);
			int c = low < 0 ? -1 : high * 16 + low;

			if (c <= 0 || !(c == '/' ? slash : c < 0x7f && strchr("+~@:!^", c)))
				return false;
			p += 2;
		} else if (!is_plain(*p, extra)) {
			return false;
		}
		first = false;
	}
	return true;
}

static bool refuse_path(struct err *err, const char *form)
{
	(void)err_set(err, ERR_FORBIDDEN, "not a path of this package index");
	return err_advise(err, "pkg_path", form);
}

/* The words of a setting: the index, and where else its things are. */
struct index {
	const char *url, *other;
};

static bool index_read(struct pool *pool, const char *setting, const char *name, struct index *out,
	struct err *err)
{
	size_t n = strcspn(setting, " "), at = n + strspn(setting + n, " ");
	char *url = pool_memdup(pool, setting, n), *other = pool_strdup(pool, setting + at);

	if (n < REWRITE_FROM_MIN) {
		(void)err_set(err, ERR_NOT_FOUND, "this site has no such package index");
		return err_advise(err, "pkg_unset", pool_printf(pool, "set %s", name));
	}
	while (n && url[n - 1] == '/')
		url[--n] = '\0';
	for (n = strlen(other); n && (other[n - 1] == '/' || other[n - 1] == ' ');)
		other[--n] = '\0';
	*out = (struct index){.url = url, .other = other};
	return true;
}

/* What every route of an index wants: reading, without a query. The rest of the path behind the
 * prefix, checked, in *rest. */
static bool begin(struct pool *pool, const struct http_request *req, const char *prefix,
	const char *extra, bool slash, struct gate_target *to, const char **rest, struct err *err)
{
	*rest = req->path + strlen(prefix);
	to->what = pool_printf(pool, "%.300s", req->path + strlen("/pkg/"));
	if (strcmp(req->method, "GET") != 0 && strcmp(req->method, "HEAD") != 0)
		return refuse_path(err, "an index is only read here: GET and HEAD");
	if (*req->query || req->content_length > 0 || req->chunked)
		return refuse_path(err, "an index is read without query and body");
	if (!**rest || !path_ok(*rest, extra, slash))
		return refuse_path(err, "only names, versions and files of packages are read here");
	return true;
}

/* Where the box reached us: it reads links of ours itself, so what it says is its own business. */
static const char *box_base(struct pool *pool, const struct http_request *req, const char *prefix)
{
	const char *host = http_request_header(req, "host");

	if (!host || strlen(host) > HOST_MAX_BYTES ||
		strspn(host, "0123456789abcdefghijklmnopqrstuvwxyz.:-") != strlen(host))
		host = "127.0.0.1:8377";
	return pool_printf(pool, "http://%s%s", host, prefix);
}

static void rewrites(struct pool *pool, struct gate_target *to, const char *from, const char *into)
{
	to->from = pool_printf(pool, "%.*s/", REWRITE_FROM_MAX - 2, from);
	to->into = into;
	assert(strlen(to->from) >= REWRITE_FROM_MIN &&
		strlen(into) <= strlen(to->from) + REWRITE_GROW);
}

/* NAME, @scope/NAME (its slash perhaps escaped), either with /VERSION; FILE.tgz behind /-/. */
bool pkg_map_npm(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	const char *rest, *file;
	struct index index;
	int parts = 1;

	(void)who;
	if (!begin(pool, req, "/pkg/npm/", "-._~@+", true, to, &rest, err) ||
		!index_read(pool, cfg->pkg_npm, "ASB_PKG_NPM", &index, err))
		return false;
	file = strstr(rest, "/-/");
	for (const char *p = rest; p < (file ? file : rest + strlen(rest)); p++)
		parts += *p == '/';
	if (*rest == '-' || parts > (*rest == '@' ? 2 : 1) + (file ? 0 : 1) ||
		(file && (strchr(file + 3, '/') || strlen(file) < 8 ||
				 strcmp(file + strlen(file) - 4, ".tgz") != 0)))
		return refuse_path(err, "packages and their files are read here");
	to->url = pool_printf(pool, "%s/%s", index.url, rest);
	if (!file)
		rewrites(pool, to, index.url, box_base(pool, req, "/pkg/npm/"));
	return true;
}

/* simple/NAME/ as PEP 503 has it, and the files that these pages name. */
bool pkg_map_pypi(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	const char *rest;
	struct index index;

	(void)who;
	if (!begin(pool, req, "/pkg/pypi/", "-._~+!@", false, to, &rest, err) ||
		!index_read(pool, cfg->pkg_pypi, "ASB_PKG_PYPI", &index, err))
		return false;
	if (text_has_prefix(rest, "simple/") && rest[strlen("simple/")]) {
		const char *name = rest + strlen("simple/"), *slash = strchr(name, '/');

		if (!slash || slash[1])
			return refuse_path(err, "a project's page is simple/NAME/");
		to->url = pool_printf(pool, "%s/%s", index.url, name);
		if (*index.other)
			rewrites(pool, to, index.other, "/pkg/pypi/files/");
		return true;
	}
	if (!text_has_prefix(rest, "files/") || !*index.other || rest[strlen(rest) - 1] == '/')
		return refuse_path(err, "projects are at simple/NAME/, their files at files/");
	to->url = pool_printf(pool, "%s/%s", index.other, rest + strlen("files/"));
	return true;
}

/* ARCHIVE/dists/... and ARCHIVE/pool/... */
bool pkg_map_debian(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	static const char *const archives[] = {"debian/", "debian-security/"};
	const char *rest;
	struct index index;

	(void)who;
	if (!begin(pool, req, "/pkg/debian/", "-._~+:", false, to, &rest, err) ||
		!index_read(pool, cfg->pkg_debian, "ASB_PKG_DEBIAN", &index, err))
		return false;
	for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++) {
		const char *in = rest + strlen(archives[i]);

		if (!text_has_prefix(rest, archives[i]) ||
			(!text_has_prefix(in, "dists/") && !text_has_prefix(in, "pool/")))
			continue;
		to->url = pool_printf(pool, "%s/%s", index.url, rest);
		return true;
	}
	return refuse_path(err, "archives are debian/ and debian-security/, with dists/ and pool/");
}

/* The checksum database of Go, by way of the module proxy as its clients ask for it. */
static bool map_sumdb(struct pool *pool, const char *rest, const struct index *index,
	struct gate_target *to, struct err *err)
{
	const char *host = strstr(index->other, "://"), *in = strchr(rest, '/');
	size_t n = in ? (size_t)(in - rest) : 0;

	if (!host || !in || strlen(host + 3) != n || strncmp(rest, host + 3, n) != 0) {
		(void)err_set(err, ERR_NOT_FOUND, "this site has no such checksum database");
		return err_advise(err, "pkg_unset", "it is the second word of ASB_PKG_GO");
	}
	if (!strcmp(in, "/supported"))
		return true; /* answered here: yes */
	if (strcmp(in, "/latest") != 0 && !text_has_prefix(in, "/lookup/") &&
		!text_has_prefix(in, "/tile/"))
		return refuse_path(err, "latest, lookup and tile are read here");
	to->url = pool_printf(pool, "%s%s", index->other, in);
	return true;
}

/* MODULE/@v/list, MODULE/@v/VERSION.info, .mod and .zip, MODULE/@latest; sumdb/HOST/... */
bool pkg_map_go(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	static const char *const ends[] = {".info", ".mod", ".zip"};
	const char *rest, *v;
	struct index index;
	bool ok;

	(void)who;
	if (!begin(pool, req, "/pkg/go/", "-._~+!@", false, to, &rest, err) ||
		!index_read(pool, cfg->pkg_go, "ASB_PKG_GO", &index, err))
		return false;
	if (text_has_prefix(rest, "sumdb/"))
		return map_sumdb(pool, rest + strlen("sumdb/"), &index, to, err);
	v = strstr(rest, "/@v/");
	ok = v ? !strcmp(v, "/@v/list")
	       : strlen(rest) > 9 && !strcmp(rest + strlen(rest) - 8, "/@latest");
	for (size_t i = 0; v && !ok && i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t n = strlen(v), m = strlen(ends[i]);

		ok = n > 4 + m && !strcmp(v + n - m, ends[i]) && !strchr(v + 4, '/');
	}
	if (!ok)
		return refuse_path(err, "versions of modules are read here");
	to->url = pool_printf(pool, "%s/%s", index.url, rest);
	return true;
}

/* A file of a repository in Maven's layout: GROUP/.../ARTIFACT/VERSION/FILE, and the metadata. */
bool pkg_map_maven(const struct config *cfg, struct pool *pool, const struct gate_caller *who,
	const struct http_request *req, struct gate_target *to, struct err *err)
{
	static const char *const ends[] = {
		".pom", ".jar", ".xml", ".module", ".md5", ".sha1", ".sha256", ".sha512", ".asc"};
	const char *rest;
	struct index index;
	size_t n;

	(void)who;
	if (!begin(pool, req, "/pkg/maven/", "-._+", false, to, &rest, err) ||
		!index_read(pool, cfg->pkg_maven, "ASB_PKG_MAVEN", &index, err))
		return false;
	n = strlen(rest);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t m = strlen(ends[i]);

		if (n <= m || strcmp(rest + n - m, ends[i]) != 0 || !strchr(rest, '/'))
			continue;
		to->url = pool_printf(pool, "%s/%s", index.url, rest);
		return true;
	}
	return refuse_path(err, "poms, jars and their checksums are read here");
}

/* --- what goes down --- */

void rewrite_init(struct rewrite *r, const char *from, const char *into)
{
	r->from = from;
	r->into = into;
	buf_init(&r->held, REWRITE_FROM_MAX);
}

void rewrite_done(struct rewrite *r)
{
	buf_done(&r->held);
}

void rewrite_feed(struct rewrite *r, const char *data, size_t n, struct buf *out)
{
	CLEANUP(buf) struct buf all = BUF_INIT(n + REWRITE_FROM_MAX);
	size_t len = strlen(r->from), keep;
	const char *at, *p, *end;

	(void)buf_add(&all, r->held.data, r->held.len);
	(void)buf_add(&all, data, n);
	buf_reset(&r->held);
	for (p = all.data, end = p + all.len; (at = memmem(p, (size_t)(end - p), r->from, len));
		p = at + len) {
		(void)buf_add(out, p, (size_t)(at - p));
		(void)buf_adds(out, r->into);
	}
	keep = (size_t)(end - p) < len - 1 ? (size_t)(end - p) : len - 1;
	while (keep && memcmp(end - keep, r->from, keep) != 0)
		keep--;
	(void)buf_add(out, p, (size_t)(end - p) - keep);
	(void)buf_add(&r->held, end - keep, keep);
}

void rewrite_end(struct rewrite *r, struct buf *out)
{
	(void)buf_add(out, r->held.data, r->held.len);
	buf_reset(&r->held);
}

/* What the rows say was sent before this connection, so that a gate that starts anew, or a shim
 * that comes back, gives no second budget. */
static bool budget_load(struct gate_stream *s)
{
	CLEANUP(result) struct result res = {0};
	struct err err;

	if (!db_query(s->conn->gate->db, Q_GATE_PACKAGE_BYTES, ARGS(db_i64(s->who.box_id)), &res,
		    &err)) {
		log_error("box=%s package budget: %s", s->conn->box, err.msg);
		return false;
	}
	s->conn->package_bytes = result_i64(&res, 0, 0);
	s->conn->package_known = true;
	return true;
}

bool pkg_goes_on(struct gate_stream *s, size_t n)
{
	struct gate_conn *c = s->conn;
	struct err err;

	if (time_boot_ms() - s->window_ms > WINDOW_LOOK_MS && !gate_stream_window(s, &err)) {
		s->stopped = pool_strdup(s->pool, err.reason);
	} else if (!c->package_known && !budget_load(s)) {
		s->stopped = "gate_unavailable";
	} else if (c->package_bytes + (int64_t)n > c->gate->cfg->pkg_bytes_max) {
		s->stopped = "budget";
	} else {
		c->package_bytes += (int64_t)n;
	}
	return !s->stopped;
}
