#pragma once
/* What the files of the job kind `turn` share. */
#include <stdbool.h>
#include <stdint.h>

#include "checkout.h"
#include "err.h"
#include "follow.h"
#include "guest.h"
#include "logstore.h"
#include "results.h"
#include "runner.h"
#include "trace.h"

struct turn_job {
	struct runner *r;
	struct guest g;
	struct trace trace;
	struct logstore log;
	bool log_open;
	const struct agent *agent;
	struct trees trees;
	int64_t id, n, run_id, question_id, log_id, upload_id;
	const char *state, *message, *run_name, *task, *agent_name, *source, *repos;
	const char *question_ref, *answer;
	int64_t deadline; /* of the present state, on time_boot_ms */
	/* the agent's exec */
	int64_t exec_id; /* 0: not made yet */
	uint32_t stream;
	int64_t log_base;
	bool exec_ended, exec_known; /* EXIT is committed; the box said STARTED */
	int64_t exit_code, signal;   /* -1: none */
	bool timed_out, oom, cancelled;
	int64_t began; /* on time_boot_ms */
	struct results results;
	bool saved; /* results is whole */
};

/* kind_turn_rows.c: what is read and written. */
bool turn_read(struct turn_job *t, struct err *err) NODISCARD;
bool turn_set_starting(struct turn_job *t, struct err *err) NODISCARD;
/* The agent's exec as a row, the turn running. */
bool turn_set_running(struct turn_job *t, struct err *err) NODISCARD;
/* A turn that answers goes on with the exec of the one that asked. */
bool turn_set_answering(struct turn_job *t, struct err *err) NODISCARD;
bool turn_set_started(struct turn_job *t, struct err *err) NODISCARD;
bool turn_set_exited(struct turn_job *t, const struct follow *f, struct err *err) NODISCARD;
/* The job stays: the results of the turn are still to be saved. */
bool turn_set_asked(struct turn_job *t, const struct follow *f, struct err *err) NODISCARD;
/* ... and now they are, and the job ends. */
bool turn_set_asked_saved(struct turn_job *t, struct err *err) NODISCARD;
/* The end, with the job's. detail may be NULL. */
bool turn_set_ended(struct turn_job *t, const char *state, const char *reason, const char *detail,
	struct err *err) NODISCARD;
