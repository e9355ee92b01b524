/*
 * Resources of the MCP door: what there is of each run, logs and downloads as a whole, and what is
 * not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "blob.h"
#include "cleanup.h"
#include "fixture.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"
#include "text.h"

static struct pool *pool;

static int make_pool(void **state)
{
	*state = pool = pool_new();
	return 0;
}

static struct answer ask(const char *body)
{
	const char *const headers[] = {HOST, BEARER, JSON, NULL};

	return testweb_ask(pool, "POST", "/mcp", headers, body, strlen(body));
}

static const char *get(const struct answer *a, const char *path)
{
	return testweb_get(pool, a, path);
}

static const char *delegate(void)
{
	struct answer a = testweb_operator(
		pool, "POST", "/delegate.json", "{\"task\":\"echo hello\",\"wait_ms\":0}");

	return get(&a, "session");
}

static void test_resources(void **state)
{
	static const char read[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
				   "\"params\":{\"uri\":\"asb://runs/%s%s\"}}";
	static const char *const parts[] = {"asb://runs/{session}", "asb://runs/{session}/log",
		"asb://runs/{session}/diff", "asb://runs/{session}/files", "asb://blobs/{blob}"};
	const char *run = delegate();
	struct answer a;

	(void)state;
	a = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	assert_string_equal(get(&a, "result.resources.0.uri"), "asb://capabilities");
	assert_string_equal(get(&a, "result.resources.1.name"), run);
	a = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/templates/list\"}");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_string_equal(
			get(&a, pool_printf(pool, "result.resourceTemplates.%zu.uriTemplate", i)),
			parts[i]);
	a = ask(pool_printf(pool, read, run, ""));
	assert_non_null(strstr(get(&a, "result.contents.0.text"), run));
	a = ask(pool_printf(pool, read, run, "/log"));
	assert_string_equal(get(&a, "result.contents.0.mimeType"), "text/plain");
	a = ask(pool_printf(pool, read, run, "/files"));
	assert_non_null(strstr(get(&a, "result.contents.0.text"), "\"files\":[]"));
	a = ask(pool_printf(pool, read, run, "/diff"));
	assert_string_equal(get(&a, "error.code"), "-32602");
	a = ask(pool_printf(pool, read, run, "/nothing"));
	assert_string_equal(
		get(&a, "error.data.uri"), pool_printf(pool, "asb://runs/%s/nothing", run));
}

/* The whole of a log that is longer than one answer of /log.json, and what a client can download
 * that reaches nothing but this door. */
static void test_whole_resources(void **state)
{
	static const char read[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
				   "\"params\":{\"uri\":\"asb://%s%s\"}}";
	CLEANUP(db) struct db *worker = testdb_open("asb_worker");
	const char *run = delegate(), *text, patch[] = "--- a/x\n+++ b/x\n+\xff\n";
	struct blob_new in = {.kind = BLOB_PATCH, .file_name = "x.patch", .max_bytes = 1 << 20};
	struct blob_made made;
	struct answer a;
	struct err err;

	(void)state;
	testdb_exec(
		"INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		"src_off, src_len, body) SELECT l.account_id, l.id, n, 1, (n - 1) * 1000, 1000, 0, "
		"0, convert_to((SELECT string_agg('line ' || (n - 1) * 1000 + i || E'\\n', '' "
		"ORDER "
		"BY i) FROM generate_series(0, 999) i), 'UTF8') FROM logs l JOIN runs r ON r.id = "
		"l.run_id, generate_series(1, 12) n WHERE r.name = '%s' AND l.exec_id IS NULL",
		run);
	a = ask(pool_printf(pool, read, "runs/", pool_printf(pool, "%s/log", run)));
	text = get(&a, "result.contents.0.text");
	assert_true(text_has_prefix(text, "line 0\nline 1\n"));
	assert_non_null(strstr(text, "\nline 4999\nline 5000\n"));
	assert_string_equal(text + strlen(text) - strlen("\nline 11999\n"), "\nline 11999\n");
	/* what is longer than is read says so, and where the rest is */
	testdb_exec("UPDATE log_chunk SET body = convert_to((SELECT string_agg(repeat('x', 499) || "
		    "E'\\n', '' ORDER BY i) FROM generate_series(0, 999) i), 'UTF8')");
	a = ask(pool_printf(pool, read, "runs/", pool_printf(pool, "%s/log", run)));
	text = get(&a, "result.contents.0.text");
	assert_true(strlen(text) > (4u << 20) - 1000 && strlen(text) < (4u << 20) + 200);
	assert_non_null(
		strstr(text, "\n[the first 8388 of 12000 lines; the whole log: GET /log.txt"));
	in.account_id = testdb_i64("SELECT account_id FROM runs WHERE name = '%s'", run);
	in.run_id = testdb_i64("SELECT id FROM runs WHERE name = '%s'", run);
	assert_true(fixture_blob(worker, &in, patch, sizeof(patch) - 1, &made, &err));
	testdb_exec("UPDATE turns SET patch_id = %ld WHERE run_id = %ld", (long)made.id,
		(long)in.run_id);
	a = ask(pool_printf(pool, read, "runs/", pool_printf(pool, "%s/diff", run)));
	assert_string_equal(get(&a, "result.contents.0.mimeType"), "text/x-diff");
	assert_string_equal(get(&a, "result.contents.0.blob"), "LS0tIGEveAorKysgYi94Civ/Cg==");
	a = ask(pool_printf(pool, read, "blobs/", made.name));
	assert_string_equal(get(&a, "result.contents.0.blob"), "LS0tIGEveAorKysgYi94Civ/Cg==");
	a = ask(pool_printf(pool, read, "blobs/", "blob-aaaaaaaaaaaaaaaa"));
	assert_string_equal(get(&a, "error.data.uri"), "asb://blobs/blob-aaaaaaaaaaaaaaaa");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_pool, testweb_drop_pool)
	const struct CMUnitTest tests[] = {
		TEST(test_resources),
		TEST(test_whole_resources),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
