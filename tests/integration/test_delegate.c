/*
 * delegate and upload through router_serve: what becomes of a task, and each way to ask wrongly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TAR "Content-Type: application/x-tar"

static void test_delegate(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;
	const char *run;

	(void)state;
	a = testweb_operator(pool, "POST", "/delegate.json",
		"{\"task\":\"#!/bin/sh\\n# Mend "
		"it\\necho\",\"repos\":[{\"repo\":\"o/a\",\"ref\":\"main\"},"
		"{\"repo\":\"other.example/o/b\",\"dir\":\"x\"}],\"memory_mb\":1500}");
	assert_int_equal(a.status, 202);
	run = testweb_get(pool, &a, "session");
	assert_int_equal(strncmp(run, "run-", 4), 0);
	assert_string_equal(testweb_get(pool, &a, "state"), "queued");
	assert_string_equal(testweb_get(pool, &a, "text"), "run:queued");
	assert_string_equal(testweb_get(pool, &a, "source"), "git");
	assert_string_equal(testweb_get(pool, &a, "box.class"), "m");
	assert_string_equal(testweb_get(pool, &a, "box.state"), "creating");
	assert_string_equal(testdb_text("SELECT repos::text FROM runs WHERE name = '%s'", run),
		"[{\"dir\": \"a\", \"ref\": \"main\", \"host\": \"git.example\", \"repo\": "
		"\"o/a\"},"
		" {\"dir\": \"x\", \"ref\": null, \"host\": \"other.example\", \"repo\": "
		"\"o/b\"}]");
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM jobs j JOIN runs r ON r.id = j.run_id WHERE "
			   "r.name = '%s'"
			   " AND kind = 'turn' AND lane = 'drive' AND request_id LIKE 'rq-%%'",
			run),
		1);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit WHERE action = 'delegate' AND subject = '%s'"
			   " AND caller = 'operator' AND status = 202",
			run),
		1);
}

static void test_delegate_infers_repos(void **state)
{
	static const struct {
		const char *task, *repos;
	} cases[] = {
		{"mend https://git.example/o/a.git please", "git.example/o/a"},
		{"see git.example/o/a. Then git.example/o/a and other.example/p/q-1",
			"git.example/o/a,other.example/p/q-1"},
		{"see github.com/o/a and o/a and xgit.example/o/a and git.example/o", ""},
		{"nothing", ""},
	};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct answer a = testweb_operator(pool, "POST", "/delegate.json",
			pool_printf(pool, "{\"task\":\"%s\"}", cases[i].task));

		assert_int_equal(a.status, 202);
		assert_string_equal(testdb_text("SELECT string_agg((x->>'host') || '/' || "
						"(x->>'repo'), ',') FROM runs,"
						" jsonb_array_elements(repos) x WHERE name = '%s'",
					    testweb_get(pool, &a, "session")),
			cases[i].repos);
	}
}

static void test_delegate_refused(void **state)
{
	static const struct {
		const char *body;
		int status;
		const char *message, *fix;
	} cases[] = {
		{"{\"task\":\"\"}", 422, "task: must not be empty",
			"Say in the task what is to be done."},
		{"{\"task\":\" \\n \"}", 422, "task: must not be empty",
			"Say in the task what is to be done."},
		{"{}", 422, "task: is missing", "Say in the task what is to be done."},
		{"{\"task\":\"x\",\"nope\":1}", 422, "nope: unknown field", "Known: task, agent"},
		{"{\"task\":\"x\",\"agent\":\"claude9\"}", 422, "agent: no such choice",
			"One of: script, claude"},
		{"{\"task\":\"x\",\"agent\":\"claude\"}", 409, "agent: claude needs a secret",
			"/dashboard/keys"},
		{"{\"task\":\"x\",\"image\":\"none-such\"}", 422, "image: no such image none-such",
			"Known: base"},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"elsewhere.example/o/a\"}]}", 422,
			"repos: unknown repo elsewhere.example/o/a",
			"git.example/OWNER/NAME, other.example/OWNER/NAME"},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"../../etc\"}]}", 422,
			"repos: unknown repo", "Possible: "},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"justaname\"}]}", 422,
			"repos: unknown repo", "Possible: "},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"o/a\"},{\"repo\":\"p/a\"}]}", 422,
			"repos: two trees in one folder", "dir"},
		{"{\"task\":\"x\",\"repos\":[{\"repo\":\"o/a\",\"ref\":\"--upload-pack=x\"}]}", 422,
			"ref: not the name", ""},
		{"{\"task\":\"x\",\"upload\":\"blob-nosuchnosuchnosu\"}", 404, "no upload", ""},
		{"{\"task\":\"x\",\"upload\":\"blob-a\",\"repos\":[{\"repo\":\"o/a\"}]}", 422,
			"upload, repos", ""},
		{"{\"task\":\"x\",\"dir\":\"d\"}", 422, "dir: ", ""},
		{"{\"task\":\"x\",\"memory_mb\":50000}", 422,
			"memory_mb, cpus: the largest box has 4096 MB and 4 cpus", ""},
		{"{\"task\":\"x\"", 400, "json: ", ""},
		{"{'task':'x'}", 400, "json: single quotes", ""},
		{"[1]", 422, "must be a JSON object", ""},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	int64_t runs = testdb_i64("SELECT count(*) FROM runs");

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct answer a = testweb_operator(pool, "POST", "/delegate.json", cases[i].body);

		if (a.status != cases[i].status ||
			!strstr(testweb_get(pool, &a, "error.message"), cases[i].message) ||
			!strstr(testweb_get(pool, &a, "error.fix"), cases[i].fix))
			fail_msg("%s: %d %s", cases[i].body, a.status, a.body);
		assert_true(strlen(testweb_get(pool, &a, "error.request_id")) >= 8);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM runs"), runs);
}

static void test_delegate_to_a_model(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	a = testweb_operator(
		pool, "POST", "/delegate.json", "{\"task\":\"x\",\"agent\":\"claude\"}");
	assert_int_equal(a.status, 409);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "secret_unset");
	assert_string_equal(
		testweb_get(pool, &a, "error.context.url"), TESTWEB_URL "/dashboard/keys");
	testweb_config.has_model = 1;
	/* its own image is asked for where the request names none */
	a = testweb_operator(
		pool, "POST", "/delegate.json", "{\"task\":\"x\",\"agent\":\"claude\"}");
	assert_int_equal(a.status, 422);
	assert_non_null(strstr(a.body, "image: no such image claude"));
	a = testweb_operator(pool, "POST", "/delegate.json",
		"{\"task\":\"x\",\"agent\":\"claude\",\"image\":\"base\"}");
	assert_int_equal(a.status, 202);
	assert_string_equal(testdb_text("SELECT agent FROM runs WHERE name = '%s'",
				    testweb_get(pool, &a, "session")),
		"claude");
	testweb_config.has_model = 0;
}

