/*
 * One connection to PostgreSQL: connecting when needed, preparing on first use, transactions and
 * the mapping of SQLSTATEs to our error codes. Keeps no pool of connections and never sends a
 * statement twice but where its block says `-- retry` and no transaction is open.
 */
#include "db.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <libpq-fe.h>

#include "cleanup.h"
#include "pool.h"
#include "text.h"
#define QUERIES_TABLE
#include "queries.h"

/* a statement that lost a race is tried this often in all; then the caller may */
#define TRIES 4

struct db {
	PGconn *conn;
	char *conninfo;
	char *program;
	int statement_timeout_ms;
	bool in_tx; /* a struct tx is open: a new connection must not go on inside it */
	bool prepared[Q__COUNT];
};

struct db *db_new(const char *conninfo, const char *program, int statement_timeout_ms)
{
	struct db *db = mem_alloc(sizeof(*db));

	db->conninfo = mem_strdup(conninfo);
	db->program = mem_strdup(program);
	db->statement_timeout_ms = statement_timeout_ms;
	return db;
}

static void disconnect(struct db *db)
{
	PQfinish(db->conn);
	db->conn = NULL;
	memset(db->prepared, 0, sizeof(db->prepared));
}

void db_free(struct db *db)
{
	if (!db)
		return;
	disconnect(db);
	free(db->conninfo);
	free(db->program);
	free(db);
}

void cleanup_db(struct db **db)
{
	db_free(*db);
}

static void notice_ignore(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

bool db_connect(struct db *db, struct err *err)
{
	const char *keys[] = {"dbname", "application_name", "client_encoding", "connect_timeout",
		"keepalives_idle", "options", NULL};
	char options[256], timeout[48] = "";
	const char *values[] = {db->conninfo, db->program, "UTF8", "5", "30", options, NULL};

	if (db->conn && PQstatus(db->conn) == CONNECTION_OK)
		return true;
	disconnect(db);
	if (db->statement_timeout_ms)
		(void)snprintf(timeout, sizeof(timeout), " -c statement_timeout=%d",
			db->statement_timeout_ms);
	(void)snprintf(options, sizeof(options),
		"-c search_path=public,pg_temp -c TimeZone=UTC -c lock_timeout=5000"
		" -c idle_in_transaction_session_timeout=10000%s",
		timeout);
	db->conn = PQconnectdbParams(keys, values, 1);
	if (PQstatus(db->conn) == CONNECTION_OK) {
		(void)PQsetNoticeProcessor(db->conn, notice_ignore, NULL);
		return true;
	}
	(void)err_set(err, ERR_BUSY, "database: %.*s", (int)strcspn(PQerrorMessage(db->conn), "\n"),
		PQerrorMessage(db->conn));
	disconnect(db);
	return err_advise(err, "database", "try again in a moment");
}

bool db_is_connected(const struct db *db)
{
	return db->conn && PQstatus(db->conn) == CONNECTION_OK;
}

int db_fd(const struct db *db)
{
	return db_is_connected(db) ? PQsocket(db->conn) : -1;
}

static bool connection_lost(struct db *db, struct err *err)
{
	disconnect(db);
	(void)err_set(err, ERR_BUSY, "database: the connection was lost");
	return err_advise(err, "database", "try again in a moment");
}

static bool is_lost_race(const char *state)
{
	return !strcmp(state, "40001") || !strcmp(state, "40P01") || !strcmp(state, "55P03");
}

static enum err_code code_of(const char *state)
{
	static const struct {
		const char *state;
		enum err_code code;
	} rows[] = {
		{"AS403", ERR_FORBIDDEN},
		{"AS404", ERR_NOT_FOUND},
		{"AS409", ERR_CONFLICT},
		{"AS413", ERR_TOO_LARGE},
		{"AS422", ERR_INVALID},
		{"AS429", ERR_LIMITED},
		{"23505", ERR_CONFLICT},
		{"23503", ERR_CONFLICT},
		{"57014", ERR_TIMEOUT},
	};

	/* 53: out of something; 57P: the server goes down, or comes up */
	if (is_lost_race(state) || !strncmp(state, "53", 2) || !strncmp(state, "57P", 3))
		return ERR_BUSY;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(state, rows[i].state))
			return rows[i].code;
	return ERR_INTERNAL;
}

