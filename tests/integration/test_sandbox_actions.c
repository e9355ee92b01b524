/*
 * create_sandbox, run, get_process_logs, destroy_sandbox, sandboxes and capabilities as requests:
 * what they take, what they refuse and how they say it, without a box.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

static struct pool *pool;

static int setup(void **state)
{
	(void)state;
	testdb_exec("TRUNCATE jobs, job_history");
	pool = pool_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_free(pool);
	return 0;
}

static struct answer post(const char *path, const char *body)
{
	return testweb_operator(pool, "POST", path, body);
}

static const char *get(const struct answer *a, const char *path)
{
	return testweb_get(pool, a, path);
}

static const char *make(void)
{
	struct answer a = post("/create_sandbox.json", "{\"language\":\"python\"}");

	assert_int_equal(a.status, 202);
	return get(&a, "sandbox_id");
}

static struct answer run_in(const char *sandbox, const char *members)
{
	return post("/run.json", pool_printf(pool, "{\"sandbox_id\":\"%s\",%s}", sandbox, members));
}

static void box_ends(const char *sandbox, const char *state, const char *reason)
{
	testdb_exec("UPDATE boxes SET state = '%s', reason = '%s' WHERE name = '%s'", state, reason,
		sandbox);
}

static void test_create(void **state)
{
	struct answer a =
		post("/create_sandbox.json", "{\"language\":\"bash\",\"backend\":\"auto\","
					     "\"packages\":[\"tree\"],\"memory_mb\":1500}");

	(void)state;
	assert_int_equal(a.status, 202);
	assert_int_equal(strncmp(get(&a, "sandbox_id"), "box-", 4), 0);
	assert_string_equal(get(&a, "state"), "creating");
	assert_string_equal(get(&a, "language"), "bash");
	assert_string_equal(get(&a, "limits.memory_bytes"), "2147483648");
	assert_string_equal(get(&a, "workdir"), "/workspace");
	a = post("/create_sandbox.json", "{\"language\":\"python\",\"wait_ms\":50000}");
	assert_non_null(a.internal);
	assert_non_null(strstr(a.internal, "box=box-"));
	assert_non_null(strstr(a.internal, "wait_ms=50000"));
}

/* What is wrong is named, and what to do about it by more than the sentence for everything. */
static bool is_advised(const struct answer *a)
{
	const char *fix = get(a, "error.fix");

	return *get(a, "error.message") && *fix && strcmp(fix, err_info(ERR_INVALID)->fix) != 0 &&
	       strcmp(fix, err_info(ERR_NOT_FOUND)->fix) != 0;
}

static void test_create_refuses(void **state)
{
	static const struct {
		const char *body, *reason;
	} rows[] = {
		{"{}", "field"},
		{"{\"language\":\"cobol\"}", "unsupported_language"},
		{"{\"language\":\"java\"}", "unsupported_language"},
		{"{\"language\":\"python\",\"backend\":\"vmware\"}", "unsupported_backend"},
		{"{\"language\":\"python\",\"environment\":\"nope\"}", "unknown_environment"},
		{"{\"language\":\"python\",\"environment\":\"python:3.12-slim\"}", "field"},
		{"{\"language\":\"python\",\"memory_mb\":-1}", "field"},
		{"{\"language\":\"python\",\"wait_ms\":\"1\"}", "field"},
		{"{\"language\":\"python\",\"packages\":\"requests\"}", "field"},
		{"{\"language\":\"python\",\"package\":[\"requests\"]}", "field"},
		{"{\"language\":\"python\",\"sync_from\":\"/etc\"}", "field"},
		{"{\"language\":\"python\",\"packages\":[\"--index-url=http://evil.example\"]}",
			"invalid_package"},
		{"{\"language\":\"bash\",\"packages\":[\"jq==1.7\"]}", "invalid_package"},
		{"{\"language\":\"python\",\"packages_from\":\"requirements.txt\"}",
			"invalid_package"},
		{"{\"language\":\"python\",\"packages_from\":\"go.sum\"}", "invalid_package"},
		{"{\"language\":\"python\",\"packages_from\":\"a/requirements.txt\"}", "field"},
		{"{\"language\":\"python\",\"packages\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
		 "\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
		 "\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}",
			"field"},
	};
	int64_t before = testdb_i64("SELECT count(*) FROM boxes");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = post("/create_sandbox.json", rows[i].body);

		assert_int_equal(a.status, 422);
		assert_string_equal(get(&a, "error.context.reason"), rows[i].reason);
		if (!is_advised(&a))
			fail_msg("%s: no fix in %s", rows[i].body, a.body);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM boxes"), before);
}

