/*
 * Sandboxes as rows: made, used, run in, read, destroyed; who may see them; what refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "box.h"
#include "cleanup.h"
#include "exec.h"
#include "fixture.h"
#include "language.h"
#include "pool.h"
#include "queries.h"
#include "testdb.h"

static struct db *web, *worker;
static struct pool *pool;
static struct err err;

static int setup(void **state)
{
	(void)state;
	fixture_open(&web, &worker, &pool);
	err = (struct err){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(web, worker, pool);
	return 0;
}

static bool submit(int64_t account, const struct sandbox_run *run, struct exec_made *out)
{
	CLEANUP(tx) struct tx tx = {0};

	return db_begin(web, account, &tx, &err) && sandbox_run(web, run, out, &err) &&
	       db_commit(&tx, &err);
}

static struct exec_made run_code(const struct sandbox_made *box, const char *code)
{
	const struct sandbox_run run = {.account_id = ACCOUNT,
		.sandbox = box->name,
		.code = code,
		.files = "{\"a.txt\":\"hi\"}",
		.timeout_ms = 30000,
		.request_id = "rq5"};
	struct exec_made made = {0};

	assert_true(submit(ACCOUNT, &run, &made));
	return made;
}

static bool destroy(int64_t account, const char *name, bool *known, bool *gone)
{
	CLEANUP(tx) struct tx tx = {0};

	return db_begin(web, account, &tx, &err) &&
	       sandbox_destroy(web, account, name, "rq6", 60000, known, gone, &err) &&
	       db_commit(&tx, &err);
}

/* A member of sandbox_json or evidence_json, as text. */
static const char *said(const char *function, int64_t id, const char *key)
{
	return testdb_text("SELECT %s(%ld) ->> '%s'", function, (long)id, key);
}

static void test_create_makes_a_row_and_a_job(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	struct job *job = fixture_claim(worker, pool);

	(void)state;
	assert_string_equal(job->kind, "create");
	assert_string_equal(job->lane, "admin");
	assert_int_equal(job->box_id, box.box_id);
	assert_int_equal(job->run_id, 0);
	assert_string_equal(said("sandbox_json", box.box_id, "state"), "creating");
	assert_string_equal(said("sandbox_json", box.box_id, "language"), "python");
	assert_string_equal(
		testdb_text("SELECT egress FROM boxes WHERE id = %ld", (long)box.box_id), "sealed");
	/* a box of a run is none */
	assert_int_equal(testdb_i64("SELECT count(*) FROM boxes b, sandbox_json(b.id) j"
				    " WHERE b.purpose = 'run' AND j IS NOT NULL"),
		0);
}

static void test_network_says_sealed_only_when_proved(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);

	(void)state;
	fixture_sandbox_ready(worker, pool, &box);
	assert_string_equal(said("sandbox_json", box.box_id, "state"), "ready");
	assert_int_equal(strncmp(said("sandbox_json", box.box_id, "network"), "sealed", 6), 0);
	testdb_exec("UPDATE boxes SET egress = 'packages' WHERE id = %ld", (long)box.box_id);
	assert_int_not_equal(strncmp(said("sandbox_json", box.box_id, "network"), "sealed", 6), 0);
	testdb_exec(
		"UPDATE boxes SET egress = 'sealed', seal = NULL WHERE id = %ld", (long)box.box_id);
	assert_int_not_equal(strncmp(said("sandbox_json", box.box_id, "network"), "sealed", 6), 0);
}

static void test_an_open_gate_is_not_handed_out(void **state)
{
	const struct box_process process = {
		.pid = 4242, .pid_start = 77, .isolation = "emulated-vm", .readback = "{}"};
	const struct box_proof proof = {
		.boot_id = "gboot", .kernel = "6.1", .machine = "{}", .probe = "{}"};
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	const struct fence f = fixture_claim(worker, pool)->fence;
	int slot;

	(void)state;
	testdb_exec("UPDATE boxes SET egress = 'packages' WHERE id = %ld", (long)box.box_id);
	assert_true(box_assign_slot(worker, &f, box.box_id, "host1", "boot", 64, &slot, &err));
	assert_true(box_started(worker, &f, box.box_id, &process, &err));
	assert_false(box_ready(worker, &f, box.box_id, &proof, &err));
	assert_string_equal(err.reason, "network_leak");
	assert_string_equal(said("sandbox_json", box.box_id, "state"), "creating");
	/* the control: closed, it is */
	testdb_exec("UPDATE boxes SET egress = 'sealed' WHERE id = %ld", (long)box.box_id);
	assert_true(box_ready(worker, &f, box.box_id, &proof, &err));
	assert_string_equal(said("sandbox_json", box.box_id, "state"), "ready");
}

