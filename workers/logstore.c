/*
 * Committing output. The order is fixed: commit, then acknowledge, then hint; whatever dies in
 * between leaves a state from which the next runner continues byte for byte.
 */
#include "logstore.h"

#include <string.h>

#include "agents.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "killpoint.h"
#include "pool.h"
#include "redact.h"
#include "runlog.h"
#include "runner.h"
#include "text.h"

struct tail_read {
	int64_t log_id;
	struct log_tail tail;
};

static bool tail_body(struct runner *r, void *arg, struct err *err)
{
	struct tail_read *t = arg;

	return runlog_tail(r->db, t->log_id, &t->tail, err);
}

bool logstore_open(
	struct logstore *ls, struct runner *r, int64_t log_id, int64_t base, struct err *err)
{
	struct tail_read t = {.log_id = log_id};

	memset(ls, 0, sizeof(*ls));
	if (!runner_try(r, tail_body, &t, err))
		return false;
	ls->r = r;
	ls->log_id = log_id;
	logsink_init(&ls->sink, t.tail.seq, t.tail.line, (uint64_t)t.tail.src_off, (uint64_t)base);
	ls->sink.keep = (uint64_t)r->cfg->log_max;
	ls->sink.full = (uint64_t)t.tail.src_off > ls->sink.keep;
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

static bool append_body(struct runner *r, void *arg, struct err *err)
{
	return runlog_append(r->db, &r->job.fence, arg, err);
}

static bool chunks_commit(struct logstore *ls, struct err *err)
{
	const struct logsink *s = &ls->sink;
	CLEANUP(free) struct log_chunk *chunks = mem_alloc((s->ready + 1) * sizeof(*chunks));
	struct runlog_batch batch = {
		.now_ms = time_now_ms(),
		.log_id = ls->log_id,
		.chunks = chunks,
		.nchunks = s->ready,
		.bodies = s->bodies.data,
		.bodies_size = s->bodies.len,
	};

	for (size_t i = 0; i < s->ready; i++) {
		const struct chunk *c = &s->chunks[i];

		chunks[i] = (struct log_chunk){
			.seq = c->seq,
			.stream = (enum log_stream)c->stream,
			.first_line = c->first_line,
			.nlines = c->nlines,
			.src_off = (int64_t)c->src_off,
			.src_len = (int64_t)c->size,
			.at = c->body_at,
			.size = c->body_size,
			.newline_ms = c->dropped ? NULL : s->newlines + c->newline,
		};
	}
	if (ls->trace)
		trace_batch(ls->trace, &batch);
	return runner_try(ls->r, append_body, &batch, err);
}

/* Commits and acknowledges one statement's worth; *any false: nothing was to be written. */
static bool flush_some(
	struct logstore *ls, struct guest *g, uint32_t stream, bool all, bool *any, struct err *err)
{
	*any = logsink_take(&ls->sink, time_now_ms(), all) > 0;
	if (!*any)
		return true;
	if (ls->agent && ls->trace)
		ls->agent->output(ls->reader, ls->trace, &ls->sink);
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