static void test_sizes_and_types(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char *body = pool_alloc(pool, 9 << 20);
	struct answer a;

	(void)state;
	memcpy(body, "{\"task\":\"", 9);
	memset(body + 9, 'x', 1 << 20);
	memcpy(body + 9 + (1 << 20), "\"}", 3);
	a = testweb_operator(pool, "POST", "/delegate.json", body);
	assert_int_equal(a.status, 413);
	assert_non_null(strstr(a.body, "task: 1048576 bytes, more than 262144"));
	memset(body + 9, 'x', (9 << 20) - 10);
	a = testweb_operator(pool, "POST", "/delegate.json", body);
	assert_int_equal(a.status, 413);
	a = testweb_ask(pool, "POST", "/delegate.json",
		(const char *const[]){HOST, BEARER, "Content-Type: text/plain", NULL},
		"{\"task\":\"x\"}", 12);
	assert_int_equal(a.status, 400);
	a = testweb_ask(pool, "POST", "/delegate.json",
		(const char *const[]){
			HOST, BEARER, "Content-Type: application/json; charset=utf-8", NULL},
		"{\"task\":\"\"}", 11);
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "GET", "/delegate.json", NULL);
	assert_int_equal(a.status, 405);
	assert_non_null(strstr(a.head, "Allow: POST\r\n"));
	a = testweb_operator(pool, "GET", "/nowhere", NULL);
	assert_int_equal(a.status, 404);
}