static void test_run_keeps_code_files_and_language(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	struct exec_made made = run_code(&box, "print(1)");
	struct exec x;

	(void)state;
	assert_true(exec_get(worker, pool, made.id, &x, &err));
	assert_string_equal(x.language, "python");
	assert_int_equal(x.code_size, 8);
	assert_memory_equal(x.code, "print(1)", 8);
	assert_string_equal(x.files, "{\"a.txt\": \"hi\"}");
	assert_string_equal(x.argv, "[\"python3\"]");
	assert_string_equal(x.cwd, "/workspace");
	assert_string_equal(said("evidence_json", made.id, "code_sha256"),
		testdb_text("SELECT encode(sha256('print(1)'), 'hex')"));
	assert_string_equal(said("evidence_json", made.id, "state"), "queued");
	assert_string_equal(said("evidence_json", made.id, "success"), "");
	/* the job has no run */
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE exec_id = %ld AND run_id IS "
				    "NULL AND kind = 'exec'",
				 (long)made.id),
		1);
}

static void test_use_moves_used_at(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);

	(void)state;
	testdb_exec("UPDATE boxes SET used_at = now() - interval '1 h' WHERE id = %ld",
		(long)box.box_id);
	(void)run_code(&box, "1");
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM boxes WHERE id = %ld AND used_at > now() - "
			   "interval '1 min'",
			(long)box.box_id),
		1);
}

static void test_another_account_sees_nothing(void **state)
{
	int64_t other = fixture_account("sandbox-other");
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	const struct sandbox_run run = {
		.account_id = other, .sandbox = box.name, .code = "1", .timeout_ms = 1000};
	struct exec_made made;
	bool known = true, gone;
	char code[6];

	(void)state;
	assert_false(submit(other, &run, &made));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.reason, "no_sandbox");
	assert_true(destroy(other, box.name, &known, &gone));
	assert_false(known);
	assert_string_equal(said("sandbox_json", box.box_id, "state"), "creating");
	/* the fence behind the statement's own condition, and its positive control */
	assert_int_equal(
		testdb_try("asb_web", other, "SELECT 1 FROM boxes WHERE purpose = 'sandbox'", code),
		0);
	assert_true(testdb_try("asb_web", ACCOUNT, "SELECT 1 FROM boxes WHERE purpose = 'sandbox'",
			    code) > 0);
}

static void test_destroy_is_idempotent(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	struct job *create = fixture_claim(worker, pool);
	bool known = true, gone = true;

	(void)state;
	assert_true(destroy(ACCOUNT, "box-none", &known, &gone));
	assert_false(known);
	assert_true(gone);
	for (int i = 0; i < 2; i++) {
		assert_true(destroy(ACCOUNT, box.name, &known, &gone));
		assert_true(known);
		assert_false(gone);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE box_id = %ld AND kind = "
				    "'destroy'",
				 (long)box.box_id),
		1);
	/* whoever makes it is told */
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE id = %ld AND "
				    "cancel_requested_at IS NOT NULL",
				 (long)create->fence.job_id),
		1);
	testdb_exec("UPDATE boxes SET state = 'gone', reason = 'operator' WHERE id = %ld",
		(long)box.box_id);
	assert_true(destroy(ACCOUNT, box.name, &known, &gone));
	assert_true(known && gone);
}

static void test_what_ended_refuses_with_its_reason(void **state)
{
	static const struct {
		const char *state, *reason;
		enum err_code code;
		const char *word;
	} rows[] = {
		{"gone", "operator", ERR_CONFLICT, "sandbox_gone"},
		{"gone", "idle", ERR_CONFLICT, "sandbox_gone"},
		{"failed", "provision", ERR_UPSTREAM, "provision_failed"},
		{"failed", "network_leak", ERR_UPSTREAM, "network_leak"},
		{"failed", "policy", ERR_UPSTREAM, "policy_not_applied"},
		{"failed", "guest_panic", ERR_CONFLICT, "sandbox_failed"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
		const struct sandbox_run run = {
			.account_id = ACCOUNT, .sandbox = box.name, .code = "1"};
		struct exec_made made;

		testdb_exec("UPDATE boxes SET state = '%s', reason = '%s', detail = 'as it was' "
			    "WHERE id = %ld",
			rows[i].state, rows[i].reason, (long)box.box_id);
		assert_false(submit(ACCOUNT, &run, &made));
		assert_int_equal(err.code, rows[i].code);
		assert_string_equal(err.reason, rows[i].word);
		assert_non_null(strstr(err.msg, "as it was"));
		assert_true(err.fix[0] != '\0');
	}
}

/* Output of n bytes of `letter` in the exec's log, in chunks. */
static void log_fill(const struct exec_made *e, int stream, const char *letter, int n)
{
	testdb_exec(
		"INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		"src_off, src_len, body) SELECT 1, %ld, b.seq + i, %d, 0, 0, b.off + (i - 1) * "
		"10000, length(t), t::bytea FROM (SELECT coalesce(max(seq), 0) AS seq, "
		"coalesce(max(src_off + src_len), 0) AS off FROM log_chunk WHERE log_id = %ld) b, "
		"generate_series(1, (%d + 9999) / 10000) i, LATERAL (SELECT repeat('%s', "
		"least(10000, %d - (i - 1) * 10000)) AS t) x",
		(long)e->log_id, stream, (long)e->log_id, n, letter, n);
}

