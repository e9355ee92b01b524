/*
 * What a list shows of runs that go on: their last line, their usage, how long their logs are. It
 * is no row of the feed, for it changes with every line; whoever follows the fleet is told it once
 * a second at the most, and only of runs that wrote something.
 */
#include <inttypes.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "live.h"
#include "log.h"
#include "loop.h"
#include "queries.h"

#define ACTIVITY_MS 1000

void activity_note(struct live *live, int64_t run_id)
{
	for (size_t i = 0; i < live->nactive; i++)
		if (live->active[i] == run_id)
			return;
	/* of more than these the rest is told when they write again */
	if (live->nactive == ACTIVITY_RUNS)
		return;
	if (!live->nactive)
		watch_set_timer(live->activity, ACTIVITY_MS, 0);
	live->active[live->nactive++] = run_id;
}

static void tell(struct live *live, int64_t account_id, const char *json, size_t n)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64 * 1024);

	(void)sse_event_add(&text, "activity", json, n);
	for (struct stream *s = live->streams; s; s = s->next)
		if (s->fleet && s->account_id == account_id && !s->conn.blocked)
			(void)stream_send(s, &text);
}

static bool has_fleet(const struct live *live)
{
	const struct stream *s = live->streams;

	while (s && !s->fleet)
		s = s->next;
	return s != NULL;
}

void activity_run(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	CLEANUP(buf) struct buf ids = BUF_INIT(ACTIVITY_RUNS * 24);
	CLEANUP(result) struct result res = {0};
	struct err err;

	(void)loop;
	(void)events;
	for (size_t i = 0; i < live->nactive; i++)
		(void)buf_addf(&ids, "%c%" PRId64, i ? ',' : '{', live->active[i]);
	(void)buf_addc(&ids, '}');
	live->nactive = 0;
	if (!has_fleet(live))
		return;
	if (!db_query(live->db, Q_LIVE_ACTIVITY, ARGS(db_text(ids.data)), &res, &err)) {
		log_warn("live activity: %s", err.msg);
		return;
	}
	for (int i = 0; i < res.rows; i++)
		tell(live, result_i64(&res, i, 0), result_text(&res, i, 1), result_len(&res, i, 1));
	streams_reap(live);
}
