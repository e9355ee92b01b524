/*
 * db.c against a real server: values there and back, transactions, what becomes of refusals, and a
 * connection that is taken away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"
#include "queries.h"
#include "testdb.h"

static struct db *db;
static struct err err;

static int open_owner(void **state)
{
	(void)state;
	db = testdb_open("asb_owner");
	return 0;
}

static int close_owner(void **state)
{
	(void)state;
	db_free(db);
	return 0;
}

static void test_connects_on_first_use(void **state)
{
	CLEANUP(result) struct result res = {0};

	(void)state;
	assert_int_equal(db_fd(db), -1);
	assert_true(db_query(db, Q_MIGRATE_NEWEST, NO_ARGS, &res, &err));
	assert_int_equal(res.rows, 1);
	assert_int_equal(result_i64(&res, 0, 0), SCHEMA_VERSION);
	assert_true(db_fd(db) >= 0);
}

static void test_settings_of_a_connection(void **state)
{
	(void)state;
	assert_true(db_exec(
		db, "CREATE TEMP TABLE seen AS SELECT name, setting FROM pg_settings", &err));
	assert_true(db_exec(db,
		"DO $$BEGIN ASSERT current_setting('TimeZone') = 'UTC'"
		" AND current_setting('search_path') = 'public,pg_temp'"
		" AND current_setting('lock_timeout') = '5s'"
		" AND current_setting('application_name') = 'test'; END$$",
		&err));
}

static void test_rolled_back_unless_committed(void **state)
{
	(void)state;
	assert_true(db_exec(db, "CREATE TABLE t_tx (n int)", &err));
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(db, 0, &tx, &err));
		assert_true(db_exec(db, "INSERT INTO t_tx VALUES (1)", &err));
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM t_tx"), 0);
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(db, 0, &tx, &err));
		assert_true(db_exec(db, "INSERT INTO t_tx VALUES (1)", &err));
		assert_true(db_commit(&tx, &err));
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM t_tx"), 1);
}

static void test_commit_of_a_failed_transaction_fails(void **state)
{
	CLEANUP(tx) struct tx tx = {0};

	(void)state;
	assert_true(db_begin(db, 0, &tx, &err));
	assert_false(db_exec(db, "SELECT 1/0", &err));
	assert_false(db_commit(&tx, &err));
}

static void test_account_is_set_for_the_transaction_only(void **state)
{
	(void)state;
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(db, 77, &tx, &err));
		assert_true(db_exec(db,
			"DO $$BEGIN ASSERT current_setting('app.account_id') = '77'; END$$", &err));
		assert_true(db_commit(&tx, &err));
	}
	assert_true(db_exec(db,
		"DO $$BEGIN ASSERT coalesce(current_setting('app.account_id', true), '') = '';"
		" ASSERT account_now() IS NULL; END$$",
		&err));
}

static void test_refusals_by_sqlstate(void **state)
{
	static const struct {
		const char *sql;
		enum err_code code;
		const char *reason, *msg;
	} rows[] = {
		{"DO $$BEGIN RAISE 'no run x' USING ERRCODE = 'AS404'; END$$", ERR_NOT_FOUND, "",
			"no run x"},
		{"DO $$BEGIN RAISE 'taken' USING ERRCODE = 'AS409', CONSTRAINT = 'word'; END$$",
			ERR_CONFLICT, "word", "taken"},
		{"DO $$BEGIN RAISE 'bad' USING ERRCODE = 'AS422'; END$$", ERR_INVALID, "", "bad"},
		{"DO $$BEGIN RAISE 'slow' USING ERRCODE = 'AS429'; END$$", ERR_LIMITED, "", "slow"},
		{"INSERT INTO users (name) VALUES ('operator')", ERR_CONFLICT, "users_name_key",
			NULL},
		{"INSERT INTO account_members VALUES (999, 999, 'owner')", ERR_CONFLICT, NULL,
			NULL},
		{"SELECT 'secret'::bigint", ERR_INTERNAL, "", "sql: bad value (22P02)"},
		{"SELECT nonsense", ERR_INTERNAL, "", NULL},
		{"SET LOCAL statement_timeout = 20; SELECT pg_sleep(5)", ERR_TIMEOUT, "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(db_exec(db, rows[i].sql, &err));
		assert_int_equal(err.code, rows[i].code);
		if (rows[i].reason)
			assert_string_equal(err.reason, rows[i].reason);
		if (rows[i].msg)
			assert_string_equal(err.msg, rows[i].msg);
	}
	assert_true(db_exec(db, "SELECT 1", &err));
}

static void terminate(void)
{
	testdb_exec("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
		    " WHERE datname = current_database() AND usename = 'asb_owner'");
}

static void test_reconnects_after_a_lost_connection(void **state)
{
	CLEANUP(result) struct result res = {0};

	(void)state;
	assert_true(db_query(db, Q_MIGRATE_NEWEST, NO_ARGS, &res, &err));
	assert_false(db_exec(db, "SELECT pg_terminate_backend(pg_backend_pid())", &err));
	assert_int_equal(err.code, ERR_BUSY);
	assert_true(db_query(db, Q_MIGRATE_NEWEST, NO_ARGS, &res, &err));
	assert_int_equal(result_i64(&res, 0, 0), SCHEMA_VERSION);
}

/* The server was started again while nobody asked it anything: nobody has to ask twice. */
static void test_replaces_a_connection_that_was_closed_meanwhile(void **state)
{
	CLEANUP(result) struct result res = {0};

	(void)state;
	assert_true(db_query(db, Q_MIGRATE_NEWEST, NO_ARGS, &res, &err));
	terminate();
	assert_true(db_query(db, Q_MIGRATE_NEWEST, NO_ARGS, &res, &err));
	assert_int_equal(result_i64(&res, 0, 0), SCHEMA_VERSION);
	terminate();
	assert_true(db_exec(db, "SELECT 1", &err));
	for (int64_t account = 0; account < 2; account++) {
		CLEANUP(tx) struct tx tx = {0};

		terminate();
		assert_true(db_begin(db, account, &tx, &err));
		assert_true(db_commit(&tx, &err));
	}
}

