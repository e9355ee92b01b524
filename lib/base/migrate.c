/*
 * Migrations: forward only, numbered, one transaction each, with the checksum of what was applied.
 * grants.sql describes a state, not a step, and is applied after them every time.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

#define SQL_FILE_MAX (1024 * 1024)

static bool file_read(const char *path, struct buf *out, struct err *err)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	char piece[8192];
	size_t n;

	if (!f)
		return err_errno(err, ERR_INTERNAL, "%s", path);
	while ((n = fread(piece, 1, sizeof(piece), f)))
		(void)buf_add(out, piece, n);
	if (ferror(f) || out->failed)
		return err_set(err, ERR_INTERNAL, "%s: unreadable or too long", path);
	return true;
}

static void sha256_text(const struct buf *b, char hex[2 * SHA256_SIZE + 1])
{
	unsigned char sum[SHA256_SIZE];

	sha256(b->data, b->len, sum);
	hex_encode(sum, sizeof(sum), hex);
}

/* Takes the lock for the transaction and does not let a slow step be cut short. */
static bool begin_locked(struct db *db, struct tx *tx, struct err *err)
{
	return db_begin(db, 0, tx, err) &&
	       db_exec(db,
		       "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s';"
		       "SELECT pg_advisory_xact_lock(7003)",
		       err);
}

static bool migration_apply(
	struct db *db, const char *dir, const char *name, int n, int *applied, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf sql = BUF_INIT(SQL_FILE_MAX);
	CLEANUP(tx) struct tx tx = {0};
	CLEANUP(result) struct result res = {0};
	char sum[2 * SHA256_SIZE + 1];

	if (!file_read(pool_printf(pool, "%s/migrations/%s", dir, name), &sql, err))
		return false;
	sha256_text(&sql, sum);
	if (!begin_locked(db, &tx, err) ||
		!db_query(db, Q_MIGRATE_FIND, ARGS(db_i64(n)), &res, err))
		return err_wrap(err, "%s", name);
	if (res.rows && strcmp(result_text(&res, 0, 0), sum) != 0) {
		(void)err_set(err, ERR_CONFLICT, "%s was changed after it had been applied", name);
		return err_advise(err, "migration_changed",
			"put the file back as it was and write a new migration");
	}
	if (res.rows)
		return true;
	if (!db_exec(db, sql.data, err) ||
		!db_query(db, Q_MIGRATE_RECORD, ARGS(db_i64(n), db_text(name), db_text(sum)), NULL,
			err) ||
		!db_commit(&tx, err))
		return err_wrap(err, "%s", name);
	++*applied;
	return true;
}

static bool grants_apply(struct db *db, const char *dir, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf sql = BUF_INIT(SQL_FILE_MAX);
	CLEANUP(tx) struct tx tx = {0};

	if (!file_read(pool_printf(pool, "%s/grants.sql", dir), &sql, err))
		return false;
	if (!begin_locked(db, &tx, err) || !db_exec(db, sql.data, err) || !db_commit(&tx, err))
		return err_wrap(err, "grants.sql");
	return true;
}

static int is_migration(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 9 && strspn(e->d_name, "0123456789") == 4 && e->d_name[4] == '_' &&
	       !strcmp(e->d_name + n - 4, ".sql");
}

static void names_free(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static bool migrations_apply(struct db *db, const char *dir, int *applied, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct dirent **names;
	int n, before = 0;
	bool ok = true;

	n = scandir(pool_printf(pool, "%s/migrations", dir), &names, is_migration, alphasort);
	if (n < 0)
		return err_errno(err, ERR_INTERNAL, "%s/migrations", dir);
	for (int i = 0; i < n && ok; i++) {
		int number = (int)strtol(names[i]->d_name, NULL, 10);

		ok = number != before
			     ? migration_apply(db, dir, names[i]->d_name, number, applied, err)
			     : err_set(err, ERR_INTERNAL, "two migrations have number %d", number);
		before = number;
	}
	names_free(names, n);
	return ok;
}

bool migrate_run(struct db *db, const char *sql_dir, int *applied, struct err *err)
{
	int n = 0;

	if (!db_exec(db,
		    "CREATE TABLE IF NOT EXISTS schema_migrations (n int PRIMARY KEY,"
		    " name text NOT NULL, sha256 text NOT NULL,"
		    " applied_at timestamptz NOT NULL DEFAULT now())",
		    err) ||
		!migrations_apply(db, sql_dir, &n, err) || !grants_apply(db, sql_dir, err))
		return err_wrap(err, "migrate");
	*applied = n;
	return true;
}

bool migrate_check(struct db *db, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int64_t newest;

	if (!db_query(db, Q_MIGRATE_NEWEST, NO_ARGS, &res, err))
		return err_wrap(err, "schema version");
	newest = result_i64(&res, 0, 0);
	if (newest == SCHEMA_VERSION)
		return true;
	(void)err_set(err, ERR_CONFLICT,
		"the database has schema version %d, this program was built for %d", (int)newest,
		SCHEMA_VERSION);
	return err_advise(err, "schema_version",
		newest < SCHEMA_VERSION ? "run `asb migrate`" : "install the newer programs");
}
