/*
 * What the screens read: who is signed in, what the site offers, a run's facts, its trace by pages,
 * what its box asked of the gate; and what a huge or hostile run must not do to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "db.h"
#include "fixture.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"
#include "text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct db *web;
static struct db *worker;

static int setup(void **state)
{
	(void)state;
	web = testdb_open("asb_web");
	worker = testdb_open("asb_worker");
	return 0;
}

static int done(void **state)
{
	(void)state;
	db_free(web);
	db_free(worker);
	testweb_done();
	return 0;
}

static const char *get(struct pool *pool, struct answer *a, const char *url)
{
	*a = testweb_operator(pool, "GET", url, NULL);
	assert_int_equal(a->status, 200);
	return a->body;
}

#define SAYS(member, want) assert_string_equal(testweb_get(pool, &a, member), want)

static void test_session(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie, *csrf;
	struct answer a;

	(void)state;
	a = testweb_ask(pool, "GET", "/session.json", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	testweb_sign_in(pool, &cookie, &csrf);
	a = testweb_ask(
		pool, "GET", "/session.json", (const char *const[]){HOST, cookie, NULL}, NULL, 0);
	assert_int_equal(a.status, 200);
	SAYS("signed_in", "true");
	SAYS("caller.kind", "session");
	SAYS("caller.name", "operator");
	assert_string_equal(csrf + strlen("X-CSRF-Token: "), testweb_get(pool, &a, "csrf"));
	(void)get(pool, &a, "/session.json");
	SAYS("caller.kind", "operator");
	SAYS("csrf", "");
}

static void test_site(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	a = testweb_ask(pool, "GET", "/site.json", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	testweb_config.heartbeat_ms = 14200;
	(void)get(pool, &a, "/site.json");
	SAYS("site", "test0000");
	SAYS("url", TESTWEB_URL);
	SAYS("agents.0.name", "script");
	SAYS("agents.0.ready", "false");
	SAYS("agents.0.why", "The image base has not been built here.");
	SAYS("agents.1.name", "claude");
	SAYS("agents.1.image", "claude");
	SAYS("agents.1.why", "No key for its model is set: enter one on the page Keys.");
	SAYS("images.0.name", "base");
	SAYS("images.0.default", "true");
	SAYS("classes.1.name", "m");
	SAYS("classes.1.memory_mb", "2048");
	SAYS("classes.1.disk_mb", "8192");
	SAYS("defaults.agent", "script");
	SAYS("defaults.memory_mb", "1024");
	SAYS("git_hosts.1", "other.example");
	SAYS("limits.task_bytes", "262144");
	SAYS("limits.upload_bytes", "1000000");
	SAYS("limits.answer_bytes", "61440");
	SAYS("heartbeat_s", "15");
	SAYS("caller.kind", "operator");
	/* an image that is there makes its agent ready */
	testweb_config.cache_dir = pool_printf(pool, "/tmp/test_screens.%d", getpid());
	assert_int_equal(mkdir(testweb_config.cache_dir, 0700), 0);
	assert_int_equal(mkdir(pool_printf(pool, "%s/images", testweb_config.cache_dir), 0700), 0);
	assert_int_equal(
		mkdir(pool_printf(pool, "%s/images/by-name", testweb_config.cache_dir), 0700), 0);
	assert_int_equal(
		mkdir(pool_printf(pool, "%s/images/by-name/base", testweb_config.cache_dir), 0700),
		0);
	(void)get(pool, &a, "/site.json");
	SAYS("agents.0.ready", "true");
	SAYS("agents.0.why", "");
	SAYS("agents.1.ready", "false");
	assert_int_equal(
		rmdir(pool_printf(pool, "%s/images/by-name/base", testweb_config.cache_dir)), 0);
	assert_int_equal(
		rmdir(pool_printf(pool, "%s/images/by-name", testweb_config.cache_dir)), 0);
	assert_int_equal(rmdir(pool_printf(pool, "%s/images", testweb_config.cache_dir)), 0);
	assert_int_equal(rmdir(testweb_config.cache_dir), 0);
	testweb_config.cache_dir = "/nonexistent";
}

