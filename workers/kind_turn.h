#pragma once
/* What the files of the job kind `turn` share. */
#include <stdbool.h>
#include <stdint.h>

#include "agents.h"
#include "checkout.h"
#include "err.h"
#include "exec.h"
#include "follow.h"
#include "guest.h"
#include "logstore.h"
#include "random.h"
#include "results.h"
#include "runner.h"
#include "trace.h"
#include "turn.h"

struct turn_job {
	struct runner *r;
	struct guest g;
	struct trace trace;
	struct logstore log;
	bool log_open;
	const struct agent *agent;
	struct agent_start start; /* as it is to begin, or did */
	char session[UUID_SIZE];  /* drawn for a conversation that begins */
	struct trees trees;
	struct turn turn;
	int64_t deadline; /* of the present state, on time_boot_ms */
	struct exec exec; /* the agent's; id 0: not made yet */
	bool cancelled, stalled;
	int64_t ended_before; /* how often the agent was through before this turn; with a reader */
	int64_t began;	      /* on time_boot_ms */
	struct results results;
	bool saved; /* results is whole */
};

/* kind_turn_rows.c: what is read and written. */
bool turn_read(struct turn_job *t, struct err *err) NODISCARD;
bool turn_set_starting(struct turn_job *t, struct err *err) NODISCARD;
/* The agent's exec as a row, on exec.stream; the turn running. */
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
bool turn_set_ended(struct turn_job *t, enum turn_state state, enum turn_reason reason,
	const char *detail, struct err *err) NODISCARD;
bool exec_has_ended(const struct exec *e);

/* kind_turn_agent.c: its agent. */
/* Brings the agent to where it works on this turn, from wherever an earlier runner left it:
 * started, told the answer, or its conversation taken up again in a new exec. */
bool agent_ensure(struct turn_job *t, struct err *err) NODISCARD;
/* Follows it. *ended: nobody follows it any more (it asks, or the worker stops). */
bool agent_follow(struct turn_job *t, bool *ended, struct err *err) NODISCARD;
/* How the agent's end reads as the end of the turn. detail, of size bytes: "" where there is
 * nothing to say. */
bool agent_ending(struct turn_job *t, enum turn_state *state, enum turn_reason *reason,
	char *detail, size_t size, struct err *err) NODISCARD;
void agent_done(struct turn_job *t);
