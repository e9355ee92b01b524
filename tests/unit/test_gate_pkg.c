/*
 * The package routes: which requests go to which index, which are refused; and how an answer is
 * rewritten however it is cut into pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "config.h"
#include "gate.h"
#include "pool.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NPM "/pkg/npm/"
#define PYPI "/pkg/pypi/"
#define DEBIAN "/pkg/debian/"
#define GO "/pkg/go/"
#define MAVEN "/pkg/maven/"

static const struct config cfg = {
	.pkg_npm = "https://npm.example/",
	.pkg_pypi = "https://pypi.example/simple/ https://files.example/",
	.pkg_debian = "http://deb.example",
	.pkg_go = "https://go.example https://sum.example",
	.pkg_maven = "https://maven.example/maven2",
};
static const struct config none = {
	.pkg_npm = "",
	.pkg_pypi = "",
	.pkg_debian = "",
	.pkg_go = "https://go.example",
	.pkg_maven = "",
};

static const struct {
	const char *path, *url;
} taken[] = {
	{NPM "left-pad", "https://npm.example/left-pad"},
	{NPM "left-pad/1.3.0", "https://npm.example/left-pad/1.3.0"},
	{NPM "@types%2fnode", "https://npm.example/@types%2fnode"},
	{NPM "@types/node", "https://npm.example/@types/node"},
	{NPM "left-pad/-/left-pad-1.3.0.tgz", "https://npm.example/left-pad/-/left-pad-1.3.0.tgz"},
	{NPM "@types/node/-/node-22.0.0.tgz", "https://npm.example/@types/node/-/node-22.0.0.tgz"},
	{PYPI "simple/requests/", "https://pypi.example/simple/requests/"},
	{PYPI "files/packages/ab/cd/r-2.0+cpu-py3.whl",
		"https://files.example/packages/ab/cd/r-2.0+cpu-py3.whl"},
	{PYPI "files/a/r-2.0%2Bcpu.whl.metadata",
		"https://files.example/a/r-2.0%2Bcpu.whl.metadata"},
	{DEBIAN "debian/dists/trixie/InRelease",
		"http://deb.example/debian/dists/trixie/InRelease"},
	{DEBIAN "debian/pool/main/g/gcc/g%2b%2b_1.0~rc1_amd64.deb",
		"http://deb.example/debian/pool/main/g/gcc/g%2b%2b_1.0~rc1_amd64.deb"},
	{DEBIAN "debian-security/dists/trixie-security/InRelease",
		"http://deb.example/debian-security/dists/trixie-security/InRelease"},
	{GO "github.com/!burnt!sushi/toml/@v/list",
		"https://go.example/github.com/!burnt!sushi/toml/@v/list"},
	{GO "example.com/m/@v/v1.0.0.info", "https://go.example/example.com/m/@v/v1.0.0.info"},
	{GO "example.com/m/@v/v1.0.0.mod", "https://go.example/example.com/m/@v/v1.0.0.mod"},
	{GO "example.com/m/@v/v1.0.0.zip", "https://go.example/example.com/m/@v/v1.0.0.zip"},
	{GO "example.com/m/@latest", "https://go.example/example.com/m/@latest"},
	{GO "sumdb/sum.example/supported", NULL},
	{GO "sumdb/sum.example/latest", "https://sum.example/latest"},
	{GO "sumdb/sum.example/lookup/example.com/m@v1.0.0",
		"https://sum.example/lookup/example.com/m@v1.0.0"},
	{GO "sumdb/sum.example/tile/8/0/x001/234", "https://sum.example/tile/8/0/x001/234"},
	{MAVEN "org/slf4j/slf4j-api/2.0.16/slf4j-api-2.0.16.jar",
		"https://maven.example/maven2/org/slf4j/slf4j-api/2.0.16/slf4j-api-2.0.16.jar"},
	{MAVEN "org/slf4j/slf4j-api/maven-metadata.xml",
		"https://maven.example/maven2/org/slf4j/slf4j-api/maven-metadata.xml"},
};

static bool map(const struct config *c, struct pool *pool, const struct http_request *req,
	struct gate_target *to, struct err *err)
{
	const struct gate_route *route = gate_route_find(req->path);
	const struct gate_caller who = {.box = "box-x", .repos = "[]", .egress = "packages"};

	assert_non_null(route);
	assert_string_equal(route->egress, "packages");
	assert_true(route->is_package);
	return route->map(c, pool, &who, req, to, err);
}

static void packages_are_read(void **state)
{
	static const char *const methods[] = {"GET", "HEAD"};

	(void)state;
	for (size_t i = 0; i < COUNT(taken) * 2; i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		const struct http_request req = {.method = methods[i % 2],
			.path = taken[i / 2].path,
			.query = "",
			.content_length = -1};
		struct gate_target to = {0};
		struct err err = {0};

		if (!map(&cfg, pool, &req, &to, &err))
			fail_msg("%s: %s", req.path, err.msg);
		if (taken[i / 2].url)
			assert_string_equal(to.url, taken[i / 2].url);
		else
			assert_null(to.url);
		assert_int_equal(to.nheaders, 0);
	}
}

static const struct {
	const char *method, *path, *query;
} refused[] = {
	{"PUT", NPM "left-pad", ""},
	{"POST", NPM "left-pad", ""},
	{"DELETE", NPM "left-pad/-/left-pad-1.3.0.tgz", ""},
	{"GET", NPM "left-pad", "secret=stolen"},
	{"GET", NPM, ""},
	{"GET", NPM "-/npm/v1/security/audits", ""},
	{"GET", NPM "-/whoami", ""},
	{"GET", NPM "a/b/c", ""},
	{"GET", NPM "a/-/a.tgz/x.tgz", ""},
	{"GET", NPM "a/-/a.txt", ""},
	{"GET", NPM "../etc", ""},
	{"GET", NPM "a/../b", ""},
	{"GET", NPM "a%2e%2e", ""},
	{"GET", NPM "a%00b", ""},
	{"GET", NPM "a%2", ""},
	{"GET", NPM "a%zz", ""},
	{"GET", NPM "a//b", ""},
	{"GET", PYPI "simple/", ""},
	{"GET", PYPI "simple/requests", ""},
	{"GET", PYPI "simple/requests/x", ""},
	{"GET", PYPI "simple/a%2fb/", ""},
	{"GET", PYPI "pypi/requests/json", ""},
	{"POST", PYPI "legacy/", ""},
	{"GET", PYPI "files/", ""},
	{"GET", PYPI "files/../x", ""},
	{"GET", DEBIAN "debian/README", ""},
	{"GET", DEBIAN "debian/../dists/x", ""},
	{"GET", DEBIAN "debian/dists/../x", ""},
	{"GET", DEBIAN "ubuntu/dists/x", ""},
	{"GET", GO "example.com/m", ""},
	{"GET", GO "example.com/m", "go-get=1"},
	{"GET", GO "example.com/m/@v/v1.0.0.tar", ""},
	{"GET", GO "example.com/m/@v/a/b.zip", ""},
	{"GET", GO "sumdb/evil.example/latest", ""},
	{"GET", GO "sumdb/sum.example/other", ""},
	{"GET", GO "sumdb/sum.example", ""},
	{"GET", MAVEN "org/a/1/a.zip", ""},
	{"GET", MAVEN ".jar", ""},
	{"GET", MAVEN "archetype-catalog.xml", ""},
	{"PUT", MAVEN "org/a/1/a.jar", ""},
};

static void other_things_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		const struct http_request req = {.method = refused[i].method,
			.path = refused[i].path,
			.query = refused[i].query,
			.content_length = -1};
		struct gate_target to = {0};
		struct err err = {0};

		if (map(&cfg, pool, &req, &to, &err))
			fail_msg("%s %s went to %s", req.method, req.path, to.url);
		assert_true(err.code == ERR_FORBIDDEN || err.code == ERR_NOT_FOUND);
		assert_non_null(to.what);
	}
}

static void a_long_name_carries_nothing_out(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char *path = pool_printf(pool, NPM "%0*d", 401, 1);
	struct http_request req = {
		.method = "GET", .path = path, .query = "", .content_length = -1};
	struct gate_target to = {0};
	struct err err;

	(void)state;
	assert_false(map(&cfg, pool, &req, &to, &err));
	path[strlen(path) - 1] = '\0';
	assert_true(map(&cfg, pool, &req, &to, &err));
	req.content_length = 4;
	assert_false(map(&cfg, pool, &req, &to, &err));
}

static void what_is_not_set_up_says_what_to_set(void **state)
{
	static const char *const paths[] = {NPM "a", PYPI "simple/a/", DEBIAN "debian/dists/a",
		MAVEN "a/a.jar", GO "sumdb/sum.example/latest"};
	static const char *const settings[] = {
		"ASB_PKG_NPM", "ASB_PKG_PYPI", "ASB_PKG_DEBIAN", "ASB_PKG_MAVEN", "ASB_PKG_GO"};

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		const struct http_request req = {
			.method = "GET", .path = paths[i], .query = "", .content_length = -1};
		struct gate_target to = {0};
		struct err err;

		assert_false(map(&none, pool, &req, &to, &err));
		assert_int_equal(err.code, ERR_NOT_FOUND);
		assert_string_equal(err.reason, "pkg_unset");
		assert_non_null(strstr(err.fix, settings[i]));
	}
}

/* Where files lie is said in the box's own terms: npm wants whole URLs, PEP 503 takes paths. */
static void links_lead_back(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct http_request req = {.method = "GET",
		.path = NPM "a",
		.query = "",
		.content_length = -1,
		.nheaders = 1,
		.headers = {{"host", "127.0.0.1:8377"}}};
	struct gate_target to = {0};
	struct err err;

	(void)state;
	assert_true(map(&cfg, pool, &req, &to, &err));
	assert_string_equal(to.from, "https://npm.example/");
	assert_string_equal(to.into, "http://127.0.0.1:8377/pkg/npm/");
	req.headers[0].value = "evil\"><script>";
	assert_true(map(&cfg, pool, &req, &to, &err));
	assert_string_equal(to.into, "http://127.0.0.1:8377/pkg/npm/");
	to = (struct gate_target){0};
	req.path = NPM "a/-/a-1.0.0.tgz";
	assert_true(map(&cfg, pool, &req, &to, &err));
	assert_null(to.from);
	req.path = PYPI "simple/a/";
	assert_true(map(&cfg, pool, &req, &to, &err));
	assert_string_equal(to.from, "https://files.example/");
	assert_string_equal(to.into, "/pkg/pypi/files/");
}