/* A run that has asked, with everything a page shows of it. */
static const char *asked_run(struct pool *pool)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_running(worker, pool, &run);

	(void)fixture_asked(worker, &run, job, "q1");
	testdb_exec("UPDATE turns SET usage = '{\"input_tokens\":10,\"output_tokens\":2,"
		    "\"cost_usd\":0.25,\"cache_read_tokens\":\"odd\"}' WHERE run_id = %ld",
		(long)run.run_id);
	testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text) VALUES"
		    " (1, %ld, 1, 1, 'say', 'first'), (1, %ld, 2, 1, 'tool', repeat('w', 300)),"
		    " (1, %ld, 3, 1, 'usage', 'no')",
		(long)run.run_id, (long)run.run_id, (long)run.run_id);
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) VALUES (1, %ld, 1, 1, 0, 2, 0, 7, 'ab\ncd\ne')",
		(long)run.log_id);
	return pool_strdup(pool, run.name);
}

static void test_facts_of_a_run(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *run = asked_run(pool);
	struct answer a;

	(void)state;
	testdb_exec("UPDATE runs SET task = repeat('t', 3000), source = 'git',"
		    " repos = '[{\"repo\":\"o/n\",\"ref\":\"main\",\"dir\":\"n\"}]'"
		    " WHERE name = '%s'",
		run);
	(void)get(pool, &a, "/fleet.json");
	SAYS("runs.0.session", run);
	assert_int_equal(strlen(testweb_get(pool, &a, "runs.0.task")), 2000);
	SAYS("runs.0.repos.0.repo", "o/n");
	SAYS("runs.0.usage.input_tokens", "10");
	SAYS("runs.0.usage.cost_usd", "0.25");
	SAYS("runs.0.usage.cache_read_tokens", "");
	SAYS("runs.0.last.kind", "tool");
	assert_int_equal(strlen(testweb_get(pool, &a, "runs.0.last.text")), 160);
	SAYS("runs.0.log_lines", "3");
	SAYS("runs.0.log_bytes", "7");
	SAYS("runs.0.question.text", "which way?");
	SAYS("runs.0.turns", "");
	(void)get(pool, &a, pool_printf(pool, "/watch.json?session=%s", run));
	assert_int_equal(strlen(testweb_get(pool, &a, "task")), 3000);
	SAYS("turns.0.turn", "1");
	SAYS("turns.0.state", "asked");
	SAYS("turns.0.message", "echo hello");
	SAYS("turns.0.usage.output_tokens", "2");
	SAYS("questions.0.text", "which way?");
	SAYS("questions.0.answer", "");
	SAYS("questions.0.turn", "1");
	SAYS("box.limits.cpus", "1");
	SAYS("box.limits.lifetime_ms", "3600000");
	SAYS("box.readback.machine", "{ }");
	SAYS("box.readback.probe", "{ }");
	SAYS("box.run.session", run);
	SAYS("box.run.state", "waiting");
	SAYS("trace.2.seq", "3");
	(void)get(pool, &a, "/monitor.json");
	SAYS("per_box.0.run.title", "hello");
	SAYS("per_box.0.limits.memory_bytes", "1073741824");
	SAYS("per_box.0.state", "ready");
}

/* A run that used nothing says so by null, not by 0. */
static void test_unknown_is_null(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	(void)get(pool, &a, pool_printf(pool, "/watch.json?session=%s", run.name));
	SAYS("usage", "");
	SAYS("last", "");
	SAYS("patch", "");
	SAYS("box.readback", "");
	SAYS("log_lines", "0");
	testdb_exec("WITH b AS (INSERT INTO blobs (account_id, name, kind, file_name, size_bytes,"
		    " complete) VALUES (1, 'blob-old', 'patch', 'x.patch', 5, true) RETURNING id)"
		    " UPDATE turns SET patch_id = b.id FROM b WHERE run_id = %ld",
		(long)run.run_id);
	(void)get(pool, &a, pool_printf(pool, "/watch.json?session=%s", run.name));
	SAYS("patch.blob", "blob-old");
	SAYS("patch.size_bytes", "5");
	SAYS("patch.files", "");
	assert_non_null(strstr(a.body, "\"files\": null"));
}

