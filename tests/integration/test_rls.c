/*
 * Row-level security: asb_web sees and writes one account's rows, none when no account is set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blob.h"
#include "cleanup.h"
#include "fixture.h"
#include "pool.h"
#include "queries.h"
#include "testdb.h"

static struct db *web;
static struct pool *pool;
static struct err err;
static int64_t other;
static struct run_made mine, theirs;
static struct blob_made blob;

static int setup_group(void **state)
{
	const struct blob_new in = {ACCOUNT, BLOB_UPLOAD, "x", 0, 0, 100, 0};

	(void)state;
	web = testdb_open("asb_web");
	pool = pool_new();
	other = fixture_account("other");
	mine = fixture_run(web, ACCOUNT);
	theirs = fixture_run(web, other);
	assert_true(fixture_blob(web, &in, "abc", 3, &blob, &err));
	testdb_exec("INSERT INTO questions (account_id, run_id, turn_id, box_ref, text) VALUES"
		    " (1, %ld, %ld, 'q', 't')",
		(long)mine.run_id, (long)mine.turn_id);
	testdb_exec("INSERT INTO trace (account_id, run_id, seq, turn, kind, text) VALUES (1, %ld, "
		    "1, 1, 'say', 'x')",
		(long)mine.run_id);
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		    "src_off, src_len,"
		    " body) VALUES (1, %ld, 1, 1, 0, 0, 0, 1, 'x')",
		(long)mine.log_id);
	return 0;
}

static int teardown_group(void **state)
{
	(void)state;
	db_free(web);
	pool_free(pool);
	return 0;
}

static const char *const tables[] = {"boxes", "runs", "turns", "questions", "logs", "jobs", "trace",
	"log_chunk", "blobs", "blob_chunks", "feed"};

static void test_every_table_with_an_account_is_fenced(void **state)
{
	(void)state;
	assert_string_equal(
		testdb_text(
			"SELECT coalesce(string_agg(c.relname, ' '), '') FROM pg_class c JOIN"
			" pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'"
			" WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
			" AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"),
		"");
}

static void test_no_account_no_rows(void **state)
{
	char sql[100], code[6];

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		(void)snprintf(sql, sizeof(sql), "SELECT 1 FROM %s", tables[i]);
		assert_int_equal(testdb_try("asb_web", 0, sql, code), 0);
		assert_string_equal(code, "00000");
		/* the control: with the account there are some */
		assert_true(testdb_try("asb_web", ACCOUNT, sql, code) > 0);
		/* and another account sees none of them */
		(void)snprintf(sql, sizeof(sql), "SELECT 1 FROM %s%s", tables[i],
			strcmp(tables[i], "blob_chunks") ? " WHERE account_id = 1" : "");
		assert_int_equal(testdb_try("asb_web", other, sql, code), 0);
		/* the worker sees both */
		if (strcmp(tables[i], "questions") && strcmp(tables[i], "trace"))
			assert_true(testdb_try("asb_worker", 0, sql, code) > 0);
	}
}

static void test_set_local_falls_back_to_nothing(void **state)
{
	CLEANUP(result) struct result res = {0};

	(void)state;
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(db_query(
			web, Q_READ_RUN, ARGS(db_text(mine.name), db_i64(ACCOUNT)), &res, &err));
		assert_int_equal(res.rows, 1);
		assert_true(db_commit(&tx, &err));
	}
	/* same connection, after the transaction: '' and not an error */
	assert_true(
		db_query(web, Q_READ_RUN, ARGS(db_text(mine.name), db_i64(ACCOUNT)), &res, &err));
	assert_int_equal(res.rows, 0);
}

static void test_rows_of_others_are_not_written(void **state)
{
	char sql[200], code[6];

	(void)state;
	assert_int_equal(
		testdb_try("asb_web", ACCOUNT,
			"INSERT INTO jobs (account_id, kind, lane) VALUES (2, 'turn', 'drive')",
			code),
		-1);
	assert_string_equal(code, "42501");
	assert_int_equal(
		testdb_try("asb_web", ACCOUNT,
			"INSERT INTO jobs (account_id, kind, lane) VALUES (1, 'turn', 'drive')",
			code),
		1);
	(void)snprintf(sql, sizeof(sql),
		"UPDATE jobs SET cancel_requested_at = now() WHERE id = %ld", (long)theirs.job_id);
	assert_int_equal(testdb_try("asb_web", ACCOUNT, sql, code), 0);
	assert_int_equal(testdb_try("asb_web", other, sql, code), 1);
	(void)snprintf(sql, sizeof(sql),
		"INSERT INTO blob_chunks (blob_id, n, body) VALUES (%ld, 7, 'x')", (long)blob.id);
	assert_int_equal(testdb_try("asb_web", other, sql, code), -1);
	assert_string_equal(code, "42501");
	assert_int_equal(testdb_try("asb_web", ACCOUNT, sql, code), 1);
	/* someone else's run cannot be steered: it is not found */
	{
		CLEANUP(tx) struct tx tx = {0};
		int64_t id;

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_false(run_teardown(web, other, theirs.name, NULL, 1000, &id, &err));
		assert_int_equal(err.code, ERR_NOT_FOUND);
		assert_true(run_teardown(web, ACCOUNT, mine.name, NULL, 1000, &id, &err));
	}
}

static void test_the_owner_writes_under_force(void **state)
{
	char code[6];

	(void)state;
	assert_true(testdb_try("asb_owner", 0, "UPDATE runs SET title = title", code) >= 2);
	assert_true(testdb_try("asb_backup", 0, "SELECT 1 FROM runs", code) >= 2);
	/* a partition is nobody's by itself */
	assert_int_equal(testdb_try("asb_worker", 0, "SELECT 1 FROM trace_p0", code), -1);
	assert_string_equal(code, "42501");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_table_with_an_account_is_fenced),
		cmocka_unit_test(test_no_account_no_rows),
		cmocka_unit_test(test_set_local_falls_back_to_nothing),
		cmocka_unit_test(test_rows_of_others_are_not_written),
		cmocka_unit_test(test_the_owner_writes_under_force),
	};

	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
