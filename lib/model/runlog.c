/*
 * Appending to trace and log_chunk: rows become one array per column and one statement.
 */
#include "runlog.h"

#include <assert.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "queries.h"
#include "rows.h"

const char *const trace_kind_names[] = {
	[TRACE_SAY] = "say",
	[TRACE_THINKING] = "thinking",
	[TRACE_TOOL] = "tool",
	[TRACE_RESULT] = "result",
	[TRACE_ERROR] = "error",
	[TRACE_QUESTION] = "question",
	[TRACE_ANSWER] = "answer",
	[TRACE_USAGE] = "usage",
	[TRACE_SYSTEM] = "system",
};
static_assert(
	sizeof(trace_kind_names) / sizeof(trace_kind_names[0]) == TRACE_KIND__COUNT, "a name each");

/* One array literal per column of a batch. */
struct columns {
	struct buf col[8];
};

static void columns_open(struct columns *c)
{
	for (size_t i = 0; i < 8; i++) {
		buf_init(&c->col[i], RUNLOG_BATCH_MAX);
		array_open(&c->col[i]);
	}
}

static bool columns_close(struct columns *c, struct err *err)
{
	bool failed = false;

	for (size_t i = 0; i < 8; i++) {
		array_close(&c->col[i]);
		failed = failed || c->col[i].failed;
	}
	return !failed || err_set(err, ERR_TOO_LARGE, "append: too much for one batch");
}

static void cleanup_columns(struct columns *c)
{
	for (size_t i = 0; i < 8; i++)
		buf_done(&c->col[i]);
}

bool runlog_append_trace(struct db *db, const struct fence *f, int64_t run_id, int64_t turn,
	const struct trace_row *rows, size_t n, struct err *err)
{
	CLEANUP(columns) struct columns c;
	CLEANUP(result) struct result res = {0};

	columns_open(&c);
	for (size_t i = 0; i < n; i++) {
		assert(rows[i].kind < TRACE_KIND__COUNT);
		array_add_i64(&c.col[0], rows[i].seq);
		array_add_text(&c.col[1], trace_kind_names[rows[i].kind]);
		array_add_text(&c.col[2], rows[i].ref);
		array_add_text(&c.col[3], rows[i].text);
		array_add_text(&c.col[4], rows[i].data);
	}
	if (!columns_close(&c, err))
		return false;
	if (!db_query(db, Q_RUNLOG_APPEND_TRACE,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(run_id), db_i64(turn),
			    db_text(c.col[0].data), db_text(c.col[1].data), db_text(c.col[2].data),
			    db_text(c.col[3].data), db_text(c.col[4].data)),
		    &res, err))
		return err_wrap(err, "append trace");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}

static void add_line_ms(struct buf *to, const struct log_chunk *chunk)
{
	CLEANUP(buf) struct buf one = BUF_INIT(RUNLOG_BATCH_MAX);

	array_open(&one);
	for (int64_t i = 0; chunk->line_ms && i < chunk->nlines; i++)
		array_add_i64(&one, chunk->line_ms[i]);
	array_close(&one);
	array_add_text(to, one.data);
}

bool runlog_append_chunks(struct db *db, const struct fence *f, int64_t log_id,
	const struct log_chunk *chunks, size_t n, struct err *err)
{
	CLEANUP(columns) struct columns c;
	CLEANUP(result) struct result res = {0};

	columns_open(&c);
	for (size_t i = 0; i < n; i++) {
		array_add_i64(&c.col[0], chunks[i].seq);
		array_add_i64(&c.col[1], chunks[i].stream);
		array_add_i64(&c.col[2], chunks[i].first_line);
		array_add_i64(&c.col[3], chunks[i].nlines);
		array_add_i64(&c.col[4], chunks[i].src_off);
		array_add_i64(&c.col[5], chunks[i].src_len);
		array_add_bytes(&c.col[6], chunks[i].body, chunks[i].size);
		add_line_ms(&c.col[7], &chunks[i]);
	}
	if (!columns_close(&c, err))
		return false;
	if (!db_query(db, Q_RUNLOG_APPEND_CHUNKS,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(log_id),
			    db_text(c.col[0].data), db_text(c.col[1].data), db_text(c.col[2].data),
			    db_text(c.col[3].data), db_text(c.col[4].data), db_text(c.col[5].data),
			    db_text(c.col[6].data), db_text(c.col[7].data)),
		    &res, err))
		return err_wrap(err, "append log");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}

bool runlog_trace_tail(struct db *db, int64_t run_id, int64_t *seq, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUNLOG_TRACE_TAIL, ARGS(db_i64(run_id)), &res, err))
		return err_wrap(err, "trace tail");
	*seq = result_i64(&res, 0, 0);
	return true;
}

bool runlog_tail(struct db *db, int64_t log_id, struct log_tail *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUNLOG_TAIL, ARGS(db_i64(log_id)), &res, err))
		return err_wrap(err, "log tail");
	*out = (struct log_tail){0};
	if (res.rows)
		*out = (struct log_tail){
			result_i64(&res, 0, 0),
			result_i64(&res, 0, 1),
			result_i64(&res, 0, 2),
		};
	return true;
}
