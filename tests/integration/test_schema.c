/*
 * Every statement of every area prepares against the migrated schema, with the number of arguments
 * that C believes it has, and the lists in CHECKs are the name tables of C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <libpq-fe.h>

#define QUERIES_TABLE
#include "blob.h"
#include "box.h"
#include "exec.h"
#include "look.h"
#include "queries.h"
#include "run.h"
#include "runlog.h"
#include "secret.h"
#include "testdb.h"
#include "turn.h"

static void test_every_statement_prepares(void **state)
{
	PGconn *c = PQconnectdb(testdb_conninfo("asb_owner"));
	int bad = 0;

	(void)state;
	assert_int_equal(PQstatus(c), CONNECTION_OK);
	assert_true(Q__COUNT > 40);
	for (int q = 0; q < Q__COUNT; q++) {
		PGresult *r = PQprepare(c, queries[q].name, queries[q].text, 0, NULL);

		if (PQresultStatus(r) != PGRES_COMMAND_OK) {
			print_error("%s: %s", queries[q].name, PQerrorMessage(c));
			bad++;
		} else {
			PQclear(r);
			r = PQdescribePrepared(c, queries[q].name);
			if (PQnparams(r) != queries[q].nargs) {
				print_error("%s: %d arguments, not %d\n", queries[q].name,
					PQnparams(r), queries[q].nargs);
				bad++;
			}
		}
		PQclear(r);
	}
	PQfinish(c);
	assert_int_equal(bad, 0);
}

static void check_list(const char *table, const char *column, const char *const *names, size_t n)
{
	char want[512] = "", *to = want;
	const char *got;

	for (size_t i = 0; i < n; i++)
		to += snprintf(
			to, sizeof(want) - (size_t)(to - want), "%s%s", i ? " " : "", names[i]);
	got = testdb_text("SELECT string_agg(m[1], ' ') FROM pg_constraint c,"
			  " regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''', 'g') m"
			  " WHERE c.conrelid = '%s'::regclass AND c.contype = 'c' AND c.conname = "
			  "'%s_%s_check'",
		table, table, column);
	assert_string_equal(got, want);
}

static void test_checks_are_the_name_tables(void **state)
{
	(void)state;
	check_list("boxes", "state", box_state_names, BOX_STATE__COUNT);
	check_list("runs", "state", run_state_names, RUN_STATE__COUNT);
	check_list("turns", "state", turn_state_names, TURN_STATE__COUNT);
	check_list("turns", "reason", turn_reason_names, TURN_REASON__COUNT);
	check_list("execs", "state", exec_state_names, EXEC_STATE__COUNT);
	check_list("trace", "kind", trace_kind_names, TRACE_KIND__COUNT);
	check_list("blobs", "kind", blob_kind_names, BLOB_KIND__COUNT);
	check_list("secrets", "name", secret_names, SECRET__COUNT);
	check_list("looks", "op", look_op_names, LOOK_OP__COUNT);
}

static void test_history_has_every_column_of_jobs(void **state)
{
	(void)state;
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM pg_attribute a WHERE attrelid = 'jobs'::regclass"
			   " AND attnum > 0 AND NOT EXISTS (SELECT 1 FROM pg_attribute h"
			   " WHERE h.attrelid = 'job_history'::regclass AND h.attname = a.attname"
			   " AND h.attnum = a.attnum)"),
		0);
}

static void test_bytes_as_text(void **state)
{
	static const struct {
		const char *hex, *want;
	} rows[] = {
		{"", ""},
		{"68c3a9", "h\xc3\xa9"},
		{"41ff42", "A\xef\xbf\xbd"
			   "B"},
		{"4100f09f988041", "A\xef\xbf\xbd\xf0\x9f\x98\x80"
				   "A"},
		{"e28241", "\xef\xbf\xbd\xef\xbf\xbd"
			   "A"},
		{"c080", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"eda080", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"f5", "\xef\xbf\xbd"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(
			testdb_text("SELECT utf8_lossy('\\x%s')", rows[i].hex), rows[i].want);
	assert_string_equal(testdb_text("SELECT rfc3339('2026-01-02 03:04:05.678+00')"),
		"2026-01-02T03:04:05.678Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_statement_prepares),
		cmocka_unit_test(test_checks_are_the_name_tables),
		cmocka_unit_test(test_history_has_every_column_of_jobs),
		cmocka_unit_test(test_bytes_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
