/*
 * One frame from the host: which streams it may speak of, and who obeys it. A frame that breaks
 * the protocol ends the connection; a request that cannot be met is an ERROR of its stream.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "exec_ahead.h"
#include "lanes.h"
#include "look.h"
#include "pool.h"
#include "worker.h"

#define PING_MAX 64

typedef bool request_fn(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);

static bool clock_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	int64_t time_ms;

	(void)stream;
	if (!boxjson_i64(in, "time_ms", 1, INT64_C(1) << 48, 0, &time_ms, err))
		return false;
	if (!time_ms)
		return err_set(err, ERR_INVALID, "time_ms is missing");
	return clock_set(b, time_ms, err);
}

static bool metrics_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	(void)in;
	(void)err;
	metrics_send(b, stream);
	return true;
}

static bool probe_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	(void)in;
	return probe_start(b, stream, err);
}

static bool answer_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	(void)stream;
	return question_answer(b, in, err);
}

static bool signal_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	struct exec *e = exec_find(b, stream);
	int64_t signo;
	bool all;

	if (!e)
		return err_set(err, ERR_NOT_FOUND, "no exec on stream %u", stream);
	if (!boxjson_i64(in, "signal", 1, 64, 0, &signo, err) ||
		!boxjson_bool(in, "all", false, &all, err))
		return false;
	if (!signo)
		return err_set(err, ERR_INVALID, "signal is missing");
	return exec_signal(e, (int)signo, all, err);
}

static bool attach_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	(void)stream;
	return hello_attach(b, in, err);
}

static bool welcome_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	(void)stream;
	return hello_welcome(b, in, err);
}

/* Frames with a JSON payload. `fresh`: on a stream of its own, in the host's range. */
static const struct {
	request_fn *fn;
	bool before_ready;
	bool fresh;
} requests[WIRE_TYPE__COUNT] = {
	[WIRE_ATTACH] = {attach_request, .before_ready = true},
	[WIRE_WELCOME] = {welcome_request, .before_ready = true},
	[WIRE_EXEC] = {exec_start, .fresh = true},
	[WIRE_SIGNAL] = {signal_request, .fresh = true},
	[WIRE_TAR_IN] = {files_tar_in, .fresh = true},
	[WIRE_TAR_OUT] = {files_tar_out, .fresh = true},
	[WIRE_STAT] = {files_stat, .fresh = true},
	[WIRE_LIST] = {look_list, .fresh = true},
	[WIRE_READ] = {look_read, .fresh = true},
	[WIRE_SEARCH] = {look_search, .fresh = true},
	[WIRE_DIFF] = {look_diff, .fresh = true},
	[WIRE_ANSWER] = {answer_request},
	[WIRE_FREEZE] = {lane_freeze_request},
	[WIRE_THAW] = {lane_thaw_request},
	[WIRE_CLOCK] = {clock_request},
	[WIRE_METRICS] = {metrics_request},
	[WIRE_PROBE] = {probe_request},
};

static bool request(struct boxd *b, const struct wire_frame *f, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct err refusal = {0};
	const struct boxjson *in;

	if (!boxjson_parse(pool, f->payload, f->length, &in, err)) {
		(void)err_advise(err, "protocol", NULL);
		return err_wrap(err, "%s", wire_type_name(f->type));
	}
	if (requests[f->type].fresh && (f->stream == 0 || f->stream >= WIRE_STREAM_EGRESS)) {
		(void)err_set(
			err, ERR_UPSTREAM, "%s on stream %u", wire_type_name(f->type), f->stream);
		return err_advise(err, "protocol", NULL);
	}
	if (!requests[f->type].before_ready && !b->ready) {
		(void)err_set(&refusal, ERR_CONFLICT, "%s before READY", wire_type_name(f->type));
		(void)err_advise(&refusal, "not_ready", NULL);
	} else if (requests[f->type].fn(b, f->stream, in, &refusal)) {
		return true;
	}
	/* an ERROR on stream 0 ends the connection: right for a failed opening only */
	if (requests[f->type].before_ready) {
		*err = refusal;
		return false;
	}
	channel_error(b, f->stream, &refusal, NULL);
	return true;
}

/* Its end is safe at the host. */
static void exec_over(struct boxd *b, struct exec *e)
{
	bool ahead = e->ahead;

	exec_forget(e);
	if (ahead)
		ahead_begin(b);
}

/* Bytes, credit and ends of execs and workers; unknown streams are those that have just ended. */
static bool stream_frame(struct boxd *b, const struct wire_frame *f, struct err *err)
{
	struct worker *w = worker_find(b, f->stream);
	struct exec *e = exec_find(b, f->stream);
	struct look *l = look_find(b, f->stream);
	uint64_t value;
	bool ok = true;

	if (f->stream >= WIRE_STREAM_EGRESS)
		ok = egress_frame(b, f, err);
	else if (w && (f->type == WIRE_DATA || f->type == WIRE_EOF || f->type == WIRE_CREDIT))
		ok = worker_frame(w, f, err);
	else if (l && f->type == WIRE_CREDIT)
		ok = look_frame(l, f, err);
	else if (e && f->type == WIRE_STDIN)
		ok = exec_stdin(e, f->payload, f->length, err);
	else if (e && f->type == WIRE_EOF)
		exec_stdin_eof(e);
	else if (e && f->type == WIRE_CREDIT)
		ok = wire_u64(f, &value) ? exec_credit(e, value, err)
					 : err_set(err, ERR_INVALID, "credit without a number");
	else if (e && f->type == WIRE_ACK_EXIT && e->exit_sent)
		exec_over(b, e);
	return ok ? true : err_advise(err, "protocol", NULL);
}

static bool ping(struct boxd *b, const struct wire_frame *f, struct err *err)
{
	if (f->length > PING_MAX) {
		(void)err_set(err, ERR_UPSTREAM, "PING of %u bytes", f->length);
		return err_advise(err, "protocol", NULL);
	}
	channel_send_raw(b, WIRE_PONG, f->stream, f->payload, f->length);
	return true;
}

bool dispatch(struct boxd *b, const struct wire_frame *f, struct err *err)
{
	if (requests[f->type].fn)
		return request(b, f, err);
	switch (f->type) {
	case WIRE_STDIN:
	case WIRE_EOF:
	case WIRE_CREDIT:
	case WIRE_ACK_EXIT:
	case WIRE_DATA:
	case WIRE_ACCEPT:
	case WIRE_REFUSE:
		/* before READY these are a last host's: what it says of streams is void */
		return b->ready ? stream_frame(b, f, err) : true;
	case WIRE_PING:
		return ping(b, f, err);
	case WIRE_PONG:
		return true;
	case WIRE_BYE:
		boxd_end(b, 0);
	default:
		(void)err_set(
			err, ERR_UPSTREAM, "the host may not send %s", wire_type_name(f->type));
		return err_advise(err, "protocol", NULL);
	}
}
