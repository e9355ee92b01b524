/*
 * Trace rows, made safe to show and numbered.
 */
#include "trace.h"

#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "queries.h"
#include "runner.h"
#include "text.h"

#define TEXT_MAX 8192

void trace_init(struct trace *t, int64_t run_id, int64_t turn, int64_t last_seq)
{
	memset(t, 0, sizeof(*t));
	t->run_id = run_id;
	t->turn = turn;
	t->last_seq = last_seq;
	buf_init(&t->rows, 4u << 20);
}

void cleanup_trace(struct trace *t)
{
	buf_done(&t->rows);
}

static void text_sane(struct buf *out, const char *text, size_t n)
{
	size_t keep = n < TEXT_MAX ? n : TEXT_MAX;

	text_add_sane(out, text, keep);
	if (keep < n)
		(void)buf_addf(out, "\n[%zu bytes more: see the log]", n - keep);
}

void trace_add(struct trace *t, const char *kind, const char *text, size_t n, const char *data)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(4 * TEXT_MAX);

	if (!t->run_id)
		return;
	text_sane(&sane, text, n);
	(void)buf_addf(&t->rows, "%c[%lld,\"%s\",", t->pending ? ',' : '[',
		(long long)(t->last_seq + t->pending + 1), kind);
	json_add_quoted(&t->rows, sane.data, sane.len);
	(void)buf_addf(&t->rows, ",%s]", data ? data : "{}");
	t->pending++;
}

const char *trace_rows(struct trace *t)
{
	if (!t->pending)
		return "[]";
	(void)buf_addc(&t->rows, ']');
	return t->rows.data;
}

void trace_dropped(struct trace *t)
{
	buf_reset(&t->rows);
	t->pending = 0;
}

void trace_committed(struct trace *t)
{
	t->last_seq += t->pending;
	trace_dropped(t);
}

bool trace_write(struct trace *t, struct runner *r, const char *kind, const char *ref,
	const char *text, const char *data, int64_t nth, struct err *err)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(4 * TEXT_MAX);

	text_sane(&sane, text, strlen(text));
	return db_query(r->db, Q_WORKER_TRACE_ADD,
		ARGS(db_i64(r->job.account_id), db_i64(t->run_id), db_i64(t->last_seq + nth),
			db_i64(t->turn), db_text(kind), db_text(ref), db_text(sane.data),
			db_text(data ? data : "{}")),
		NULL, err);
}