static void test_run(void **state)
{
	const char *sandbox = make();
	struct answer a = run_in(sandbox, "\"code\":\"print(1)\",\"files\":{\"a/b.txt\":\"x\"}");

	(void)state;
	assert_int_equal(a.status, 202);
	assert_string_equal(get(&a, "sandbox_id"), sandbox);
	assert_int_equal(strncmp(get(&a, "process_id"), "exec-", 5), 0);
	assert_string_equal(get(&a, "exec"), get(&a, "process_id"));
	assert_string_equal(get(&a, "state"), "queued");
	assert_string_equal(get(&a, "timeout_ms"), "30000");
	assert_string_equal(get(&a, "language"), "python");
	a = run_in(sandbox, "\"code\":\"1\",\"wait_ms\":50000,\"timeout\":60");
	assert_non_null(a.internal);
	assert_non_null(strstr(a.internal, "exec=exec-"));
	/* in the background it answers at once, and has no limit of its own */
	a = run_in(sandbox, "\"code\":\"1\",\"wait_ms\":50000,\"background\":true");
	assert_int_equal(a.status, 202);
	assert_string_equal(get(&a, "background"), "true");
	assert_true(strtoll(get(&a, "timeout_ms"), NULL, 10) > 86400000);
}

/* Each holds a runner. One that has ended makes room. */
static void test_background_runs_are_few(void **state)
{
	static const char members[] = "\"code\":\"1\",\"background\":true";
	const char *sandbox = make();
	struct answer a;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(run_in(sandbox, members).status, 202);
	a = run_in(sandbox, members);
	assert_int_equal(a.status, 409);
	assert_string_equal(get(&a, "error.context.reason"), "too_many_processes");
	assert_int_equal(run_in(sandbox, "\"code\":\"1\"").status, 202);
	testdb_exec(
		"UPDATE execs SET state = 'done' WHERE id = (SELECT min(e.id) FROM execs e JOIN "
		"boxes b ON b.id = e.box_id WHERE b.name = '%s')",
		sandbox);
	assert_int_equal(run_in(sandbox, members).status, 202);
}

static void test_run_refuses(void **state)
{
	static const struct {
		const char *members;
		int status;
	} rows[] = {
		{"\"code\":\"1\",\"timeout\":null", 422},
		{"\"code\":\"1\",\"timeout\":-1", 422},
		{"\"code\":\"1\",\"timeout\":0", 422},
		{"\"code\":\"1\",\"timeout\":61", 422},
		{"\"code\":\"1\",\"timeout\":1.5", 422},
		{"\"code\":\"1\",\"timeout\":\"30\"", 422},
		{"\"code\":\"1\",\"timeout\":NaN", 400},
		{"\"code\":\"1\",\"timeout\":Infinity", 400},
		{"\"code\":null", 422},
		{"\"code\":\"\"", 422},
		{"\"code\":\"  \"", 422},
		{"\"code\":1", 422},
		{"\"code\":\"1\",\"files\":[\"a\"]", 422},
		{"\"code\":\"1\",\"files\":{\"a\":1}", 422},
		{"\"code\":\"1\",\"files\":{\"/etc/passwd\":\"x\"}", 422},
		{"\"code\":\"1\",\"files\":{\"../up\":\"x\"}", 422},
		{"\"code\":\"1\",\"files\":{\"a/../../up\":\"x\"}", 422},
		{"\"code\":\"1\",\"files\":{\"a//b\":\"x\"}", 422},
		{"\"code\":\"1\",\"files\":{\"\":\"x\"}", 422},
		{"\"code\":\"1\",\"files\":{\"a/\":\"x\"}", 422},
	};
	const char *sandbox = make();
	int64_t before = testdb_i64("SELECT count(*) FROM execs");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = run_in(sandbox, rows[i].members);

		if (a.status != rows[i].status)
			print_error("%s: %d %s\n", rows[i].members, a.status, a.body);
		assert_int_equal(a.status, rows[i].status);
		/* a field that is wrong says what it is to be */
		if (a.status == 422 && !is_advised(&a))
			fail_msg("%s: no fix in %s", rows[i].members, a.body);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM execs"), before);
	/* and what lies just inside is taken */
	assert_int_equal(run_in(sandbox, "\"code\":\"1\",\"timeout\":60").status, 202);
	assert_int_equal(
		run_in(sandbox, "\"code\":\"1\",\"files\":{\"..a/.b\":\"x\"}").status, 202);
}

static void test_code_of_a_mebibyte(void **state)
{
	size_t n = 1024 * 1024;
	char *code = pool_alloc(pool, n + 2);
	const char *sandbox = make();
	struct answer a;

	(void)state;
	memset(code, '#', n + 1);
	a = run_in(sandbox, pool_printf(pool, "\"code\":\"%s\"", code));
	assert_int_equal(a.status, 413);
	assert_true(*get(&a, "error.fix") != '\0');
	code[n] = '\0';
	assert_int_equal(run_in(sandbox, pool_printf(pool, "\"code\":\"%s\"", code)).status, 202);
}

