/*
 * Databases for tests, and SQL made at run time, which the product's db.h refuses on purpose: hence
 * libpq by hand here.
 */
#include "testdb.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "text.h"

static char database[48], empty[48];
static pid_t owner; /* a forked child must not drop its parent's database */

static const char *env(const char *name)
{
	const char *v = getenv(name);

	if (!v) {
		(void)fprintf(
			stderr, "%s is not set: run under tests/support/with-postgres\n", name);
		exit(1);
	}
	return v;
}

static PGconn *open_as(const char *role, const char *dbname)
{
	char conninfo[512];
	PGconn *c;

	(void)snprintf(conninfo, sizeof(conninfo), "%s dbname=%s user=%s", env("ASB_TEST_DB"),
		dbname, role ? role : env("ASB_TEST_SU"));
	c = PQconnectdb(conninfo);
	if (PQstatus(c) != CONNECTION_OK) {
		(void)fprintf(stderr, "testdb: %s", PQerrorMessage(c));
		exit(1);
	}
	return c;
}

static PGresult *must(PGconn *c, const char *sql)
{
	PGresult *r = PQexec(c, sql);
	ExecStatusType s = PQresultStatus(r);

	if (s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK) {
		(void)fprintf(stderr, "testdb: %s\n%s", sql, PQerrorMessage(c));
		exit(1);
	}
	return r;
}

static void admin(const char *before, const char *name, const char *after)
{
	PGconn *c = open_as(TESTDB_SUPER, "postgres");
	char sql[256];

	(void)snprintf(sql, sizeof(sql), "%s DATABASE %s %s", before, name, after);
	PQclear(must(c, sql));
	PQfinish(c);
}

static void drop(void)
{
	if (getpid() != owner)
		return;
	admin("DROP", database, "WITH (FORCE)");
	if (*empty)
		admin("DROP", empty, "WITH (FORCE)");
}

static void make(void)
{
	if (*database)
		return;
	owner = getpid();
	(void)snprintf(database, sizeof(database), "asb_test_%d", (int)owner);
	admin("CREATE", database, "TEMPLATE asb_template OWNER asb_owner");
	(void)atexit(drop);
}

const char *testdb_conninfo(const char *role)
{
	static char conninfo[512];

	make();
	(void)snprintf(conninfo, sizeof(conninfo), "%s dbname=%s user=%s", env("ASB_TEST_DB"),
		database, role ? role : env("ASB_TEST_SU"));
	return conninfo;
}

struct db *testdb_open(const char *role)
{
	return db_new(testdb_conninfo(role), "test", 0);
}

const char *testdb_empty(void)
{
	static char conninfo[512];

	make();
	if (*empty)
		admin("DROP", empty, "WITH (FORCE)");
	(void)snprintf(empty, sizeof(empty), "asb_empty_%d", (int)owner);
	admin("CREATE", empty, "OWNER asb_owner");
	(void)snprintf(conninfo, sizeof(conninfo), "%s dbname=%s user=asb_owner",
		env("ASB_TEST_DB"), empty);
	return conninfo;
}

static const char *ask(const char *fmt, va_list ap)
{
	static char answer[128 * 1024];
	char *sql = NULL;
	PGconn *c;
	PGresult *r;

	make();
	if (vasprintf(&sql, fmt, ap) < 0)
		abort();
	c = open_as(TESTDB_SUPER, database);
	r = must(c, sql);
	(void)snprintf(answer, sizeof(answer), "%s", PQntuples(r) ? PQgetvalue(r, 0, 0) : "");
	PQclear(r);
	PQfinish(c);
	free(sql);
	return answer;
}

void testdb_exec(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)ask(fmt, ap);
	va_end(ap);
}

const char *testdb_text(const char *fmt, ...)
{
	const char *answer;
	va_list ap;

	va_start(ap, fmt);
	answer = ask(fmt, ap);
	va_end(ap);
	return answer;
}

int64_t testdb_i64(const char *fmt, ...)
{
	const char *answer;
	int64_t v = 0;
	va_list ap;

	va_start(ap, fmt);
	answer = ask(fmt, ap);
	va_end(ap);
	if (*answer && !text_to_i64(answer, INT64_MIN, INT64_MAX, &v)) {
		(void)fprintf(stderr, "testdb: not a number: %s\n", answer);
		exit(1);
	}
	return v;
}

/* Of this database alone, since the role is that of other tests too; superusers are not counted. */
void testdb_shut_out(const char *role)
{
	make();
	admin("ALTER", database, "CONNECTION LIMIT 0");
	testdb_exec("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = "
		    "'%s' AND datname = current_database()",
		role);
}

void testdb_let_in(void)
{
	admin("ALTER", database, "CONNECTION LIMIT -1");
}

int64_t testdb_try(const char *role, int64_t account, const char *sql, char state[6])
{
	char begin[128];
	PGconn *c;
	PGresult *r;
	int64_t n = -1;
	const char *code, *changed;

	make();
	c = open_as(role, database);
	(void)snprintf(begin, sizeof(begin),
		"BEGIN; SELECT set_config('app.account_id', '%" PRId64 "', true)", account);
	PQclear(must(c, account > 0 ? begin : "BEGIN"));
	r = PQexec(c, sql);
	code = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	(void)snprintf(state, 6, "%s", code ? code : "00000");
	changed = PQcmdTuples(r);
	if (PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK)
		n = *changed ? strtoll(changed, NULL, 10) : PQntuples(r);
	PQclear(r);
	PQfinish(c);
	return n;
}