/* The server's refusal in r as our error; a connection that went with it is closed. */
static bool refused(struct db *db, const PGresult *r, const char *what, struct err *err)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

	if (PQstatus(db->conn) != CONNECTION_OK || !state)
		return connection_lost(db, err);
	if (!strncmp(state, "AS", 2))
		(void)err_set(err, code_of(state), "%s", message);
	else if (!strncmp(state, "22", 2)) /* such messages quote the value */
		(void)err_set(err, code_of(state), "%s: bad value (%s)", what, state);
	else
		(void)err_set(err, code_of(state), "%s: %s (%s)", what, message, state);
	return err_advise(err, PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME),
		PQresultErrorField(r, PG_DIAG_MESSAGE_HINT));
}

static bool is_fine(const PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ||
	       status == PGRES_EMPTY_QUERY;
}

static void cleanup_pg(PGresult **r)
{
	PQclear(*r);
}

/* Between two statements the server says nothing but news and farewells: after a farewell comes the
 * end of the stream, by which libpq knows that the connection is gone. */
static void farewell_read(struct db *db)
{
	struct pollfd p = {.fd = db_fd(db), .events = POLLIN};

	while (db_is_connected(db) && poll(&p, 1, 0) > 0 && PQconsumeInput(db->conn))
		;
}

/* Connected, and not by a second connection in the middle of a transaction. One that the server has
 * closed since it was last used is replaced: nothing was sent on it that could be done twice. */
static bool ready(struct db *db, struct err *err)
{
	if (!db->in_tx)
		farewell_read(db);
	else if (!db_is_connected(db))
		return connection_lost(db, err);
	return db_connect(db, err);
}

static bool prepare(struct db *db, int q, struct err *err)
{
	CLEANUP(pg) PGresult *r = NULL;

	if (db->prepared[q])
		return true;
	r = PQprepare(db->conn, queries[q].name, queries[q].text, 0, NULL);
	if (!is_fine(r))
		return refused(db, r, queries[q].name, err);
	db->prepared[q] = true;
	return true;
}

static PGresult *execute(struct db *db, int q, const struct db_arg *args, size_t nargs)
{
	const char *values[DB_MAX_ARGS];
	int lengths[DB_MAX_ARGS], formats[DB_MAX_ARGS];
	char numbers[DB_MAX_ARGS][24];

	for (size_t i = 0; i < nargs; i++) {
		values[i] = args[i].type == DB_NULL ? NULL : args[i].data;
		lengths[i] = (int)args[i].size;
		formats[i] = args[i].type == DB_BYTES;
		if (args[i].type == DB_I64) {
			(void)snprintf(numbers[i], sizeof(numbers[i]), "%" PRId64, args[i].i64);
			values[i] = numbers[i];
		}
	}
	return PQexecPrepared(db->conn, queries[q].name, (int)nargs, values, lengths, formats, 0);
}

bool db_query(struct db *db, int q, const struct db_arg *args, size_t nargs, struct result *res,
	struct err *err)
{
	assert(q >= 0 && q < Q__COUNT && nargs <= DB_MAX_ARGS && nargs == (size_t)queries[q].nargs);
	for (int left = TRIES;;) {
		CLEANUP(pg) PGresult *r = NULL;
		const char *state, *changed;

		if (!ready(db, err) || !prepare(db, q, err))
			return false;
		r = execute(db, q, args, nargs);
		if (is_fine(r)) {
			if (!res)
				return true;
			result_done(res);
			changed = PQcmdTuples(r);
			if (*changed && !text_to_i64(changed, 0, INT64_MAX, &res->affected))
				res->affected = 0;
			res->rows = PQntuples(r);
			res->pg = STEAL(r);
			return true;
		}
		state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
		if (queries[q].retry && !db->in_tx && state && is_lost_race(state) && --left)
			continue;
		return refused(db, r, queries[q].name, err);
	}
}

