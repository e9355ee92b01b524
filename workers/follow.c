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
#define ASK_QUIET_MS 40 /* output written before the question may still be in the box's pipes */

static bool exec_kill(struct follow *f, struct err *err)
{
	static const char all[] = "{\"signal\":9,\"all\":true}";

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
		return frame->stream != f->stream || logstore_frame(f->log, frame, err);
	case WIRE_STARTED:
		return frame->stream != f->stream || !f->started || f->started(f->arg, err);
	case WIRE_EXIT:
		*ended = frame->stream == f->stream;
		return !*ended || exit_read(f, frame, err);
	case WIRE_ERROR:
		*ended = frame->stream == f->stream;
		return !*ended || refused_read(f, frame, err);
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
		return exec_kill(f, err);
	}
	return true;
}

static bool idle_take(struct follow *f, bool *ended, struct err *err)
{
	if (time_boot_ms() < f->deadline)
		return true;
	if (!f->timed_out && !f->cancelled) {
		f->timed_out = true;
		return exec_kill(f, err);
	}
	f->end = FOLLOW_TIMEOUT;
	*ended = true;
	return true;
}

bool follow(struct follow *f, struct err *err)
{
	struct json_object *open = json_get(f->g->hello, "question");
	int64_t ask_at = 0;
	bool ended = false;

	f->exit_code = f->signal = -1;
	if (open && !question_read(f, open, err))
		return false;
	if (!control_take(f, &ended, err))
		return false;
	while (!ended) {
		bool full = f->log->sink.bytes.len >= LOGSINK_HELD;
		int64_t until = logstore_deadline(f->log, f->deadline);
		enum guest_event event = GUEST_IDLE;
		struct wire_frame frame;

		if (f->question_id && !ask_at)
			ask_at = time_boot_ms() + ASK_QUIET_MS;
		if (ask_at && ask_at < until)
			until = ask_at;
		if (!full && !guest_next(f->g, until, &event, &frame, err))
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
		if (!ended && ask_at && time_boot_ms() >= ask_at) {
			f->end = FOLLOW_QUESTION;
			ended = true;
		}
		if (!ended && !logstore_flush(f->log, f->g, f->stream, false, err))
			return false;
	}
	return logstore_flush(f->log, f->g, f->stream, true, err);
}
