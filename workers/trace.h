#pragma once
/*
 * Trace rows: what a person reads of a run. The sequence is the lease holder's: it starts after the
 * last committed row and has no gaps, since rows are numbered as they are written.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "runlog.h"

struct runner;
struct runlog_batch;

struct trace {
	int64_t run_id; /* 0: the job has no trace; adding does nothing */
	int64_t turn, last_seq;
	/* rows that are not committed yet (runlog_add_row) */
	struct buf rows;
	int64_t pending;
};

void trace_init(struct trace *t, int64_t run_id, int64_t turn, int64_t last_seq);
void cleanup_trace(struct trace *t);
/* Adds a row to those of the next commit; text is made safe here, and cut at 8 KiB with a remark.
 * ref and data (a JSON object as text) may be NULL. What no longer fits one statement is left out:
 * it is in the log. */
void trace_add(struct trace *t, enum trace_kind kind, const char *ref, const char *text, size_t n,
	const char *data);
void trace_adds(
	struct trace *t, enum trace_kind kind, const char *ref, const char *text, const char *data);
/* Puts the rows into a batch that is about to be committed; and, once it is, their numbers are for
 * good; or they are dropped, to be made again. */
void trace_batch(struct trace *t, struct runlog_batch *batch);
void trace_committed(struct trace *t);
void trace_dropped(struct trace *t);
/* Commits the rows by themselves: in a runner_body, after which one of the two above is due. */
bool trace_write(struct trace *t, struct runner *r, struct err *err) NODISCARD;
