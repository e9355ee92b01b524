#pragma once
/*
 * The queue: a job is a unit of work for a worker, its lease is (id, epoch) while the row says
 * running. Every write of a lease holder carries that pair as a `struct fence`; where it does not
 * hold any more nothing is written and the error is ERR_CONFLICT with the reason "fence_lost"
 * (is_fence_lost): stop at once and touch nothing.
 *
 * Order of locks: whoever writes more than one row takes the job's row first, which all fenced
 * statements do by themselves.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct db;
struct pool;
struct result;

struct fence {
	int64_t job_id;
	int64_t epoch;
};

bool fence_lost(const struct fence *f, struct err *err); /* sets the error; always false */
bool is_fence_lost(const struct err *err);
/* For statements that answer one row (fence rows, rows written): fence_lost, or ERR_CONFLICT with
 * the reason "state" and the message `what` where the fence held but nothing fitted. */
bool fence_check(const struct fence *f, const struct result *res, const char *what,
	struct err *err) NODISCARD;

struct job {
	struct fence fence;
	int64_t account_id, box_id, run_id, turn_id, exec_id; /* 0: none */
	const char *kind;				      /* a row of workers/kinds.c */
	const char *lane;		  /* drive | ask | exec:ID | look | admin */
	const char *payload, *request_id; /* JSON; "" where none */
	int64_t attempts;
	bool cancelled;
};

/* Takes the next job of these kinds that this host may do, and places its box on the host where it
 * has none yet. *out is NULL where there is nothing to do. owner: unique to this worker process. */
bool job_claim(struct db *db, struct pool *pool, const char *host, const char *owner,
	const char *const *kinds, size_t nkinds, int64_t lease_ms, struct job **out,
	struct err *err) NODISCARD;
/* The job of a lease; fence_lost where it is not held. */
bool job_load(struct db *db, struct pool *pool, const struct fence *f, struct job **out,
	struct err *err) NODISCARD;

struct lease {
	struct fence fence;
	bool cancelled; /* somebody asked to cancel it */
};
/* Renews what this owner holds, in one statement. *kept (in the pool) are those that still hold;
 * any other is lost. */
bool job_renew(struct db *db, struct pool *pool, const char *owner, const struct lease *held,
	size_t nheld, int64_t lease_ms, struct lease **kept, size_t *nkept,
	struct err *err) NODISCARD;
/* Holds the lease against the reaper until the transaction ends: the first statement of a
 * transaction whose other statements are not fenced themselves. */
bool job_fence(struct db *db, const struct fence *f, struct err *err) NODISCARD;
/* Ends the job: its row goes into job_history. In a transaction with what it ends with. */
bool job_finish(
	struct db *db, const struct fence *f, const char *outcome, struct err *err) NODISCARD;
/* Queues it again, not before delay_ms; for any host, unless keep_host. Nothing where it is not
 * held any more. */
bool job_hand_back(struct db *db, const struct fence *f, int64_t delay_ms, bool keep_host,
	struct err *err) NODISCARD;
/* Queues every job again whose lease has run out and whose holder is not writing just now: it waits
 * for nobody. No attempt is charged. */
bool job_reap(struct db *db, int64_t *reaped, struct err *err) NODISCARD;
/* Hands back everything this owner holds: a worker that ends. */
bool job_release(struct db *db, const char *owner, int64_t *released, struct err *err) NODISCARD;
/* Takes back everything the host's worker held before: a worker that starts (there is one a host).
 */
bool job_take_host(struct db *db, const char *host, int64_t *taken, struct err *err) NODISCARD;
/* Asks for the end of a box that has not ended; where that is asked for already, *added is false.
 * request_id may be NULL. */
bool job_add_destroy(struct db *db, int64_t box_id, const char *reason, const char *request_id,
	bool *added, struct err *err) NODISCARD;
/* The destroy job `f` ends every other job of its box. */
bool job_drop_box(struct db *db, const struct fence *f, int64_t box_id, const char *outcome,
	struct err *err) NODISCARD;
