/*
 * One loop: frames that are there are taken before anything is committed, up to what the sink may
 * hold, so that a burst becomes few large commits; otherwise the sink says when it wants to flush.
 */
#include "follow.h"

#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

#define KILL_MS 10000	/* how long EXIT may take after a kill of everything (boxd drains 2 s) */
#define TELL_MS 50	/* as long as output waits for its commit */
#define ASK_QUIET_MS 40 /* output written before the question may still be in the box's pipes */

bool follow_kill(struct follow *f, struct err *err)
{
	static const char all[] = "{\"signal\":9,\"all\":true}";

	f->killed = true;
	f->deadline = time_boot_ms() + KILL_MS;
	return guest_send(f->g, WIRE_SIGNAL, f->stream, all, sizeof(all) - 1, err);
}

static bool exit_read(struct follow *f, const struct wire_frame *frame, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	bool yes;

	if (!guest_json(frame, &o, err))
		return false;
	f->end = FOLLOW_EXIT;
	if (!json_get_i64(o, "code", &f->exit_code))
		f->exit_code = -1;
	if (!json_get_i64(o, "signal", &f->signal))
		f->signal = -1;
	if (f->exit_code > 255 || f->signal > 127 || (f->exit_code < 0 && f->signal < 0)) {
		(void)err_set(err, ERR_UPSTREAM, "an EXIT that cannot be");
		return err_advise(err, "protocol", NULL);
	}
	f->timed_out |= json_get_bool(o, "timed_out", &yes) && yes;
	f->oom = json_get_bool(o, "oom", &yes) && yes;
	f->usage = json_text(o, f->g->r->pool);
	return true;
}

static bool question_read(struct follow *f, struct json_object *o, struct err *err)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(128u * 1024);
	const char *id, *text;

	if (!json_get_text(o, "id", &id) || !json_get_text(o, "text", &text) || !text_is_name(id)) {
		(void)err_set(err, ERR_UPSTREAM, "a QUESTION without id or text");
		return err_advise(err, "protocol", NULL);
	}
	if (f->answered && !strcmp(id, f->answered))
		return true;
	text_add_sane(&sane, text, strnlen(text, 16384));
	f->question_id = pool_strdup(f->g->r->pool, id);
	f->question = pool_strdup(f->g->r->pool, sane.data);
	return true;
}

static bool refused_read(struct follow *f, const struct wire_frame *frame, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf sane = BUF_INIT(1000);
	const char *text = "the box refused to start it";

	if (!guest_json(frame, &o, err))
		return false;
	(void)json_get_text(o, "message", &text);
	text_add_sane(&sane, text, strnlen(text, 180));
	(void)snprintf(f->message, sizeof(f->message), "%s", sane.data);
	f->end = FOLLOW_REFUSED;
	return true;
}

static bool frame_take(
	struct follow *f, const struct wire_frame *frame, bool *ended, struct err *err)
{
	switch (frame->type) {
	case WIRE_STDOUT:
	case WIRE_STDERR:
		f->said_at = time_boot_ms();
		if (frame->stream != f->stream)
			return true;
		if (f->checks && frame->type == WIRE_STDOUT && frame->length > WIRE_OFFSET)
			checks_feed(f->checks, frame->payload + WIRE_OFFSET,
				frame->length - WIRE_OFFSET);
		return logstore_frame(f->log, frame, err);
	case WIRE_STARTED:
		if (frame->stream == f->stream && !f->started_ms)
			f->started_ms = time_boot_ms();
		return true;
	case WIRE_EXIT:
		*ended = frame->stream == f->stream;
		return !*ended || exit_read(f, frame, err);
	case WIRE_ERROR:
		*ended = frame->stream == f->stream;
		return !*ended || refused_read(f, frame, err);
	case WIRE_DONE: {
		CLEANUP(json) struct json_object *o = NULL;
		const char *lane;

		if (!guest_json(frame, &o, err))
			return false;
		f->frozen |= f->freeze_at && json_get_text(o, "frozen", &lane);
		return true;
	}
	case WIRE_QUESTION: {
		CLEANUP(json) struct json_object *o = NULL;

		return guest_json(frame, &o, err) && question_read(f, o, err);
	}
	default:
		return true;
	}
}