static void test_waits(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a = testweb_operator(
		pool, "POST", "/delegate.json", "{\"task\":\"x\",\"wait_ms\":5000}");
	int64_t id = testdb_i64("SELECT max(id) FROM runs");

	(void)state;
	assert_string_equal(a.internal,
		pool_printf(pool, "/internal/wait?run=%s&wait_ms=5000&account=1&turn=1",
			testdb_text("SELECT name FROM runs WHERE id = %lld", (long long)id)));
	assert_string_equal(a.head, pool_printf(pool, "X-Accel-Redirect: %s\r\n\r\n", a.internal));
	assert_string_equal(a.body, "");
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM jobs WHERE run_id = %lld", (long long)id), 1);
}

static void test_upload_and_use(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	size_t n = 700000; /* three chunks */
	char *tar = pool_alloc(pool, n);
	const char *blob, *body;
	struct answer a;

	(void)state;
	for (size_t i = 0; i < n; i++)
		tar[i] = (char)(i * 7 + i / 1000);
	a = testweb_ask(pool, "POST", "/upload?name=tree.tar",
		(const char *const[]){HOST, BEARER, TAR, NULL}, tar, n);
	assert_int_equal(a.status, 201);
	blob = testweb_get(pool, &a, "upload");
	assert_string_equal(testweb_get(pool, &a, "size_bytes"), "700000");
	assert_string_equal(testweb_get(pool, &a, "sha256"),
		testdb_text("SELECT encode(sha256(string_agg(body, ''::bytea ORDER BY n)), 'hex') "
			    "FROM blob_chunks c"
			    " JOIN blobs b ON b.id = c.blob_id WHERE b.name = '%s'",
			blob));
	/* the same bytes come back, as something no browser runs */
	a = testweb_operator(pool, "GET", pool_printf(pool, "/blob?name=%s", blob), NULL);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.body_n, n);
	assert_memory_equal(a.body, tar, n);
	assert_non_null(strstr(a.head, "Content-Length: 700000\r\n"));
	assert_non_null(strstr(a.head, "Content-Type: application/octet-stream\r\n"));
	assert_non_null(
		strstr(a.head, "Content-Disposition: attachment; filename*=UTF-8''tree.tar\r\n"));
	assert_non_null(strstr(a.head, "Content-Security-Policy: default-src 'none'; sandbox\r\n"));
	assert_non_null(strstr(a.head, "X-Content-Type-Options: nosniff\r\n"));
	body = pool_printf(pool, "{\"task\":\"x\",\"upload\":\"%s\",\"dir\":\"proj\"}", blob);
	a = testweb_operator(pool, "POST", "/delegate.json", body);
	assert_int_equal(a.status, 202);
	assert_string_equal(testweb_get(pool, &a, "source"), "upload");
	assert_string_equal(testdb_text("SELECT repos::text FROM runs WHERE name = '%s'",
				    testweb_get(pool, &a, "session")),
		"[{\"dir\": \"proj\"}]");
	a = testweb_operator(pool, "POST", "/delegate.json", body);
	assert_int_equal(a.status, 409);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "upload_used");
}

static void test_upload_refused(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char *big = pool_alloc(pool, 1000001);
	int64_t blobs = testdb_i64("SELECT count(*) FROM blobs");
	struct answer a;

	(void)state;
	a = testweb_ask(pool, "POST", "/upload", (const char *const[]){HOST, BEARER, TAR, NULL},
		big, 1000001);
	assert_int_equal(a.status, 413);
	a = testweb_ask(
		pool, "POST", "/upload", (const char *const[]){HOST, BEARER, TAR, NULL}, "", 0);
	assert_int_equal(a.status, 422);
	a = testweb_ask(
		pool, "POST", "/upload", (const char *const[]){HOST, BEARER, JSON, NULL}, "x", 1);
	assert_int_equal(a.status, 400);
	a = testweb_ask(pool, "POST", "/upload?name=..%2fx",
		(const char *const[]){HOST, BEARER, TAR, NULL}, "x", 1);
	assert_int_equal(a.status, 422);
	a = testweb_ask(pool, "POST", "/upload", (const char *const[]){HOST, TAR, NULL}, "x", 1);
	assert_int_equal(a.status, 401);
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs"), blobs);
	a = testweb_operator(pool, "GET", "/blob?name=blob-nosuchnosuchnosu", NULL);
	assert_int_equal(a.status, 404);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delegate),
		cmocka_unit_test(test_delegate_infers_repos),
		cmocka_unit_test(test_delegate_refused),
		cmocka_unit_test(test_delegate_to_a_model),
		cmocka_unit_test(test_sizes_and_types),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_upload_and_use),
		cmocka_unit_test(test_upload_refused),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
