/*
 * Appending to trace and log_chunk: chunks become one array per column, the bodies one piece of
 * bytes, trace rows JSON, and all of it one statement.
 */
#include "runlog.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "json.h"
#include "pool.h"
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

/* One array literal per column of the chunks. */
enum column { SEQ, AT, SIZE, STREAM, FIRST_LINE, NLINES, SRC_OFF, SRC_LEN, LINE_MS, COLUMNS };

struct columns {
	struct buf col[COLUMNS];
};

static void cleanup_columns(struct columns *c)
{
	for (size_t i = 0; i < COLUMNS; i++)
		buf_done(&c->col[i]);
}

/* How long before now each newline came: the text of an array in the array. */
static void line_ms_add(struct buf *to, const struct log_chunk *chunk, int64_t now_ms)
{
	(void)buf_adds(to, to->len > 1 ? ",\"{" : "\"{");
	for (int64_t i = 0; chunk->newline_ms && i < chunk->nlines; i++) {
		int64_t ago = now_ms - chunk->newline_ms[i];

		(void)buf_addf(to, "%s%" PRId64, i ? "," : "", ago > 0 ? ago : 0);
	}
	(void)buf_adds(to, "}\"");
}

static bool columns_make(struct columns *c, const struct runlog_batch *b, struct err *err)
{
	bool failed = b->bodies_size > RUNLOG_BATCH_MAX;

	for (size_t i = 0; i < COLUMNS; i++) {
		buf_init(&c->col[i], RUNLOG_BATCH_MAX);
		array_open(&c->col[i]);
	}
	for (size_t i = 0; i < b->nchunks; i++) {
		const struct log_chunk *chunk = &b->chunks[i];

		array_add_i64(&c->col[SEQ], chunk->seq);
		array_add_i64(&c->col[AT], (int64_t)chunk->at);
		array_add_i64(&c->col[SIZE], (int64_t)chunk->size);
		array_add_i64(&c->col[STREAM], chunk->stream);
		array_add_i64(&c->col[FIRST_LINE], chunk->first_line);
		array_add_i64(&c->col[NLINES], chunk->nlines);
		array_add_i64(&c->col[SRC_OFF], chunk->src_off);
		array_add_i64(&c->col[SRC_LEN], chunk->src_len);
		line_ms_add(&c->col[LINE_MS], chunk, b->now_ms);
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		array_close(&c->col[i]);
		failed |= c->col[i].failed;
	}
	return !failed || err_set(err, ERR_TOO_LARGE, "append: too much for one batch");
}

void runlog_add_row(struct buf *rows, const struct trace_row *row)
{
	assert(row->kind < TRACE_KIND__COUNT);
	(void)buf_addf(rows, "%s[%" PRId64 ",\"%s\",", rows->len ? "," : "", row->seq,
		trace_kind_names[row->kind]);
	if (row->ref)
		json_add_quoted(rows, row->ref, strlen(row->ref));
	else
		(void)buf_adds(rows, "null");
	(void)buf_addc(rows, ',');
	json_add_quoted(rows, row->text, strlen(row->text));
	(void)buf_addf(rows, ",%s]", row->data ? row->data : "{}");
}

bool runlog_append(
	struct db *db, const struct fence *f, const struct runlog_batch *b, struct err *err)
{
	CLEANUP(columns) struct columns c;
	CLEANUP(result) struct result res = {0};

	if (!columns_make(&c, b, err))
		return false;
	if (!db_query(db, Q_RUNLOG_APPEND,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(b->now_ms), db_i64(b->log_id),
			    db_bytes(b->bodies, b->bodies_size), db_text(c.col[SEQ].data),
			    db_text(c.col[AT].data), db_text(c.col[SIZE].data),
			    db_text(c.col[STREAM].data), db_text(c.col[FIRST_LINE].data),
			    db_text(c.col[NLINES].data), db_text(c.col[SRC_OFF].data),
			    db_text(c.col[SRC_LEN].data), db_text(c.col[LINE_MS].data),
			    db_i64(b->run_id), db_i64(b->turn), db_text(b->trace ? b->trace : "")),
		    &res, err))
		return err_wrap(err, "append log");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
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

bool runlog_stdout(struct db *db, int64_t log_id, int64_t base, int64_t *seq, bool *more,
	runlog_take *take, void *arg, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUNLOG_STDOUT, ARGS(db_i64(log_id), db_i64(base), db_i64(*seq)), &res,
		    err))
		return err_wrap(err, "read log");
	for (int i = 0; i < res.rows; i++) {
		size_t n;
		const unsigned char *body = result_bytes(&res, pool, i, 1, &n);

		take(arg, (const char *)body, n, result_i64(&res, i, 2));
		*seq = result_i64(&res, i, 0);
	}
	*more = res.rows > 0;
	return true;
}
