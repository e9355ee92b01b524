#pragma once
/*
 * PostgreSQL by statement number. Every statement stands in sql/queries/AREA.sql as a `-- name: x`
 * block; sql/sql2c.awk makes the enumerators Q_X and the text table of it (gen/queries.h, which
 * callers include for the names). No SQL is put together at run time. Each is prepared once a
 * connection, on first use, under its own name, so that pg_stat_statements reads well. Parameters
 * and results are text, but for DB_BYTES (bytea, sent in binary).
 *
 *	CLEANUP(tx) struct tx tx = {0};
 *	CLEANUP(result) struct result res = {0};
 *	if (!db_begin(db, account_id, &tx, err) ||
 *		!db_query(db, Q_RUN_GET, ARGS(db_text(id)), &res, err))
 *		return err_wrap(err, "run get");
 *	if (!res.rows)
 *		return err_set(err, ERR_NOT_FOUND, "no run %s", id);
 *	*out = result_i64(&res, 0, 0);
 *	return db_commit(&tx, err);
 *
 * A connection that the server closed since the last call is replaced without a word. One that is
 * lost during a call, or in a transaction, is ERR_BUSY and the next call connects again (after the
 * transaction has ended); so is a race lost to the end of the retries, and a server without room. A
 *statement's time-out is ERR_TIMEOUT. A raised exception with SQLSTATE 'AS4xx' (ours: AS403
 *forbidden, AS404 not found, AS409 conflict, AS413 too large, AS422 invalid, AS429 limited) keeps
 *its message, its CONSTRAINT as reason and its HINT as fix. 23505 (unique violation) and 23503 are
 *ERR_CONFLICT with the constraint's name as reason. All else is ERR_INTERNAL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct db;
struct pool;

struct db_arg {
	enum { DB_NULL, DB_TEXT, DB_I64, DB_BYTES } type;
	const void *data; /* text or bytes, borrowed for the call */
	size_t size;	  /* of bytes */
	int64_t i64;
};

static inline struct db_arg db_text(const char *s) /* NULL is SQL NULL */
{
	return (struct db_arg){.type = s ? DB_TEXT : DB_NULL, .data = s};
}
static inline struct db_arg db_i64(int64_t v)
{
	return (struct db_arg){.type = DB_I64, .i64 = v};
}
static inline struct db_arg db_bool(bool v)
{
	return db_text(v ? "t" : "f");
}
static inline struct db_arg db_bytes(const void *data, size_t n)
{
	return (struct db_arg){.type = DB_BYTES, .data = data ? data : "", .size = n};
}
#define DB_MAX_ARGS 24
#define ARGS(...)                             \
	(const struct db_arg[]){__VA_ARGS__}, \
		sizeof((const struct db_arg[]){__VA_ARGS__}) / sizeof(struct db_arg)
#define NO_ARGS NULL, 0

/* conninfo: libpq's, e.g. "host=/run/... dbname=asb user=asb_web passfile=..."; program becomes
 * application_name. statement_timeout_ms 0: the role's own. Connecting happens on first use. */
struct db *db_new(const char *conninfo, const char *program, int statement_timeout_ms);
void db_free(struct db *db);
void cleanup_db(struct db **db);
/* Connects now if not connected. Sets search_path, TimeZone UTC, time-outs. */
bool db_connect(struct db *db, struct err *err) NODISCARD;
bool db_is_connected(const struct db *db);
/* The socket, for a loop that wants to see it close or notifications arrive; -1 unconnected. */
int db_fd(const struct db *db);

struct result {
	void *pg; /* libpq's PGresult */
	int rows;
	int64_t affected; /* rows changed, for INSERT, UPDATE, DELETE */
};
void result_done(struct result *r);
void cleanup_result(struct result *r);
bool result_is_null(const struct result *r, int row, int col);
const char *result_text(const struct result *r, int row, int col); /* "" for NULL; r's memory */
size_t result_len(const struct result *r, int row, int col);
int64_t result_i64(const struct result *r, int row, int col); /* 0 for NULL; asserts a number */
bool result_bool(const struct result *r, int row, int col);
/* A bytea column, decoded into the pool (text format \x...). */
const unsigned char *result_bytes(
	const struct result *r, struct pool *pool, int row, int col, size_t *n);

/* Runs statement q (a Q_ number). res may be NULL where no rows are wanted. A result that is in
 * res already is freed first. */
bool db_query(struct db *db, int q, const struct db_arg *args, size_t nargs, struct result *res,
	struct err *err) NODISCARD;
/* Prepares each of these and runs it with NULL for every argument, in a transaction that is rolled
 * back: what the server must read and plan for them is then behind a connection that waits, and the
 * plans are kept, whatever the arguments. Only for statements that match no row so. */
bool db_warm(struct db *db, const int *list, size_t n, struct err *err) NODISCARD;
/* Runs plain SQL without parameters: migrations, LISTEN, and tests only. */
bool db_exec(struct db *db, const char *sql, struct err *err) NODISCARD;

struct tx {
	struct db *db;
	bool open;
};
/* BEGIN, and with account_id > 0 SET LOCAL app.account_id (row-level security) in one round trip.
 */
bool db_begin(struct db *db, int64_t account_id, struct tx *tx, struct err *err) NODISCARD;
bool db_commit(struct tx *tx, struct err *err) NODISCARD;
void cleanup_tx(struct tx *tx); /* rolls back unless committed */

/* Takes one pending notification (after reading what the socket holds); false where there is none.
 * channel and payload live in the pool. */
bool db_notification(struct db *db, struct pool *pool, const char **channel, const char **payload);

/* --- migrate.c --- */
/* Applies sql/migrations/NNNN_*.sql of the folder in order, each in one transaction under an
 * advisory lock, keeping number and SHA-256 in schema_migrations, then grants.sql. A changed file
 * that has been applied is an error. */
bool migrate_run(struct db *db, const char *sql_dir, int *applied, struct err *err) NODISCARD;
/* ERR_CONFLICT unless the database's newest migration is the one this program was built with. */
bool migrate_check(struct db *db, struct err *err) NODISCARD;