/* A begin that fails half way leaves nothing open that the next would find itself in. */
static void test_a_begin_that_failed_is_over(void **state)
{
	(void)state;
	for (int64_t account = 0; account < 2; account++) {
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_exec(db, "BEGIN", &err));
		assert_false(db_exec(db, "SELECT nonsense", &err));
		assert_false(db_begin(db, account, &tx, &err));
		assert_true(db_begin(db, account, &tx, &err));
		assert_true(db_exec(db, "SELECT 1", &err));
		assert_true(db_commit(&tx, &err));
	}
}

static void test_a_transaction_does_not_go_on_elsewhere(void **state)
{
	(void)state;
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(db, 5, &tx, &err));
		terminate();
		assert_false(db_exec(db, "SELECT 1", &err));
		assert_int_equal(err.code, ERR_BUSY);
		/* the same transaction again: no second connection is made for it */
		assert_false(db_exec(db, "SELECT 1", &err));
		assert_int_equal(err.code, ERR_BUSY);
		assert_false(db_commit(&tx, &err));
	}
	assert_true(db_exec(db, "SELECT 1", &err));
}

static void test_no_server(void **state)
{
	CLEANUP(db) struct db *none = db_new("host=/nonexistent dbname=x", "test", 0);

	(void)state;
	assert_false(db_connect(none, &err));
	assert_int_equal(err.code, ERR_BUSY);
}

static void test_notifications(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *channel, *payload;

	(void)state;
	assert_true(db_exec(db, "LISTEN log", &err));
	assert_false(db_notification(db, pool, &channel, &payload));
	testdb_exec("SELECT pg_notify('log', 'l1,r2')");
	while (!db_notification(db, pool, &channel, &payload))
		assert_true(db_exec(db, "SELECT pg_sleep(0.01)", &err));
	assert_string_equal(channel, "log");
	assert_string_equal(payload, "l1,r2");
	terminate();
	/* the farewell is read first, the end of the stream at the next call */
	for (int i = 0; i < 10 && db_is_connected(db); i++)
		assert_false(db_notification(db, pool, &channel, &payload));
	assert_false(db_is_connected(db));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_connects_on_first_use, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_settings_of_a_connection, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_rolled_back_unless_committed, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_commit_of_a_failed_transaction_fails, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_account_is_set_for_the_transaction_only, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(test_refusals_by_sqlstate, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_reconnects_after_a_lost_connection, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_replaces_a_connection_that_was_closed_meanwhile, open_owner,
			close_owner),
		cmocka_unit_test_setup_teardown(
			test_a_begin_that_failed_is_over, open_owner, close_owner),
		cmocka_unit_test_setup_teardown(
			test_a_transaction_does_not_go_on_elsewhere, open_owner, close_owner),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test_setup_teardown(test_notifications, open_owner, close_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