static bool control_take(struct follow *f, bool *ended, struct err *err)
{
	struct runner *r = f->g->r;

	if (r->term) {
		f->end = FOLLOW_TERM;
		*ended = true;
		return true;
	}
	if (r->cancel && !f->cancelled) {
		f->cancelled = true;
		return follow_kill(f, err);
	}
	return true;
}

static bool idle_take(struct follow *f, bool *ended, struct err *err)
{
	if (time_boot_ms() < f->deadline)
		return true;
	if (!f->killed) {
		f->timed_out = true;
		return follow_kill(f, err);
	}
	f->end = FOLLOW_TIMEOUT;
	*ended = true;
	return true;
}

static bool is_untold(const struct follow *f)
{
	return f->started_ms && !f->told;
}

static bool tell(struct follow *f, struct err *err)
{
	f->told = true;
	return f->started(f->arg, err);
}

/* One that waits for its answer: the question is out once its last words before it are here. */
static bool question_take(struct follow *f, bool *ended)
{
	if (f->question_id && !f->question_at)
		f->question_at = time_boot_ms();
	if (!f->question_at || time_boot_ms() < f->question_at + ASK_QUIET_MS)
		return true;
	f->end = FOLLOW_QUESTION;
	*ended = true;
	return true;
}

static int64_t wake_at(const struct follow *f)
{
	int64_t at = logstore_deadline(f->log, f->deadline), own = f->deadline;

	if (f->log->reader)
		own = follow_agent_until(f);
	else if (f->question_id)
		own = (f->question_at ? f->question_at : time_boot_ms()) + ASK_QUIET_MS;
	if (is_untold(f) && f->started_ms + TELL_MS < own)
		own = f->started_ms + TELL_MS;
	return own < at ? own : at;
}

/* What is due without the box having said anything. */
static bool due_take(struct follow *f, bool *ended, struct err *err)
{
	if (is_untold(f) && time_boot_ms() >= f->started_ms + TELL_MS && !tell(f, err))
		return false;
	if (!logstore_flush(f->log, f->g, f->stream, false, err))
		return false;
	return f->log->reader ? follow_agent(f, ended, err) : question_take(f, ended);
}

bool follow(struct follow *f, struct err *err)
{
	struct json_object *open = json_get(f->g->hello, "question");
	bool ended = false;

	f->exit_code = f->signal = -1;
	f->said_at = time_boot_ms();
	if (open && !question_read(f, open, err))
		return false;
	if (!control_take(f, &ended, err) || (f->kill && !f->killed && !follow_kill(f, err)))
		return false;
	while (!ended) {
		bool full = f->log->sink.bytes.len >= LOGSINK_HELD;
		enum guest_event event = GUEST_IDLE;
		struct wire_frame frame;

		if (!full && !guest_next(f->g, wake_at(f), &event, &frame, err))
			return false;
		if (event == GUEST_FRAME) {
			if (!frame_take(f, &frame, &ended, err))
				return false;
			continue;
		}
		if (event == GUEST_CONTROL && !control_take(f, &ended, err))
			return false;
		if (event == GUEST_IDLE && !idle_take(f, &ended, err))
			return false;
		if (!ended && !due_take(f, &ended, err))
			return false;
	}
	/* it goes on without us */
	if ((f->end == FOLLOW_TERM || f->end == FOLLOW_QUESTION) && is_untold(f) && !tell(f, err))
		return false;
	return logstore_flush(f->log, f->g, f->stream, true, err);
}

struct exec_end follow_exec_end(const struct follow *f)
{
	return (struct exec_end){
		.state = f->end == FOLLOW_EXIT ? EXEC_DONE : EXEC_FAILED,
		.reason = f->oom	 ? "oom"
			  : f->cancelled ? "operator"
			  : f->timed_out ? "timeout"
					 : NULL,
		.exited = f->exit_code >= 0,
		.exit_code = f->exit_code,
		.signal = f->signal > 0 ? f->signal : 0,
		.timed_out = f->timed_out,
		.oom = f->oom,
		.ran_ms = f->started_ms ? time_boot_ms() - f->started_ms + 1 : 0,
		.usage = f->usage,
	};
}