static void test_output_is_cut_and_marked(void **state)
{
	static const char mark[] = "[output cut after 20,000 characters";
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	struct exec_made fits = run_code(&box, "1"), over = run_code(&box, "2");

	(void)state;
	log_fill(&fits, 1, "a", 20000);
	log_fill(&fits, 2, "e", 3);
	assert_int_equal(strlen(said("evidence_json", fits.id, "stdout")), 20000);
	assert_string_equal(said("evidence_json", fits.id, "stderr"), "eee");
	assert_string_equal(said("evidence_json", fits.id, "truncated"), "false");
	log_fill(&over, 1, "a", 20001);
	assert_string_equal(said("evidence_json", over.id, "truncated"), "true");
	assert_non_null(strstr(said("evidence_json", over.id, "stdout"), mark));
	assert_int_equal(strspn(said("evidence_json", over.id, "stdout"), "a"), 20000);
	/* more than is looked at */
	struct exec_made wide = run_code(&box, "3");

	log_fill(&wide, 2, "z", 120000);
	assert_string_equal(said("evidence_json", wide.id, "truncated"), "true");
	assert_string_equal(said("evidence_json", wide.id, "stdout"), "");
	assert_non_null(strstr(said("evidence_json", wide.id, "stderr"), mark));
}

static void test_logs_by_offset(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);
	struct exec_made made = run_code(&box, "1");
	CLEANUP(tx) struct tx tx = {0};
	static const struct {
		int64_t offset;
		const char *out, *next, *more;
	} rows[] = {
		{0, "65536+", "70000", "true"},
		{70000, "30000", "100000", "false"},
		{99990, "10", "100000", "false"},
		{100000, "0", "100000", "false"},
		{500000, "0", "500000", "false"},
	};

	(void)state;
	log_fill(&made, 1, "a", 100000);
	assert_true(db_begin(web, ACCOUNT, &tx, &err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(result) struct result res = {0};
		const char *json;

		assert_true(db_query(web, Q_SANDBOX_PROCESS,
			ARGS(db_i64(ACCOUNT), db_text(box.name), db_text(made.name),
				db_i64(rows[i].offset)),
			&res, &err));
		assert_int_equal(res.rows, 1);
		json = result_text(&res, 0, 0);
		assert_string_equal(
			testdb_text("SELECT '%s'::json ->> 'next_offset'", json), rows[i].next);
		assert_string_equal(
			testdb_text("SELECT '%s'::json ->> 'more'", json), rows[i].more);
		if (i)
			assert_string_equal(
				testdb_text("SELECT length('%s'::json ->> 'stdout')", json),
				rows[i].out);
	}
	{
		CLEANUP(result) struct result res = {0};

		assert_true(db_query(web, Q_SANDBOX_PROCESS,
			ARGS(db_i64(ACCOUNT), db_text("box-none"), db_text(made.name), db_i64(0)),
			&res, &err));
		assert_int_equal(res.rows, 0);
	}
}

static void test_language_names_are_the_table(void **state)
{
	size_t n = 0;

	(void)state;
	for (; languages[n].name; n++) {
		assert_string_equal(languages[n].name, language_names[n]);
		assert_ptr_equal(language_find(language_names[n]), &languages[n]);
		assert_non_null(languages[n].argv[0]);
	}
	assert_null(language_names[n]);
	assert_null(language_find("cobol"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create_makes_a_row_and_a_job, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_network_says_sealed_only_when_proved, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_open_gate_is_not_handed_out, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_run_keeps_code_files_and_language, setup, teardown),
		cmocka_unit_test_setup_teardown(test_use_moves_used_at, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_account_sees_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_is_idempotent, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_ended_refuses_with_its_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(test_output_is_cut_and_marked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_logs_by_offset, setup, teardown),
		cmocka_unit_test(test_language_names_are_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
