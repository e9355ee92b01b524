#pragma once
/*
 * Following one exec in a box: its output into a log, until it ends, asks, runs out of time, is
 * cancelled, or the worker wants us gone. Turns and evidence execs follow alike.
 */
#include <stdbool.h>
#include <stdint.h>

#include "checks.h"
#include "err.h"
#include "exec.h"
#include "guest.h"
#include "logstore.h"

enum follow_end {
	FOLLOW_EXIT,	 /* the process ended: see exit, signal; the log is whole and committed */
	FOLLOW_QUESTION, /* the box asks; what was said before is committed */
	FOLLOW_TIMEOUT,	 /* its deadline passed and it was killed, but its EXIT did not come */
	FOLLOW_TERM,	 /* the worker stops: all is committed, the exec goes on without us */
	FOLLOW_REFUSED,	 /* the box could not start it: see message */
};

struct follow {
	struct guest *g;
	struct logstore *log;
	uint32_t stream;
	int64_t deadline; /* on time_boot_ms */
	/* Commits that the process runs: called once it has run for a moment, so that of one that
	 * ends sooner there is the end alone, which says since when it ran. */
	bool (*started)(void *arg, struct err *err);
	void *arg;
	const char *answered;  /* the question that this turn answers: repeats of it are old news */
	bool kill;	       /* it is to end at once, all of it */
	struct checks *checks; /* what its stdout says of tests goes here; NULL: nowhere */
	/* Of an agent that is talked to (log->reader): */
	int64_t ended_before; /* how often it was through before what it is told now */
	/* How long ago its model last answered it; -1: never. */
	bool (*heard)(void *arg, int64_t *ago_ms, struct err *err);
	/* filled */
	enum follow_end end;
	int64_t started_ms;	   /* on time_boot_ms; 0: the box did not say so */
	bool told;		   /* started was called */
	int64_t exit_code, signal; /* -1: none */
	bool timed_out;		   /* by boxd's clock or ours */
	bool cancelled;
	bool oom;
	const char *usage; /* EXIT's JSON */
	const char *question_id, *question;
	char message[200];
	bool stalled; /* it said nothing for too long, and timed_out */
	/* follow's own; times on time_boot_ms, 0: not yet */
	bool killed, told_to_leave, frozen;
	int64_t said_at, question_at, freeze_at, leave_at;
};

bool follow(struct follow *f, struct err *err) NODISCARD;
/* How its row ends. */
struct exec_end follow_exec_end(const struct follow *f);

/* --- follow_agent.c: one that is talked to --- */
/* Until when to wait at the most for what it says next. */
int64_t follow_agent_until(const struct follow *f);
/* What follows of what it has said so far, and of the time that has gone by. */
bool follow_agent(struct follow *f, bool *ended, struct err *err) NODISCARD;
/* Kills the exec with all that it started; its EXIT, or FOLLOW_TIMEOUT, follows. */
bool follow_kill(struct follow *f, struct err *err) NODISCARD;
