#pragma once
/*
 * What people do with runs: delegate, resume, tear down. These write intent only, inside a
 * transaction of the caller's that has the account set (db_begin(db, account_id, ..)), so that the
 * caller's own rows (audit, idempotency) stand or fall with them. What becomes of a run is turn.h.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "random.h"

struct db;
struct fence;
struct pool;

enum run_state {
	RUN_QUEUED,
	RUN_STARTING,
	RUN_RUNNING,
	RUN_WAITING,
	RUN_DONE,
	RUN_FAILED,
	RUN_STOPPED,
	RUN_LOST,
	RUN_STATE__COUNT
};
extern const char *const run_state_names[RUN_STATE__COUNT];

struct run_new {
	int64_t account_id;
	const char *task, *title, *agent;
	const char *repos;	/* JSON array of trees, or NULL; with an upload: where it goes */
	const char *upload;	/* 'blob-..', or NULL */
	const char *created_by; /* the caller: "operator", "session:12" */
	const char *request_id;
	/* the box */
	const char *runtime, *image, *size_class;
	const char
		*image_key; /* what the image's name means now; NULL: no box of the pool will do */
	int64_t memory_bytes, cpus;
	int64_t disk_bytes;  /* 0: nothing holds it */
	int64_t starting_ms; /* it must be ready by then */
	int64_t max_ms;	     /* and is destroyed by then */
};

struct run_made {
	char name[ID_SIZE], box_name[ID_SIZE];
	int64_t run_id, box_id, log_id, turn_id, job_id;
};

/* ERR_NOT_FOUND: no such upload; ERR_CONFLICT, reason "upload_incomplete" or "upload_used". */
bool run_delegate(
	struct db *db, const struct run_new *in, struct run_made *out, struct err *err) NODISCARD;

/* The complete upload of that name that no run has taken. Errors as above. */
bool run_find_upload(struct db *db, int64_t account_id, const char *upload, int64_t *id,
	struct err *err) NODISCARD;

struct run_resumed {
	int64_t run_id, turn_id, job_id, n;
	/* on ERR_CONFLICT with reason "answered": what won, in the pool */
	const char *answer, *answered_by;
};

/* Answers the run's open question (question_id, or the newest where it is 0) and queues the turn
 * that goes on with it. Exactly one caller wins. ERR_CONFLICT, reason: "answered" (out->answer
 * holds the winning answer), "not_waiting" (no question is open), "box_ended". */
bool run_resume(struct db *db, struct pool *pool, int64_t account_id, const char *run,
	int64_t question_id, const char *message, const char *caller, const char *request_id,
	struct run_resumed *out, struct err *err) NODISCARD;

/* What the end of a box is to save: the run in it and its last drive-lane turn. Text is in the
 * pool; id 0: no run. */
struct run_of_box {
	int64_t id, turn_id, upload_id;
	const char *source, *repos;
};
bool run_of_box(struct db *db, struct pool *pool, int64_t box_id, struct run_of_box *out,
	struct err *err) NODISCARD;

/* The agent's own name for its conversation. */
bool run_set_session(struct db *db, const struct fence *f, int64_t run_id, const char *session,
	struct err *err) NODISCARD;
/* How long ago the gate saw the end of a model call of the run; -1: it saw none. */
bool run_model_heard(struct db *db, int64_t run_id, int64_t *ago_ms, struct err *err) NODISCARD;
/* What the agent's conversation had cost before this exec took it up. */
bool run_cost_before(
	struct db *db, int64_t run_id, int64_t exec_id, double *usd, struct err *err) NODISCARD;

/* Asks for the end of the run's box, from every state and any number of times. *run_id is set. */
bool run_teardown(struct db *db, int64_t account_id, const char *run, const char *request_id,
	int64_t destroying_ms, int64_t *run_id, struct err *err) NODISCARD;

/* Finds the run (ERR_NOT_FOUND) and holds its box until the transaction ends: for exec_submit. */
bool run_lock_box(struct db *db, int64_t account_id, const char *run, int64_t *run_id,
	int64_t *box_id, struct err *err) NODISCARD;
