/*
 * What a stream is told first: which run it is about, at which place its client is, whether that
 * place is still there, and the state everything after it adds to.
 */
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "field.h"
#include "json.h"
#include "live.h"
#include "live_request.h"
#include "queries.h"
#include "text.h"

struct stream_input {
	const char *session, *run, *after;
	bool log;
};

static const struct field watch_fields[] = {
	FIELD(TEXT, struct stream_input, session, .required = true, .max = 64,
		.pattern = FIELD_NAME, .help = "The run.", .fix = "say which run: session=run-..."),
	FIELD(TEXT, struct stream_input, after, .max = 64,
		.help = "F.S.L: resume after this position."),
	FIELD(BOOL, struct stream_input, log, .help = "Push the bytes of the log."),
};

static const struct field events_fields[] = {
	FIELD(TEXT, struct stream_input, run, .max = 64, .pattern = FIELD_NAME,
		.help = "The run in focus."),
	FIELD(TEXT, struct stream_input, after, .max = 64,
		.help = "F.S.L: resume after this position."),
	FIELD(BOOL, struct stream_input, log, .help = "Push the bytes of the log."),
};

static bool focus_find(struct live *live, struct stream *s, const char *name, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(
		    live->db, Q_LIVE_FOCUS, ARGS(db_text(name), db_i64(s->account_id)), &res, err))
		return false;
	if (!res.rows) {
		(void)err_set(err, ERR_NOT_FOUND, "no run %s", name);
		return err_advise(
			err, "session", "fleet.json (`asb status`) has the runs there are");
	}
	s->run_id = result_i64(&res, 0, 0);
	s->box_id = result_i64(&res, 0, 1);
	s->log_id = result_i64(&res, 0, 2);
	return true;
}

/* Puts *at to the newest number if rows after it have gone, or if it was never given out: then the
 * client's state is of another time. */
static bool position_check(int64_t *at, int64_t oldest, int64_t newest, const char **why)
{
	if (*at > newest)
		*why = "ahead";
	else if (*at < oldest - 1)
		*why = "old";
	else
		return true;
	*at = newest;
	return false;
}

/* Sets s->at. snapshot: the client has no feed position. gap: why it must fetch everything again.
 */
static bool position_find(struct live *live, struct stream *s, const char *after, bool *snapshot,
	const char **gap, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	*gap = NULL;
	if (*after && !sse_id_parse(after, &s->at)) {
		(void)err_set(err, ERR_INVALID, "after: not a position");
		return err_advise(err, "field", "send the id of the last event as it came");
	}
	if (!db_query(
		    live->db, Q_LIVE_BOUNDS, ARGS(db_i64(s->run_id), db_i64(s->log_id)), &res, err))
		return false;
	*snapshot = !s->at.feed;
	if (*snapshot)
		s->at.feed = result_i64(&res, 0, 1);
	else
		(void)position_check(
			&s->at.feed, result_i64(&res, 0, 0), result_i64(&res, 0, 1), gap);
	/* without a run in focus the other two numbers mean nothing: they stay as they came */
	if (s->run_id) {
		(void)position_check(
			&s->at.trace, result_i64(&res, 0, 2), result_i64(&res, 0, 3), gap);
		(void)position_check(
			&s->at.log, result_i64(&res, 0, 4), result_i64(&res, 0, 5), gap);
	}
	return true;
}

static void add_hello(const struct live *live, const struct stream *s, struct buf *b)
{
	CLEANUP(buf) struct buf json = BUF_INIT(512);
	char now[TIME_TEXT_SIZE];

	time_text(time_now_ms(), now);
	(void)buf_addf(&json,
		"{\"seq\":%" PRId64 ",\"heartbeat_s\":%g"
		",\"server_time\":\"%s\",\"ui_version\":",
		s->at.feed, (double)live->cfg->heartbeat_ms / 1000, now);
	json_add_quoted(&json, live->ui_version, strlen(live->ui_version));
	(void)buf_addc(&json, '}');
	(void)sse_event_add(b, "hello", json.data, json.len);
}

static void add_gap(const struct stream *s, const char *why, struct buf *b)
{
	CLEANUP(buf) struct buf json = BUF_INIT(256);

	(void)buf_addf(&json,
		"{\"reason\":\"%s\",\"seq\":%" PRId64 ",\"trace\":%" PRId64 ",\"log\":%" PRId64 "}",
		why, s->at.feed, s->at.trace, s->at.log);
	(void)sse_id_add(b, &s->at);
	(void)sse_event_add(b, "gap", json.data, json.len);
}

/* The state before the first patch: the fleet, or the run and its open question. */
static bool add_snapshot(struct live *live, const struct stream *s, struct buf *b, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (s->fleet) {
		if (!db_query(live->db, Q_READ_FLEET, ARGS(db_i64(s->account_id)), &res, err))
			return false;
		(void)sse_id_add(b, &s->at);
		(void)sse_event_add(b, "fleet", result_text(&res, 0, 0), result_len(&res, 0, 0));
	}
	if (!s->run_id)
		return true;
	if (!db_query(live->db, Q_LIVE_RUN_SNAPSHOT, ARGS(db_i64(s->run_id), db_i64(s->at.feed)),
		    &res, err))
		return false;
	(void)sse_id_add(b, &s->at);
	(void)sse_event_add(b, "run", result_text(&res, 0, 0), result_len(&res, 0, 0));
	if (!result_is_null(&res, 0, 1))
		(void)sse_event_add(b, "question", result_text(&res, 0, 1), result_len(&res, 0, 1));
	return true;
}

/* Everything that can fail before the descriptor is ours: fills s and the first bytes. */
bool stream_prepare(struct live *live, const struct live_request *lr, struct stream *s,
	struct buf *first, struct err *err)
{
	struct stream_input in = {.after = ""};
	const char *query = lr->rq.query;
	const char *last = lr->last_event_id, *gap, *name;
	bool snapshot = false, ok;

	s->fleet = !strcmp(lr->rq.path, "/events.sse");
	ok = s->fleet ? field_from_query(events_fields, 3, query, lr->rq.pool, &in, err)
		      : field_from_query(watch_fields, 3, query, lr->rq.pool, &in, err);
	if (!ok)
		return false;
	s->log_bytes = in.log;
	name = s->fleet ? in.run : in.session;
	if (name && *name && !focus_find(live, s, name, err))
		return false;
	if (!position_find(live, s, *last ? last : in.after ? in.after : "", &snapshot, &gap, err))
		return false;
	live_stream_head(live, lr, first);
	add_hello(live, s, first);
	if (gap)
		add_gap(s, gap, first);
	if (snapshot && !add_snapshot(live, s, first, err))
		return false;
	if (first->failed)
		return err_set(err, ERR_INTERNAL, "the snapshot is too long");
	return true;
}
