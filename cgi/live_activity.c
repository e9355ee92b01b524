/*
 * What a list shows of runs that go on: their last line, their usage, how long their logs are. It
 * is no row of the feed, for it changes with every line; whoever follows the fleet is told it once
 * a second at the most, and only of runs that wrote something. A run may not write again for long:
 * what could not be read, or not be sent to everybody, is told a second later.
 */
#include <inttypes.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "live.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"

#define ACTIVITY_MS 1000

void activity_note(struct live *live, int64_t run_id)
{
	for (size_t i = 0; i < live->nactive; i++)
		if (live->active[i] == run_id)
			return;
	if (live->nactive == live->active_max) {
		live->active_max = live->active_max ? live->active_max * 2 : 64;
		live->active = mem_realloc(live->active, live->active_max * sizeof(*live->active));
	}
	if (!live->nactive)
		watch_set_timer(live->activity, ACTIVITY_MS, 0);
	live->active[live->nactive++] = run_id;
}

/* False: a stream that has much to take yet was left out. */
static bool tell(struct live *live, int64_t account_id, const char *json, size_t n)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64 * 1024);
	bool all = true;

	(void)sse_event_add(&text, "activity", json, n);
	for (struct stream *s = live->streams; s; s = s->next) {
		if (!s->fleet || s->account_id != account_id || s->dead)
			continue;
		if (s->conn.blocked)
			all = false;
		else
			(void)stream_send(s, &text);
	}
	return all;
}

static bool has_fleet(const struct live *live)
{
	const struct stream *s = live->streams;

	while (s && !s->fleet)
		s = s->next;
	return s != NULL;
}

/* False: not everybody was told. */
static bool tell_all(struct live *live, struct err *err)
{
	CLEANUP(buf) struct buf ids = BUF_INIT(live->nactive * 24 + 8);
	CLEANUP(result) struct result res = {0};
	bool all = true;

	for (size_t i = 0; i < live->nactive; i++)
		(void)buf_addf(&ids, "%c%" PRId64, i ? ',' : '{', live->active[i]);
	(void)buf_addc(&ids, '}');
	if (!db_query(live->db, Q_LIVE_ACTIVITY, ARGS(db_text(ids.data)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++)
		all &= tell(live, result_i64(&res, i, 0), result_text(&res, i, 1),
			result_len(&res, i, 1));
	streams_reap(live);
	return all || err_set(err, ERR_BUSY, "a stream is full");
}

void activity_run(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	struct err err;

	(void)loop;
	(void)events;
	if (!has_fleet(live) || tell_all(live, &err)) {
		live->nactive = 0;
		watch_set_timer(live->activity, -1, 0);
		return;
	}
	if (err.code == ERR_BUSY)
		log_debug("live activity: %s, retrying", err.msg);
	else
		log_warn("live activity: %s, retrying", err.msg);
	watch_set_timer(live->activity, ACTIVITY_MS, 0);
}
