/*
 * Committing output. The order is fixed: commit, then acknowledge, then hint; whatever dies in
 * between leaves a state from which the next runner continues byte for byte.
 */
#include "logstore.h"

#include <string.h>

#include "agents.h"
#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "guest.h"
#include "job.h"
#include "killpoint.h"
#include "pool.h"
#include "queries.h"
#include "redact.h"
#include "runner.h"
#include "text.h"

struct log_end {
	int64_t seq, line, src_end;
};

static bool end_read(struct runner *r, int64_t log_id, struct log_end *end, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	memset(end, 0, sizeof(*end));
	if (!runner_read(r, Q_WORKER_LOG_END, ARGS(db_i64(log_id)), &res, err))
		return err_wrap(err, "end of log");
	if (res.rows) {
		end->seq = result_i64(&res, 0, 0);
		end->line = result_i64(&res, 0, 1);
		end->src_end = result_i64(&res, 0, 2);
	}
	return true;
}

bool logstore_end(struct runner *r, int64_t log_id, int64_t *src_end, struct err *err)
{
	struct log_end end;

	if (!end_read(r, log_id, &end, err))
		return false;
	*src_end = end.src_end;
	return true;
}

bool logstore_open(
	struct logstore *ls, struct runner *r, int64_t log_id, int64_t base, struct err *err)
{
	struct log_end end;

	memset(ls, 0, sizeof(*ls));
	if (!end_read(r, log_id, &end, err))
		return false;
	ls->r = r;
	ls->log_id = log_id;
	logsink_init(&ls->sink, end.seq, end.line, (uint64_t)end.src_end, (uint64_t)base);
	ls->sink.keep = (uint64_t)r->cfg->log_max;
	ls->sink.full = (uint64_t)end.src_end > ls->sink.keep;
	ls->redactor = redactor_new();
	if (r->cfg->operator_token)
		redactor_add(ls->redactor, r->cfg->operator_token);
	if (r->cfg->model_key)
		redactor_add(ls->redactor, r->cfg->model_key);
	ls->sink.redactor = ls->redactor;
	return true;
}

void cleanup_logstore(struct logstore *ls)
{
	logsink_done(&ls->sink);
	redactor_free(ls->redactor);
	ls->redactor = NULL;
}

bool logstore_frame(struct logstore *ls, const struct wire_frame *f, struct err *err)
{
	uint64_t off;

	if (!wire_u64(f, &off)) {
		(void)err_set(err, ERR_UPSTREAM, "output without an offset");
		return err_advise(err, "protocol", NULL);
	}
	return logsink_feed(&ls->sink, off, f->type == WIRE_STDOUT ? 1 : 2,
		f->payload + WIRE_OFFSET, f->length - WIRE_OFFSET, time_now_ms(), err);
}

int64_t logstore_deadline(const struct logstore *ls, int64_t deadline)
{
	int64_t wait = logsink_wait_ms(&ls->sink, time_now_ms()), at = time_boot_ms() + wait;

	return wait >= 0 && at < deadline ? at : deadline;
}

/* The parallel arrays of worker_log_append, as PostgreSQL array literals. */
struct columns {
	struct buf seq, stream, at, size, first_line, nlines, src_off, src_len, line_ms;
};

static void columns_init(struct columns *c)
{
	struct buf *const all[] = {&c->seq, &c->stream, &c->at, &c->size, &c->first_line,
		&c->nlines, &c->src_off, &c->src_len, &c->line_ms};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		buf_init(all[i], 16u << 20);
		(void)buf_addc(all[i], '{');
	}
}

static void cleanup_columns(struct columns *c)
{
	struct buf *const all[] = {&c->seq, &c->stream, &c->at, &c->size, &c->first_line,
		&c->nlines, &c->src_off, &c->src_len, &c->line_ms};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		buf_done(all[i]);
}

