#pragma once
/*
 * Turns of a run: the first task, an answer. Made by run.h, moved on here by the holder of the
 * turn's job, every write fenced (job.h). runs.state follows by trigger. asked, done, failed,
 * stopped and lost are ends; the database refuses to leave them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct db;
struct fence;
struct pool;

enum turn_state {
	TURN_QUEUED,
	TURN_STARTING,
	TURN_RUNNING,
	TURN_ASKED,
	TURN_DONE,
	TURN_FAILED,
	TURN_STOPPED,
	TURN_LOST,
	TURN_STATE__COUNT
};
extern const char *const turn_state_names[TURN_STATE__COUNT];

enum turn_reason {
	REASON_OK,
	REASON_AGENT_ERROR,
	REASON_OOM,
	REASON_GUEST_PANIC,
	REASON_TIMEOUT,
	REASON_MAX_DURATION,
	REASON_OPERATOR,
	REASON_PROTOCOL,
	REASON_AGENT_LOST,
	REASON_BOX_LOST,
	REASON_WORKER_LOST,
	REASON_HOST_REBOOT,
	REASON_POLICY,
	REASON_TREE,
	REASON_PROVISION,
	TURN_REASON__COUNT
};
extern const char *const turn_reason_names[TURN_REASON__COUNT];
/* The reason of that name; `otherwise` where there is none. */
enum turn_reason turn_reason_find(const char *name, enum turn_reason otherwise);

/* What its runner needs of it. Text is "" where there is none. */
struct turn {
	int64_t id, run_id, n;
	const char *message;
	enum turn_state state;
	int64_t exec_id; /* 0: none started yet */
	bool has_deadline;
	int64_t left_ms; /* until then */
	/* of its run */
	const char *run_name, *agent, *task, *source, *repos; /* repos: JSON */
	int64_t upload_id, log_id, trace_seq; /* trace_seq: of its last trace row, 0: none */
	const char *session;		      /* the agent's own name for its conversation */
	int64_t ends; /* how often the agent said in this turn that it was through */
	/* the question it answers; id 0: a first task */
	int64_t question_id;
	const char *question_ref, *answer;
};

bool turn_get(
	struct db *db, struct pool *pool, int64_t id, struct turn *out, struct err *err) NODISCARD;
/* queued -> starting, to end within deadline_ms. A turn that a former runner left in starting or
 * running is taken over as it is. */
bool turn_start(struct db *db, const struct fence *f, int64_t turn_id, int64_t deadline_ms,
	struct err *err) NODISCARD;
/* starting -> running, with the agent's exec. */
bool turn_running(struct db *db, const struct fence *f, int64_t turn_id, int64_t exec_id,
	int64_t deadline_ms, struct err *err) NODISCARD;

struct turn_end {
	enum turn_state state;	     /* an end */
	enum turn_reason reason;     /* means nothing in TURN_ASKED */
	const char *detail;	     /* sanitised sentence, or NULL */
	bool exited;		     /* exit_code holds */
	int64_t exit_code, signal;   /* signal 0: none */
	int64_t patch_id, bundle_id; /* 0: none */
};
bool turn_end(struct db *db, const struct fence *f, int64_t turn_id, const struct turn_end *end,
	struct err *err) NODISCARD;
/* Blobs of a turn that has ended; 0 leaves what is there. */
bool turn_save(struct db *db, const struct fence *f, int64_t turn_id, int64_t patch_id,
	int64_t bundle_id, struct err *err) NODISCARD;
/* For the destroy job f of the box: every active turn ends as `state` (stopped, lost, failed), and
 * a run that waits for an answer ends too. detail may be NULL. */
bool turn_stop_box(struct db *db, const struct fence *f, int64_t box_id, enum turn_state state,
	enum turn_reason reason, const char *detail, struct err *err) NODISCARD;