static void test_run_in_none(void **state)
{
	const char *sandbox = make();
	struct answer a = run_in("box-none", "\"code\":\"1\"");

	(void)state;
	assert_int_equal(a.status, 404);
	assert_string_equal(get(&a, "error.context.reason"), "no_sandbox");
	box_ends(sandbox, "gone", "idle");
	a = run_in(sandbox, "\"code\":\"1\"");
	assert_int_equal(a.status, 409);
	assert_string_equal(get(&a, "error.context.reason"), "sandbox_gone");
	assert_true(*get(&a, "error.fix") != '\0');
	sandbox = make();
	box_ends(sandbox, "failed", "network_leak");
	a = run_in(sandbox, "\"code\":\"1\"");
	assert_int_equal(a.status, 502);
	assert_string_equal(get(&a, "error.context.reason"), "network_leak");
}

static void test_logs(void **state)
{
	const char *sandbox = make();
	struct answer a = run_in(sandbox, "\"code\":\"1\",\"background\":true");
	const char *process = get(&a, "process_id"),
		   *url = pool_printf(pool,
			   "/get_process_logs.json?sandbox_id=%s&process_id=%s&offset=", sandbox,
			   process);

	(void)state;
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		    "src_off, src_len, body) SELECT 1, log_id, 1, 1, 0, 1, 0, 6, 'hello\n' FROM "
		    "execs WHERE name = '%s'",
		process);
	a = testweb_operator(pool, "GET", pool_printf(pool, "%s0", url), NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "stdout"), "hello\n");
	assert_string_equal(get(&a, "next_offset"), "6");
	assert_string_equal(get(&a, "running"), "true");
	a = testweb_operator(pool, "GET", pool_printf(pool, "%s6", url), NULL);
	assert_string_equal(get(&a, "stdout"), "");
	a = testweb_operator(pool, "GET", pool_printf(pool, "%s-1", url), NULL);
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "GET",
		"/get_process_logs.json?sandbox_id=box-none&process_id=exec-none", NULL);
	assert_int_equal(a.status, 404);
	assert_true(is_advised(&a));
	a = testweb_operator(pool, "GET", pool_printf(pool, "/exec.json?exec=%s", process), NULL);
	assert_string_equal(get(&a, "stdout"), "hello\n");
	assert_string_equal(get(&a, "success"), "");
}

static void test_destroy(void **state)
{
	const char *sandbox = make(), *body;
	struct answer a = post("/destroy_sandbox.json", "{\"sandbox_id\":\"box-none\"}");

	(void)state;
	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "status"), "destroyed");
	body = pool_printf(pool, "{\"sandbox_id\":\"%s\"}", sandbox);
	a = post("/destroy_sandbox.json", body);
	assert_int_equal(a.status, 202);
	assert_string_equal(get(&a, "status"), "destroying");
	a = post("/destroy_sandbox.json",
		pool_printf(pool, "{\"sandbox_id\":\"%s\",\"wait_ms\":1000}", sandbox));
	assert_non_null(strstr(a.internal, "end="));
	box_ends(sandbox, "gone", "operator");
	a = post("/destroy_sandbox.json", body);
	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "status"), "destroyed");
}

static void test_sandboxes_lists_what_lives(void **state)
{
	const char *lives = make(), *ended = make();
	struct answer a;

	(void)state;
	box_ends(ended, "gone", "operator");
	a = testweb_operator(pool, "GET", "/sandboxes.json", NULL);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.body, lives));
	assert_null(strstr(a.body, ended));
	a = testweb_operator(
		pool, "GET", pool_printf(pool, "/sandboxes.json?sandbox_id=%s", ended), NULL);
	assert_string_equal(get(&a, "sandboxes.0.status"), "destroyed");
	assert_null(strstr(a.body, lives));
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/sandboxes.json?sandbox_id=%s&wait_ms=9", lives), NULL);
	assert_string_equal(a.internal,
		pool_printf(
			pool, "/internal/wait?box=%s&wait_ms=9&account=1&turn=0&read=1", lives));
	a = testweb_operator(pool, "GET", "/sandboxes.json?wait_ms=9", NULL);
	assert_int_equal(a.status, 422);
	a = testweb_operator(pool, "GET", "/sandboxes.json?sandbox_id=a%0aX:b&wait_ms=9", NULL);
	assert_int_equal(a.status, 422);
	assert_null(a.internal);
}

