/*
 * Migrations: applied once in order, refused when a file changed, and programs that refuse a
 * database of another version.
 */
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "cleanup.h"
#include "pool.h"
#include "queries.h"
#include "testdb.h"

static struct db *db;
static struct pool *pool;
static struct err err;
static char dir[32];

static void put(const char *name, const char *text)
{
	CLEANUP(file) FILE *f = fopen(pool_printf(pool, "%s/%s", dir, name), "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

static int setup(void **state)
{
	(void)state;
	pool = pool_new();
	(void)snprintf(dir, sizeof(dir), "/tmp/asb-mig.XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(mkdir(pool_printf(pool, "%s/migrations", dir), 0755), 0);
	put("grants.sql", "SELECT 1;");
	put("migrations/0001_a.sql", "CREATE TABLE a (n int);");
	db = db_new(testdb_empty(), "test", 0);
	return 0;
}

static int teardown(void **state)
{
	const char *const argv[] = {"/bin/rm", "-rf", dir, NULL};
	struct child c = {.argv = argv};
	int status;

	(void)state;
	db_free(db);
	assert_true(child_start(&c, &err) && child_wait(&c, 10000, &status, &err));
	pool_free(pool);
	return 0;
}

static void test_each_once_and_in_order(void **state)
{
	int n = -1;

	(void)state;
	put("migrations/0002_b.sql", "ALTER TABLE a ADD m int;");
	put("migrations/notes.txt", "not one");
	assert_true(migrate_run(db, dir, &n, &err));
	assert_int_equal(n, 2);
	assert_true(migrate_run(db, dir, &n, &err));
	assert_int_equal(n, 0);
	put("migrations/0003_c.sql", "ALTER TABLE a ADD k int;");
	assert_true(migrate_run(db, dir, &n, &err));
	assert_int_equal(n, 1);
	assert_true(db_exec(db, "INSERT INTO a (n, m, k) VALUES (1, 2, 3)", &err));
}

static void test_a_changed_file_is_refused(void **state)
{
	int n;

	(void)state;
	assert_true(migrate_run(db, dir, &n, &err));
	put("migrations/0001_a.sql", "CREATE TABLE a (n bigint);");
	assert_false(migrate_run(db, dir, &n, &err));
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(err.reason, "migration_changed");
	assert_non_null(strstr(err.msg, "0001_a.sql"));
}

static void test_a_migration_is_whole_or_not_at_all(void **state)
{
	int n;

	(void)state;
	put("migrations/0002_b.sql", "CREATE TABLE b (n int); SELECT nonsense;");
	assert_false(migrate_run(db, dir, &n, &err));
	assert_non_null(strstr(err.msg, "0002_b.sql"));
	assert_false(db_exec(db, "SELECT n FROM b", &err));
	assert_true(db_exec(db, "SELECT n FROM a", &err));
	put("migrations/0002_b.sql", "CREATE TABLE b (n int);");
	assert_true(migrate_run(db, dir, &n, &err));
	assert_int_equal(n, 1);
}

static void test_same_number_twice_is_refused(void **state)
{
	int n;

	(void)state;
	put("migrations/0001_z.sql", "SELECT 1;");
	assert_false(migrate_run(db, dir, &n, &err));
	assert_non_null(strstr(err.msg, "number 1"));
}

static void test_unknown_version_is_refused(void **state)
{
	CLEANUP(db) struct db *whole = testdb_open("asb_web");

	(void)state;
	assert_true(migrate_check(whole, &err));
	testdb_exec("INSERT INTO schema_migrations (n, name, sha256) VALUES (9999, 'x', 'x')");
	assert_false(migrate_check(whole, &err));
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(err.reason, "schema_version");
	testdb_exec("DELETE FROM schema_migrations WHERE n = 9999 OR n = %d", SCHEMA_VERSION);
	assert_false(migrate_check(whole, &err));
	assert_non_null(strstr(err.fix, "migrate"));
	/* and one that was never migrated at all */
	assert_false(migrate_check(db, &err));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_once_and_in_order),
		T(test_a_changed_file_is_refused),
		T(test_a_migration_is_whole_or_not_at_all),
		T(test_same_number_twice_is_refused),
		T(test_unknown_version_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
