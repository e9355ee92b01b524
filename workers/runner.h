#pragma once
/*
 * What every job kind works with: the job it holds, its connection to PostgreSQL, the socket to
 * its worker, and the one way to write: inside runner_begin .. runner_commit, which hold the
 * fence. Whoever finds the fence gone stops without a word: another runner has the job.
 */
#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "err.h"
#include "host.h"

struct config;
struct pool;

struct job_row {
	int64_t id, epoch, account_id, box_id, run_id, turn_id, exec_id;
	const char *kind, *lane, *request_id, *payload;
};

struct box_row {
	int64_t id, account_id, memory_bytes, cpus, expires_in_ms;
	const char *name, *state, *runtime, *image, *size_class, *host; /* host NULL: none yet */
	const char *guest_boot_id;
	int slot;    /* -1: none yet */
	int64_t pid; /* 0: none yet */
};

struct runner {
	const struct config *cfg;
	struct pool *pool;
	struct db *db;
	int worker; /* the socket to the worker; -1: closed, or none (tests) */
	bool cancel, term;
	bool stale; /* the fence was found gone */
	char host[HOST_NAME_SIZE], boot_id[HOST_BOOT_ID_SIZE];
	struct job_row job;
	struct box_row box;
};

/* Reads what the worker sent, without waiting; the worker's going counts as term. */
void runner_control(struct runner *r);
/* Tells the worker which log has new chunks and which run new trace rows (0: none). */
void runner_hint(struct runner *r, int64_t log_id, int64_t run_id);

/* Fills r->job, and r->box where the job names one. is_fence_lost (job.h): not ours any more. */
bool runner_load(struct runner *r, int64_t job_id, int64_t epoch, struct err *err) NODISCARD;
bool runner_load_box(struct runner *r, struct err *err) NODISCARD;

/* A transaction under the fence: is_fence_lost (job.h) where the job is not ours any more. */
bool runner_begin(struct runner *r, struct tx *tx, struct err *err) NODISCARD;
/* One transaction, again and again while the database is away (backing off, at most until the
 * worker wants us gone): body must be safe to repeat after a commit whose answer was lost. */
typedef bool runner_body(struct runner *r, void *arg, struct err *err);
bool runner_write(struct runner *r, runner_body *body, void *arg, struct err *err) NODISCARD;
/* Statements of a transaction or alone, retried the same way. For reads. */
bool runner_read(struct runner *r, int query, const struct db_arg *args, size_t nargs,
	struct result *res, struct err *err) NODISCARD;
/* The job's end, inside a runner_write body: its row moves to job_history. */
bool runner_job_finish(struct runner *r, const char *outcome, struct err *err) NODISCARD;
/* Sleeps, but wakes for the worker. False once it wants us gone. */
bool runner_sleep(struct runner *r, int64_t ms);
/* The column's bigint, or NULL. */
int64_t runner_col(const struct result *res, int col);
/* The column's text in the job's pool, or NULL. */
const char *runner_text(struct runner *r, const struct result *res, int col);
