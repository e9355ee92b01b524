#pragma once
/*
 * The two append-only logs: trace rows of a run and chunks of a log. seq counts from 1 without gaps
 * and is given out by the lease holder: read the tail once when taking over, count on from there.
 * The append carries the fence in its own statement; where it is lost nothing is written and
 * is_fence_lost(err) holds. Sending rows again that are there already is harmless.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct buf;
struct db;
struct fence;

enum trace_kind {
	TRACE_SAY,
	TRACE_THINKING,
	TRACE_TOOL,
	TRACE_RESULT,
	TRACE_ERROR,
	TRACE_QUESTION,
	TRACE_ANSWER,
	TRACE_USAGE,
	TRACE_SYSTEM,
	TRACE_KIND__COUNT
};
extern const char *const trace_kind_names[TRACE_KIND__COUNT];

struct trace_row {
	int64_t seq;
	enum trace_kind kind;
	const char *ref;  /* pairs a result with its tool, or NULL */
	const char *text; /* sanitised */
	const char *data; /* JSON, or NULL */
};

enum log_stream { LOG_STDOUT = 1, LOG_STDERR = 2 };

struct log_chunk {
	int64_t seq;
	enum log_stream stream;
	int64_t first_line;	   /* number of the line its first byte belongs to, from 0 */
	int64_t nlines;		   /* newlines in it */
	int64_t src_off, src_len;  /* bytes of the box's output it stands for */
	size_t at, size;	   /* its body in the batch's bodies, known secrets replaced */
	const int64_t *newline_ms; /* nlines times, of each newline; NULL: not known */
};

/* What one append commits; what there is none of is 0 and NULL. */
struct runlog_batch {
	int64_t now_ms; /* the time of its rows */
	int64_t log_id;
	const struct log_chunk *chunks;
	size_t nchunks;
	const char *bodies;
	size_t bodies_size;
	int64_t run_id, turn;
	const char *trace; /* the text of rows made by runlog_add_row */
};

#define RUNLOG_BATCH_MAX (16 * 1024 * 1024) /* bytes of one append; more is ERR_TOO_LARGE */

/* Adds a row to the text that is a batch's trace. */
void runlog_add_row(struct buf *rows, const struct trace_row *row);
bool runlog_append(struct db *db, const struct fence *f, const struct runlog_batch *batch,
	struct err *err) NODISCARD;

/* Where to go on: the last seq (0: empty), the number of the next line, the next src_off. */
struct log_tail {
	int64_t seq, line, src_off;
};
/* Some of what an exec whose byte 0 stands at `base` wrote to its stdout, as it is kept: what
 * follows chunk *seq, which is moved on. *more false: that was all of it. */
typedef void runlog_take(void *arg, const char *body, size_t n, int64_t ts_ms);
bool runlog_stdout(struct db *db, int64_t log_id, int64_t base, int64_t *seq, bool *more,
	runlog_take *take, void *arg, struct err *err) NODISCARD;
bool runlog_tail(struct db *db, int64_t log_id, struct log_tail *out, struct err *err) NODISCARD;
