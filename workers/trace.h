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

struct json_object;
struct runner;

struct trace {
	int64_t run_id; /* 0: the job has no trace; adding does nothing */
	int64_t turn, last_seq;
	/* rows of the flush under way, as a JSON array [[seq, kind, text, data], ..] */
	struct buf rows;
	int64_t pending;
};

void trace_init(struct trace *t, int64_t run_id, int64_t turn, int64_t last_seq);
void cleanup_trace(struct trace *t);
/* Adds a row to the flush under way; text is made safe here, and cut at 8 KiB with a remark. data:
 * a JSON object as text. */
void trace_add(struct trace *t, const char *kind, const char *text, size_t n, const char *data);
/* The array for the statement, and, once that is committed, its numbers for good; or dropped, to be
 * made again. */
const char *trace_rows(struct trace *t);
void trace_committed(struct trace *t);
void trace_dropped(struct trace *t);
/* One row, written in the runner's open transaction. The caller counts last_seq up after commit
 * (trace_wrote), so that a transaction that is repeated takes the same number. */
bool trace_write(struct trace *t, struct runner *r, const char *kind, const char *ref,
	const char *text, const char *data, int64_t nth, struct err *err) NODISCARD;