/* A run with two trees names the newest patch and bundle of each, those that are whole alone. */
static void test_patches_of_trees(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct run_made other = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	(void)get(pool, &a, pool_printf(pool, "/watch.json?session=%s", run.name));
	SAYS("patches.0", "");
	testdb_exec(
		"INSERT INTO blobs (account_id, run_id, name, kind, file_name, size_bytes, added,"
		" complete) VALUES (1, %ld, 'blob-z1', 'patch', 'zebra.patch', 1, 1, true),"
		" (1, %ld, 'blob-a1', 'patch', 'ant.patch', 1, 1, true),"
		" (1, %ld, 'blob-zb', 'bundle', 'zebra.bundle', 7, NULL, true),"
		" (1, %ld, 'blob-z2', 'patch', 'zebra.patch', 2, 9, true),"
		" (1, %ld, 'blob-a2', 'patch', 'ant.patch', 2, 9, false),"
		" (1, %ld, 'blob-o1', 'patch', 'other.patch', 2, 9, true)",
		(long)run.run_id, (long)run.run_id, (long)run.run_id, (long)run.run_id,
		(long)run.run_id, (long)other.run_id);
	(void)get(pool, &a, pool_printf(pool, "/watch.json?session=%s", run.name));
	SAYS("patches.0.blob", "blob-z2");
	SAYS("patches.0.tree", "zebra");
	SAYS("patches.0.added", "9");
	SAYS("patches.1.blob", "blob-a1");
	SAYS("patches.1.tree", "ant");
	SAYS("patches.2", "");
	SAYS("bundles.0.tree", "zebra");
	SAYS("bundles.0.size_bytes", "7");
	SAYS("bundles.1", "");
}

static void test_hostile_title(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "POST", "/delegate.json",
		"{\"task\":\"x\",\"title\":\"\\u202eevil\\u2066 \\u001b[31m<b>t\\u0007\"}");
	assert_int_equal(a.status, 202);
	SAYS("title", "evil <b>t");
	a = testweb_operator(
		pool, "POST", "/delegate.json", "{\"task\":\"\\u202etask\\u001b[2J\\nmore\"}");
	assert_int_equal(a.status, 202);
	SAYS("title", "task");
}

static void test_trace_pages(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	int64_t before = 0, rows = 0;
	struct answer a;

	(void)state;
	testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text)"
		    " SELECT 1, %ld, s, 1, 'say', 'row ' || s FROM generate_series(1, 10000) s",
		(long)run.run_id);
	for (int pages = 0;; pages++) {
		CLEANUP(pool) struct pool *page = pool_new();
		const char *url = pool_printf(page, "/trace.json?session=%s&limit=500", run.name);
		int64_t first, last;

		if (before)
			url = pool_printf(page, "%s&before=%lld", url, (long long)before);
		(void)get(page, &a, url);
		assert_true(text_to_i64(testweb_get(page, &a, "rows.0.seq"), 1, 10000, &first));
		assert_true(text_to_i64(testweb_get(page, &a, "rows.499.seq"), 1, 10000, &last));
		assert_int_equal(last, before ? before - 1 : 10000);
		assert_int_equal(first, last - 499);
		assert_string_equal(testweb_get(page, &a, "first_seq"),
			pool_printf(page, "%lld", (long long)first));
		rows += 500;
		before = first;
		assert_string_equal(
			testweb_get(page, &a, "more"), rows == 10000 ? "false" : "true");
		if (rows == 10000)
			break;
		assert_in_range(pages, 0, 20);
	}
	(void)get(pool, &a, pool_printf(pool, "/trace.json?session=%s&before=1", run.name));
	SAYS("rows", "[ ]");
	SAYS("more", "false");
	SAYS("first_seq", "");
}

/* Rows are long at will: a page has an end all the same, and always one row. */
static void test_trace_of_long_rows(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	testdb_exec(
		"INSERT INTO trace (account_id, run_id, seq, turn, kind, text)"
		" SELECT 1, %ld, s, 1, 'say', repeat('x', 400000) FROM generate_series(1, 50) s",
		(long)run.run_id);
	(void)get(pool, &a, pool_printf(pool, "/trace.json?session=%s&limit=500", run.name));
	SAYS("first_seq", "48");
	SAYS("more", "true");
	(void)get(pool, &a, pool_printf(pool, "/watch.json?session=%s", run.name));
	SAYS("trace.2.seq", "50");
	SAYS("trace.3", "");
	testdb_exec("UPDATE trace SET text = repeat('x', 3000000) WHERE run_id = %ld AND seq = 50",
		(long)run.run_id);
	(void)get(pool, &a, pool_printf(pool, "/trace.json?session=%s", run.name));
	SAYS("first_seq", "50");
	SAYS("more", "true");
}

