/*
 * Trace rows, made safe to show and numbered.
 */
#include "trace.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "runner.h"
#include "text.h"

#define TEXT_MAX 8192
#define REF_SIZE 128

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

void trace_add(struct trace *t, enum trace_kind kind, const char *ref, const char *text, size_t n,
	const char *data)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(4 * TEXT_MAX);
	size_t before = t->rows.len;
	char short_ref[REF_SIZE];
	struct trace_row row = {
		.seq = t->last_seq + t->pending + 1, .kind = kind, .ref = ref, .data = data};

	if (!t->run_id)
		return;
	text_sane(&sane, text, n);
	row.text = sane.len ? sane.data : "";
	if (ref) {
		(void)snprintf(short_ref, sizeof(short_ref), "%s", ref);
		row.ref = short_ref;
	}
	runlog_add_row(&t->rows, &row);
	if (!t->rows.failed) {
		t->pending++;
		return;
	}
	t->rows.len = before;
	t->rows.data[before] = '\0';
	t->rows.failed = false;
}

void trace_adds(
	struct trace *t, enum trace_kind kind, const char *ref, const char *text, const char *data)
{
	trace_add(t, kind, ref, text, strlen(text), data);
}

void trace_batch(struct trace *t, struct runlog_batch *batch)
{
	batch->run_id = t->run_id;
	batch->turn = t->turn;
	batch->trace = t->rows.data;
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

bool trace_write(struct trace *t, struct runner *r, struct err *err)
{
	struct runlog_batch batch = {.now_ms = time_now_ms()};

	trace_batch(t, &batch);
	return runlog_append(r->db, &r->job.fence, &batch, err);
}
