#pragma once
/*
 * The two append-only logs. seq counts from 1 without gaps and is given out by the lease holder:
 * read the tail once when taking over, count on from there. Each append carries the fence in its
 * own statement; where it is lost nothing is written and is_fence_lost(err) holds. Sending rows
 * again that are there already is harmless.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

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
	int64_t first_line;	  /* number of the line its first byte belongs to, from 0 */
	int64_t nlines;		  /* newlines in it */
	int64_t src_off, src_len; /* bytes of the box's output it stands for */
	const void *body;	  /* known secrets replaced */
	size_t size;
	const int *line_ms; /* nlines of them: ms before now that each newline came; or NULL */
};

/* Where to go on: the last seq (0: empty), the number of the next line, the next src_off. */
struct log_tail {
	int64_t seq, line, src_off;
};

#define RUNLOG_BATCH_MAX (4 * 1024 * 1024) /* text of one append; more is ERR_TOO_LARGE */

bool runlog_append_trace(struct db *db, const struct fence *f, int64_t run_id, int64_t turn,
	const struct trace_row *rows, size_t n, struct err *err) NODISCARD;
bool runlog_append_chunks(struct db *db, const struct fence *f, int64_t log_id,
	const struct log_chunk *chunks, size_t n, struct err *err) NODISCARD;
bool runlog_trace_tail(struct db *db, int64_t run_id, int64_t *seq, struct err *err) NODISCARD;
bool runlog_tail(struct db *db, int64_t log_id, struct log_tail *out, struct err *err) NODISCARD;