static void test_egress(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);
	struct answer a;

	(void)state;
	testdb_exec(
		"INSERT INTO egress (account_id, box_id, run_id, route, target, allowed, reason)"
		" SELECT 1, %ld, %ld, 'git', 'host/' || s, s %% 2 = 0, 'because'"
		" FROM generate_series(1, 300) s",
		(long)run.box_id, (long)run.run_id);
	testdb_exec("INSERT INTO model_calls (account_id, box_id, run_id, turn_id, path, model, "
		    "status, input_tokens, ms) VALUES (1, %ld, %ld, %ld, '/v1/messages', 'm', 200, "
		    "7, 90), (1, %ld, %ld, NULL, '/v1/messages', NULL, 0, NULL, 5)",
		(long)run.box_id, (long)run.run_id, (long)run.turn_id, (long)run.box_id,
		(long)run.run_id);
	(void)get(pool, &a, pool_printf(pool, "/egress.json?session=%s", run.name));
	SAYS("rows.0.target", "host/300");
	SAYS("rows.0.allowed", "true");
	SAYS("rows.1.allowed", "false");
	SAYS("rows.199.target", "host/101");
	SAYS("rows.200", "");
	SAYS("model_calls.0.status", "0");
	SAYS("model_calls.0.turn", "");
	SAYS("model_calls.1.turn", "1");
	SAYS("model_calls.1.input_tokens", "7");
	SAYS("model_calls.1.model", "m");
}

static void test_wrong_input(void **state)
{
	static const struct {
		const char *url; /* %s: a run of ours */
		int status;
	} cases[] = {
		{"/trace.json?session=%s", 200},
		{"/trace.json?session=%s&before=0", 422},
		{"/trace.json?session=%s&before=x", 422},
		{"/trace.json?session=%s&limit=0", 422},
		{"/trace.json?session=%s&limit=501", 422},
		{"/trace.json?session=%s&limit=500", 200},
		{"/trace.json?session=%s&from=1", 422},
		{"/trace.json?before=5", 422},
		{"/egress.json?session=%s", 200},
		{"/egress.json?session=%s&limit=1", 422},
		{"/egress.json", 422},
		{"/session.json?x=1", 422},
		{"/site.json?x=1", 422},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_made run = fixture_run(web, ACCOUNT);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *at = strstr(cases[i].url, "%s");
		const char *url = at ? pool_printf(pool, "%.*s%s%s", (int)(at - cases[i].url),
					       cases[i].url, run.name, at + 2)
				     : cases[i].url;
		struct answer a = testweb_operator(pool, "GET", url, NULL);

		if (a.status != cases[i].status)
			fail_msg("%s: %d %s", url, a.status, a.body);
	}
}

/* The list is read at each opening of a page: 100 runs of 2,000 rows, the last of them such that
 * the line to be shown is not soon found. The best of some tries, since this machine is shared. */
static void test_fleet_is_quick(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	int64_t best = INT64_MAX;
	struct answer a;

	(void)state;
	for (int i = 0; i < 100; i++)
		(void)fixture_run(web, ACCOUNT);
	testdb_exec("DELETE FROM trace");
	testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text, data)"
		    " SELECT 1, r.id, s, 1, CASE WHEN s < 1800 THEN 'say' ELSE 'usage' END,"
		    " 'some words ' || s, jsonb_build_object('n', repeat('y', 200))"
		    " FROM (SELECT id FROM runs ORDER BY id DESC LIMIT 100) r,"
		    " generate_series(1, 2000) s");
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, l.id, s, 1, s, 1, s * 16384, 16384,"
		    " convert_to(repeat(md5(s::text) || l.id, 400), 'UTF8')"
		    " FROM (SELECT id FROM logs ORDER BY id DESC LIMIT 100) l,"
		    " generate_series(1, 5) s ON CONFLICT DO NOTHING");
	testdb_exec("ANALYZE");
	for (int i = 0; i < 20; i++) {
		CLEANUP(pool) struct pool *once = pool_new();
		int64_t start = time_boot_ms();

		(void)get(once, &a, "/fleet.json");
		if (time_boot_ms() - start < best)
			best = time_boot_ms() - start;
	}
	print_message("fleet of 100 runs: %lld ms\n", (long long)best);
	assert_in_range(best, 0, 50);
	(void)get(pool, &a, "/fleet.json");
	SAYS("runs.99.trace_rows", "2000");
	SAYS("runs.100", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_site),
		cmocka_unit_test(test_facts_of_a_run),
		cmocka_unit_test(test_unknown_is_null),
		cmocka_unit_test(test_patches_of_trees),
		cmocka_unit_test(test_hostile_title),
		cmocka_unit_test(test_trace_pages),
		cmocka_unit_test(test_trace_of_long_rows),
		cmocka_unit_test(test_egress),
		cmocka_unit_test(test_wrong_input),
		cmocka_unit_test(test_fleet_is_quick),
	};

	return cmocka_run_group_tests(tests, setup, done);
}