static void columns_add(struct columns *col, const struct logsink *s, const struct chunk *c,
	int64_t now_ms, bool first, bool last)
{
	const struct {
		struct buf *b;
		int64_t v;
	} numbers[] = {
		{&col->seq, c->seq},
		{&col->stream, c->stream},
		{&col->at, (int64_t)c->body_at},
		{&col->size, (int64_t)c->body_size},
		{&col->first_line, c->first_line},
		{&col->nlines, c->nlines},
		{&col->src_off, (int64_t)c->src_off},
		{&col->src_len, (int64_t)c->size},
	};
	const char *end = last ? "}" : "";

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)buf_addf(
			numbers[i].b, "%s%lld%s", first ? "" : ",", (long long)numbers[i].v, end);
	(void)buf_adds(&col->line_ms, first ? "\"{" : ",\"{");
	for (int i = 0; i < c->nlines && !c->dropped; i++) {
		int64_t ago = now_ms - s->newlines[c->newline + (size_t)i];

		(void)buf_addf(
			&col->line_ms, "%s%lld", i ? "," : "", (long long)(ago > 0 ? ago : 0));
	}
	(void)buf_adds(&col->line_ms, last ? "}\"}" : "}\"");
}

static bool chunks_commit(struct logstore *ls, struct err *err)
{
	CLEANUP(columns) struct columns col;
	CLEANUP(result) struct result res = {0};
	const struct logsink *s = &ls->sink;
	struct runner *r = ls->r;
	int64_t now = time_now_ms();
	const char *rows;

	columns_init(&col);
	for (size_t i = 0; i < s->ready; i++)
		columns_add(&col, s, &s->chunks[i], now, i == 0, i + 1 == s->ready);
	rows = ls->trace ? trace_rows(ls->trace) : "[]";
	if (!runner_read(r, Q_WORKER_LOG_APPEND,
		    ARGS(db_i64(r->job.id), db_i64(r->job.epoch), db_i64(r->job.account_id),
			    db_i64(ls->log_id), db_i64(now),
			    db_bytes(s->bodies.data, s->bodies.len), db_text(col.seq.data),
			    db_text(col.stream.data), db_text(col.at.data), db_text(col.size.data),
			    db_text(col.first_line.data), db_text(col.nlines.data),
			    db_text(col.src_off.data), db_text(col.src_len.data),
			    db_text(col.line_ms.data), db_i64(ls->trace ? ls->trace->run_id : 0),
			    db_i64(ls->trace ? ls->trace->turn : 0), db_text(rows)),
		    &res, err))
		return err_wrap(err, "append log");
	if (result_i64(&res, 0, 0))
		return true;
	r->stale = true;
	return fence_lost(&(const struct fence){.job_id = r->job.id, .epoch = r->job.epoch}, err);
}

/* Commits and acknowledges one statement's worth; *any false: nothing was to be written. */
static bool flush_some(
	struct logstore *ls, struct guest *g, uint32_t stream, bool all, bool *any, struct err *err)
{
	*any = logsink_take(&ls->sink, time_now_ms(), all) > 0;
	if (!*any)
		return true;
	if (ls->agent && ls->trace)
		ls->agent->output(ls->trace, &ls->sink);
	kill_point("before_flush_commit");
	if (!chunks_commit(ls, err)) {
		if (ls->trace)
			trace_dropped(ls->trace);
		return false;
	}
	kill_point("after_flush_commit");
	if (ls->trace)
		trace_committed(ls->trace);
	logsink_drop(&ls->sink);
	runner_hint(ls->r, ls->log_id, ls->trace ? ls->trace->run_id : 0);
	kill_point("before_ack");
	return guest_ack(g, stream, ls->sink.safe_off, err);
}

bool logstore_flush(
	struct logstore *ls, struct guest *g, uint32_t stream, bool all, struct err *err)
{
	bool any = true;

	if (!all)
		return logsink_wait_ms(&ls->sink, time_now_ms()) != 0 ||
		       flush_some(ls, g, stream, false, &any, err);
	while (any)
		if (!flush_some(ls, g, stream, true, &any, err))
			return false;
	return true;
}