bool db_warm(struct db *db, const int *list, size_t n, struct err *err)
{
	static const struct db_arg nulls[DB_MAX_ARGS];
	CLEANUP(tx) struct tx tx = {0};

	/* else the first calls are planned anew for their arguments */
	if (!db_exec(db, "SET plan_cache_mode = force_generic_plan", err) ||
		!db_begin(db, 0, &tx, err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!db_query(db, list[i], nulls, (size_t)queries[list[i]].nargs, NULL, err))
			return false;
	return true;
}

bool db_exec(struct db *db, const char *sql, struct err *err)
{
	CLEANUP(pg) PGresult *r = NULL;

	if (!ready(db, err))
		return false;
	r = PQexec(db->conn, sql);
	return is_fine(r) || refused(db, r, "sql", err);
}

/* Both statements and the sync leave in one packet; the answers are read in order. */
static bool begin_as(struct db *db, int64_t account_id, struct err *err)
{
	char number[24];
	const char *values[] = {number};
	bool ok = true, sent;

	(void)snprintf(number, sizeof(number), "%" PRId64, account_id);
	sent = PQenterPipelineMode(db->conn) &&
	       PQsendQueryParams(db->conn, "BEGIN", 0, NULL, NULL, NULL, NULL, 0) &&
	       PQsendQueryParams(db->conn, "SELECT set_config('app.account_id', $1, true)", 1, NULL,
		       values, NULL, NULL, 0) &&
	       PQpipelineSync(db->conn);
	if (!sent)
		return connection_lost(db, err);
	for (;;) {
		CLEANUP(pg) PGresult *r = PQgetResult(db->conn);
		ExecStatusType status = PQresultStatus(r);

		if (PQstatus(db->conn) != CONNECTION_OK)
			return connection_lost(db, err);
		if (status == PGRES_PIPELINE_SYNC)
			break;
		/* NULL stands between the answers of two statements */
		if (r && !is_fine(r) && status != PGRES_PIPELINE_ABORTED && ok)
			ok = refused(db, r, "begin", err);
		if (!db->conn)
			return false;
	}
	if (!PQexitPipelineMode(db->conn))
		return connection_lost(db, err);
	return ok;
}

bool db_begin(struct db *db, int64_t account_id, struct tx *tx, struct err *err)
{
	assert(!tx->open && !db->in_tx);
	if (!ready(db, err))
		return false;
	if (account_id > 0 ? !begin_as(db, account_id, err) : !db_exec(db, "BEGIN", err)) {
		/* what of it was begun would be in the way of the next */
		disconnect(db);
		return false;
	}
	tx->db = db;
	tx->open = true;
	db->in_tx = true;
	return true;
}

bool db_commit(struct tx *tx, struct err *err)
{
	struct db *db = tx->db;
	CLEANUP(pg) PGresult *r = NULL;

	assert(tx->open);
	if (!ready(db, err))
		return false;
	r = PQexec(db->conn, "COMMIT");
	tx->open = false;
	db->in_tx = false;
	if (!is_fine(r))
		return refused(db, r, "commit", err);
	/* COMMIT of a transaction in which a statement failed rolls back and says so only here */
	if (strcmp(PQcmdStatus(r), "COMMIT") != 0)
		return err_set(err, ERR_INTERNAL, "commit: the transaction had failed before");
	return true;
}

void cleanup_tx(struct tx *tx)
{
	struct err err;

	if (!tx->open)
		return;
	tx->open = false;
	tx->db->in_tx = false;
	/* no connection: the server has rolled back by itself */
	if (db_is_connected(tx->db) && !db_exec(tx->db, "ROLLBACK", &err))
		disconnect(tx->db);
}

bool db_notification(struct db *db, struct pool *pool, const char **channel, const char **payload)
{
	PGnotify *n;

	if (!db_is_connected(db))
		return false;
	if (!PQconsumeInput(db->conn) || PQstatus(db->conn) != CONNECTION_OK) {
		disconnect(db);
		return false;
	}
	n = PQnotifies(db->conn);
	if (!n)
		return false;
	*channel = pool_strdup(pool, n->relname);
	*payload = pool_strdup(pool, n->extra);
	PQfreemem(n);
	return true;
}
