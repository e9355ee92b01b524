#pragma once
/*
 * What every job kind works with: the job it holds, its connection to PostgreSQL, the socket to
 * its worker, and patience with a database that is away. Every write is the model's (lib/model) and
 * carries r->job.fence. Whoever finds the job taken from it stops without a word: another has it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "box.h"
#include "err.h"
#include "host.h"
#include "job.h"

struct config;
struct db;
struct pool;

struct runner {
	const struct config *cfg;
	struct pool *pool;
	struct db *db;
	int worker; /* the socket to the worker; -1: closed, or none (tests) */
	bool cancel, term;
	bool stale; /* the job was found to be another's, or its end decided elsewhere */
	char host[HOST_NAME_SIZE], boot_id[HOST_BOOT_ID_SIZE];
	struct job job;
	struct box box; /* id 0: the job has none */
};

/* Reads what the worker sent, without waiting; the worker's going counts as term. */
void runner_control(struct runner *r);
/* Tells the worker which log has new chunks and which run new trace rows (0: none). */
void runner_hint(struct runner *r, int64_t log_id, int64_t run_id);

/* Fills r->job, and r->box where the job names one. r->stale: not ours any more. */
bool runner_load(struct runner *r, const struct fence *f, struct err *err) NODISCARD;
bool runner_load_box(struct runner *r, struct err *err) NODISCARD;

typedef bool runner_body(struct runner *r, void *arg, struct err *err);
/* body: one statement of the model, run again and again while the database is away (backing off, at
 * most until the worker wants us gone), so that it must be safe to repeat after a commit whose
 * answer was lost. On failure r->stale says whether the job is still ours. */
bool runner_try(struct runner *r, runner_body *body, void *arg, struct err *err) NODISCARD;
/* The same of several statements, in one transaction. */
bool runner_write(struct runner *r, runner_body *body, void *arg, struct err *err) NODISCARD;
/* Of an error that came past runner_try: was it that the job is not ours any more? Remembers it. */
bool runner_is_stale(struct runner *r, const struct err *err);
/* Sleeps, but wakes for the worker. False once it wants us gone. */
bool runner_sleep(struct runner *r, int64_t ms);
