#pragma once
/*
 * A database of its own for each test program, copied from the migrated template that with-postgres
 * made. Made at the first use, dropped when the program exits. Anything that goes wrong here ends
 * the program: a test cannot go on without its database.
 */
#include <stdbool.h>
#include <stdint.h>

#include "db.h"

/* A connection as this role ("asb_web", ...; TESTDB_SUPER: the superuser), not connected yet. */
struct db *testdb_open(const char *role);
#define TESTDB_SUPER NULL
/* conninfo of the same, for programs that are started. Static memory, until the next call. */
const char *testdb_conninfo(const char *role);
/* A second database, empty but for its owner asb_owner; conninfo as asb_owner. */
const char *testdb_empty(void);
/* As superuser, by printf: run it, or read its one number or text ("" for NULL or no row; static
 * memory, until the next call). */
void testdb_exec(const char *fmt, ...) PRINTF(1, 2);
int64_t testdb_i64(const char *fmt, ...) PRINTF(1, 2);
const char *testdb_text(const char *fmt, ...) PRINTF(1, 2);
/* The role's connections to this database end, and nobody but the superuser gets a new one until
 * testdb_let_in. */
void testdb_shut_out(const char *role);
void testdb_let_in(void);
/* As a role, with app.account_id set if account > 0, in a transaction that is rolled back: rows
 * affected or returned, or -1 with the SQLSTATE in state. */
int64_t testdb_try(const char *role, int64_t account, const char *sql, char state[6]);