/* What ran there, newest first; to look is no use, so that a page does not keep a sandbox alive. */
static void test_processes(void **state)
{
	const char *sandbox = make(), *other = make(), *first, *second;
	const char *url = pool_printf(pool, "/processes.json?sandbox_id=%s", sandbox);
	struct answer a = testweb_operator(pool, "GET", url, NULL);

	(void)state;
	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "sandbox.sandbox_id"), sandbox);
	assert_string_equal(get(&a, "total"), "0");
	a = run_in(sandbox, "\"code\":\"print(1)\",\"files\":{\"a/b.txt\":\"x\"}");
	first = get(&a, "process_id");
	a = run_in(sandbox, "\"code\":\"print(2)\",\"background\":true");
	second = get(&a, "process_id");
	(void)run_in(other, "\"code\":\"elsewhere()\"");
	testdb_exec("UPDATE boxes SET used_at = now() - interval '1 h' WHERE name = '%s'", sandbox);
	a = testweb_operator(pool, "GET", url, NULL);
	assert_string_equal(get(&a, "total"), "2");
	assert_string_equal(get(&a, "processes.0.process_id"), second);
	assert_string_equal(get(&a, "processes.0.background"), "true");
	assert_string_equal(get(&a, "processes.1.process_id"), first);
	assert_string_equal(get(&a, "processes.1.code"), "print(1)");
	assert_string_equal(get(&a, "processes.1.code_bytes"), "8");
	assert_string_equal(get(&a, "processes.1.files.0"), "a/b.txt");
	assert_string_equal(get(&a, "processes.1.receipt"), "false");
	assert_null(strstr(a.body, "elsewhere"));
	assert_int_equal(testdb_i64("SELECT count(*) FROM boxes WHERE name = '%s'"
				    " AND used_at < now() - interval '59 min'",
				 sandbox),
		1);
	a = testweb_operator(pool, "GET", pool_printf(pool, "%s&limit=1", url), NULL);
	assert_string_equal(get(&a, "total"), "2");
	assert_string_equal(get(&a, "processes.1.process_id"), "");
	box_ends(sandbox, "gone", "operator");
	a = testweb_operator(pool, "GET", url, NULL);
	assert_string_equal(get(&a, "sandbox.status"), "destroyed");
	assert_string_equal(get(&a, "processes.0.process_id"), second);
	a = testweb_operator(pool, "GET", "/processes.json?sandbox_id=box-none", NULL);
	assert_int_equal(a.status, 404);
}

static void test_capabilities(void **state)
{
	struct answer a = testweb_operator(pool, "GET", "/capabilities.json", NULL);

	(void)state;
	assert_int_equal(a.status, 200);
	assert_string_equal(get(&a, "limits.timeout_max_s"), "60");
	assert_string_equal(get(&a, "limits.output_characters"), "20000");
	assert_string_equal(get(&a, "limits.code_bytes"), "1048576");
	assert_non_null(strstr(a.body, "\"javascript\""));
	assert_non_null(strstr(a.body, "not_claimed"));
	/* of each backend, the class of its boxes */
	assert_string_equal(get(&a, "backends.0"), "qemu");
	assert_string_equal(get(&a, "isolation.qemu"), "emulated-vm");
}

/* The same layers as every action: a caller, one answer for one key, a row for the audit. */
static void test_layers(void **state)
{
	static const char body[] = "{\"language\":\"python\"}";
	const char *const headers[] = {HOST, BEARER, JSON, "Idempotency-Key: sandbox-key-1", NULL};
	const char *const nobody[] = {HOST, JSON, NULL};
	struct answer a =
		testweb_ask(pool, "POST", "/create_sandbox.json", headers, body, sizeof(body) - 1);
	struct answer again =
		testweb_ask(pool, "POST", "/create_sandbox.json", headers, body, sizeof(body) - 1);

	(void)state;
	assert_int_equal(a.status, 202);
	assert_string_equal(get(&a, "sandbox_id"), get(&again, "sandbox_id"));
	assert_non_null(strstr(again.head, "Idempotent-Replayed: true"));
	assert_int_equal(
		testweb_ask(pool, "POST", "/create_sandbox.json", nobody, body, sizeof(body) - 1)
			.status,
		401);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE action = 'create_sandbox' "
				    "AND subject = '%s'",
				 get(&a, "sandbox_id")),
		1);
}

int main(void)
{
	int failed;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create, setup, teardown),
		cmocka_unit_test_setup_teardown(test_create_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_background_runs_are_few, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code_of_a_mebibyte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_in_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_logs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sandboxes_lists_what_lives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_capabilities, setup, teardown),
		cmocka_unit_test_setup_teardown(test_layers, setup, teardown),
	};

	failed = cmocka_run_group_tests(tests, NULL, NULL);
	testweb_done();
	return failed;
}
