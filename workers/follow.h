#pragma once
/*
 * Following one exec in a box: its output into a log, until it ends, asks, runs out of time, is
 * cancelled, or the worker wants us gone. Turns and evidence execs follow alike.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
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
	/* Called once when the box says that the process runs; NULL: nobody wants to know. */
	bool (*started)(void *arg, struct err *err);
	void *arg;
	const char *answered; /* the question that this turn answers: repeats of it are old news */
	/* filled */
	enum follow_end end;
	int64_t exit_code, signal; /* -1: none */
	bool timed_out;		   /* by boxd's clock or ours */
	bool cancelled;
	bool oom;
	const char *usage; /* EXIT's JSON */
	const char *question_id, *question;
	char message[200];
};

bool follow(struct follow *f, struct err *err) NODISCARD;
