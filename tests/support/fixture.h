#pragma once
/* Rows that many tests start from. Failing here ends the program. */
#include <stddef.h>
#include <stdint.h>

#include "blob.h"
#include "job.h"
#include "run.h"
#include "sandbox.h"

#define ACCOUNT 1 /* 'operator', of the first migration */

/* What a test starts with: an empty queue, no box on a slot, and connections as asb_web and
 * asb_worker with a pool, which fixture_close ends. */
void fixture_open(struct db **web, struct db **worker, struct pool **pool);
void fixture_close(struct db *web, struct db *worker, struct pool *pool);
/* Delegates a task-only run as asb_web (db) for the account. */
struct run_made fixture_run(struct db *web, int64_t account);
/* Asks for a python sandbox as asb_web (db) for the account. */
struct sandbox_made fixture_sandbox(struct db *web, int64_t account);
/* Takes it, its `create` job done, to ready. */
void fixture_sandbox_ready(struct db *worker, struct pool *pool, const struct sandbox_made *box);
/* Claims the next job as asb_worker (db), on host "host1"; there must be one. In the pool. */
struct job *fixture_claim(struct db *worker, struct pool *pool);
/* Takes a delegated run to: box ready, turn running, with the agent's exec in it. */
struct job *fixture_running(struct db *worker, struct pool *pool, const struct run_made *run);
/* From there to: asked, job finished. The question's id. */
int64_t fixture_asked(
	struct db *worker, const struct run_made *run, const struct job *job, const char *ref);
/* Asks, as asb_web, for the run's end; false, as the model says it, where that is refused. */
bool fixture_teardown(struct db *web, const struct run_made *run, struct err *err) NODISCARD;
int64_t fixture_account(const char *name); /* another account */
/* A whole blob; false, as the writer says it, where it is refused. */
bool fixture_blob(struct db *db, const struct blob_new *in, const void *data, size_t n,
	struct blob_made *out, struct err *err) NODISCARD;
