#pragma once
/*
 * A log being written: the sink of logsink.h, the statement that commits its chunks together with
 * the trace rows they gave, the acknowledgement to the box after the commit, and the hint to the
 * worker after that.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "logsink.h"
#include "trace.h"

struct agent;
struct agent_reader;
struct guest;
struct redactor;
struct runner;
struct wire_frame;

struct logstore {
	struct runner *r;
	int64_t log_id;
	struct logsink sink;
	struct trace *trace;	     /* NULL: none */
	const struct agent *agent;   /* what makes trace rows of output; NULL: nothing does */
	struct agent_reader *reader; /* the agent's; NULL: it has none */
	struct redactor *redactor;
};

/* Opens the log where its last chunk ended; base is the exec's byte 0 in it. */
bool logstore_open(struct logstore *ls, struct runner *r, int64_t log_id, int64_t base,
	struct err *err) NODISCARD;
void cleanup_logstore(struct logstore *ls);
/* Feeds a STDOUT or STDERR frame. */
bool logstore_frame(struct logstore *ls, const struct wire_frame *f, struct err *err) NODISCARD;
/* Until when to wait for the next frame, at most deadline. */
int64_t logstore_deadline(const struct logstore *ls, int64_t deadline);
/* Commits what is due (everything with `all`), then acknowledges it on g's stream. */
bool logstore_flush(
	struct logstore *ls, struct guest *g, uint32_t stream, bool all, struct err *err) NODISCARD;
