#pragma once
/* Rows that many tests start from. Failing here ends the program. */
#include <stdint.h>

#include "job.h"
#include "run.h"

#define ACCOUNT 1 /* 'operator', of the first migration */

/* Delegates a task-only run as asb_web (db) for the account. */
struct run_made fixture_run(struct db *web, int64_t account);
/* Claims the next job as asb_worker (db), on host "host1"; there must be one. In the pool. */
struct job *fixture_claim(struct db *worker, struct pool *pool);
/* Takes a delegated run to: box ready, turn running, with the agent's exec in it. */
struct job *fixture_running(struct db *worker, struct pool *pool, const struct run_made *run);
/* From there to: asked, job finished. The question's id. */
int64_t fixture_asked(
	struct db *worker, const struct run_made *run, const struct job *job, const char *ref);
int64_t fixture_account(const char *name); /* another account */