static void pieces_are_rewritten(void **state)
{
	static const char said[] =
		"https://f.x/a https://f.x https://f.x/https://f.x/ h https://f.y/ https://f",
			  want[] = "/r/a https://f.x /r//r/ h https://f.y/ https://f";

	(void)state;
	for (size_t at = 0; at <= strlen(said); at++) {
		CLEANUP(buf) struct buf all = BUF_INIT(512);
		struct rewrite r;

		rewrite_init(&r, "https://f.x/", "/r/");
		rewrite_feed(&r, said, at, &all);
		rewrite_feed(&r, said + at, strlen(said) - at, &all);
		rewrite_end(&r, &all);
		assert_string_equal(all.data, want);
		rewrite_done(&r);
	}
}

static void the_worst_piece_fits(void **state)
{
	char from[] = "http://a/", into[REWRITE_GROW + sizeof(from)], piece[4500];
	CLEANUP(buf) struct buf out = BUF_INIT(REWRITE_ROOM(sizeof(piece)));
	struct rewrite r;

	(void)state;
	memset(into, 'x', sizeof(into) - 1);
	into[sizeof(into) - 1] = '\0';
	for (size_t i = 0; i < sizeof(piece); i += 9)
		memcpy(piece + i, from, 9);
	rewrite_init(&r, from, into);
	rewrite_feed(&r, piece, sizeof(piece), &out);
	rewrite_end(&r, &out);
	assert_false(out.failed);
	assert_int_equal(out.len, 500 * strlen(into));
	rewrite_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_are_read),
		cmocka_unit_test(other_things_are_refused),
		cmocka_unit_test(a_long_name_carries_nothing_out),
		cmocka_unit_test(what_is_not_set_up_says_what_to_set),
		cmocka_unit_test(links_lead_back),
		cmocka_unit_test(pieces_are_rewritten),
		cmocka_unit_test(the_worst_piece_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
