/*
 * The turn: reads what is new and hands it out. In each turn a source is read for at most two
 * places: the newest that anybody waits for, so that those who follow live are never held up by one
 * who catches up; and that of the stream which has waited longest, so that all who catch up get
 * their share. A page is shared by every stream that stands inside it. Descriptors, timers and
 * notifications are served between turns.
 *
 * A feed row must not overtake what the run logged before it: whoever sees `run` with state done
 * may leave. So the feed is read first, then the trace and log of the runs it names, and only then
 * are its rows handed out, to each stream as far as it has everything that was there before.
 */
#include "live.h"

#include "cleanup.h"
#include "db.h"
#include "live_pages.h"
#include "log.h"
#include "loop.h"
#include "pool.h"

/* Sources a turn reads, so that it ends soon: some 64 reads of a fraction of a millisecond. */
#define TURN_SOURCES 32
/* After a failed read. */
#define RETRY_MS 250
/* A slice is what fits below CONN_PENDING_MAX, or one event. */
#define SLICE_MAX (16 * 1024 * 1024)
/* `id: ` and three numbers */
#define ID_MAX 80

static int64_t *cursor(struct stream *s, enum source_kind kind)
{
	return kind == SOURCE_FEED ? &s->at.feed : kind == SOURCE_TRACE ? &s->at.trace : &s->at.log;
}

/* Behind and able to take something. */
static bool is_ready(const struct sub *sub)
{
	return sub->behind && !sub->stream->dead && !sub->stream->conn.blocked;
}

static bool concerns(const struct stream *s, const struct item *it)
{
	if (it->account_id != s->account_id)
		return false;
	return s->fleet || (it->run_id ? it->run_id == s->run_id : it->box_id == s->box_id);
}

/* Whether s has yet to get what came before the feed row. */
static bool is_held(const struct stream *s, const struct item *it)
{
	return s->run_id && (it->run_id == s->run_id || (!it->run_id && it->box_id == s->box_id)) &&
	       (s->subs[SOURCE_TRACE].behind || s->subs[SOURCE_LOG].behind);
}

/* Adds one event with the position after it. False: it does not fit behind what is there. */
static bool add_item(struct stream *s, const struct page *p, const struct item *it, struct buf *out)
{
	if (out->len + it->size + ID_MAX > conn_room(&s->conn) && (out->len || s->conn.out.len))
		return false;
	*cursor(s, p->kind) = it->seq;
	return sse_id_add(out, &s->at) && buf_add(out, p->text.data + it->at, it->size);
}

/* The part of the page that s has not had, as far as it can take it. */
static void deliver(struct sub *sub, const struct page *p, struct buf *out)
{
	struct stream *s = sub->stream;
	int64_t *at = cursor(s, p->kind);
	size_t i = 0;
	bool full = false, held = false;

	buf_reset(out);
	while (i < p->n && p->items[i].seq <= *at)
		i++;
	if (p->kind == SOURCE_LOG && !s->log_bytes && i < p->n) {
		*at = page_last(p);
		(void)(sse_id_add(out, &s->at) && page_add_notice(p, i, out));
		i = p->n;
	}
	for (; i < p->n && !full; i++) {
		const struct item *it = &p->items[i];

		if (p->kind == SOURCE_FEED && !concerns(s, it)) {
			*at = it->seq;
			continue;
		}
		held = p->kind == SOURCE_FEED && is_held(s, it);
		full = held || !add_item(s, p, it, out);
	}
	sub->behind = full || !p->complete;
	sub->served = s->live->turns;
	if (out->len && !stream_send(s, out))
		return;
	if (full && !held)
		conn_block(&s->conn);
}

/* Where to read next: the furthest place, or that of whoever was served longest ago. */
static struct sub *pick(const struct source *src, bool furthest, int64_t turn)
{
	struct sub *best = NULL;

	for (struct sub *sub = src->subs; sub; sub = sub->next) {
		if (!is_ready(sub) || (!furthest && sub->served == turn))
			continue;
		if (!best || (furthest ? *cursor(sub->stream, src->kind) >
						     *cursor(best->stream, src->kind)
				       : sub->served < best->served))
			best = sub;
	}
	return best;
}

static void hand_out(struct source *src, const struct page *p)
{
	CLEANUP(buf) struct buf out = BUF_INIT(SLICE_MAX);

	for (struct sub *sub = src->subs; sub; sub = sub->next) {
		const int64_t at = *cursor(sub->stream, src->kind);

		if (is_ready(sub) && at >= p->after && (at < page_last(p) || p->complete))
			deliver(sub, p, &out);
	}
	if (page_last(p) > src->head)
		src->head = page_last(p);
}

static bool read_for(struct live *live, struct pool *pool, const struct source *src,
	const struct sub *sub, struct page *p, struct err *err)
{
	bool bodies = false;

	if (src->kind == SOURCE_LOG)
		for (const struct sub *s = src->subs; s && !bodies; s = s->next)
			bodies = is_ready(s) && s->stream->log_bytes;
	return page_read(live->db, pool, src, *cursor(sub->stream, src->kind), bodies, p, err);
}

/* One source, two places. False: the database did not answer. */
static bool source_pump(struct live *live, struct source *src, struct err *err)
{
	for (int i = 0; i < 2; i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		CLEANUP(page) struct page p = {0};
		const struct sub *sub = pick(src, i == 0, live->turns);

		if (!sub)
			break;
		if (!read_for(live, pool, src, sub, &p, err))
			return false;
		hand_out(src, &p);
	}
	return true;
}

static void requeue_if_ready(struct live *live, struct source *src)
{
	for (const struct sub *sub = src->subs; sub; sub = sub->next)
		if (is_ready(sub)) {
			source_queue(live, src);
			return;
		}
	source_sweep(live, src);
}

/* Takes up to TURN_SOURCES out of the queue and reads them. */
static bool pump_some(struct live *live, struct err *err)
{
	struct source *src;
	bool ok = true;

	for (int n = 0; ok && n < TURN_SOURCES && (src = source_unqueue(live)); n++) {
		ok = source_pump(live, src, err);
		requeue_if_ready(live, src);
	}
	return ok;
}

/* Reads the feed's pages, and marks trace and log of the runs they name. n: how many were read. */
static bool feed_read(struct live *live, struct pool *pool, const struct source *feed,
	struct page pages[2], int *n, struct err *err)
{
	for (*n = 0; *n < 2; ++*n) {
		const struct sub *sub = pick(feed, *n == 0, live->turns);
		struct page *p = &pages[*n];

		if (!sub || (*n == 1 && sub->stream->at.feed >= pages[0].after))
			break;
		if (!read_for(live, pool, feed, sub, p, err))
			return false;
		for (size_t i = 0; i < p->n; i++)
			if (p->items[i].run_id)
				source_run_dirty(live, p->items[i].run_id);
	}
	return true;
}

/* In the order the paragraph at the top says. */
static bool turn(struct live *live, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct source *feed = live->feed_queued;
	struct page pages[2] = {0};
	int n = 0;
	bool ok = true;

	live->feed_queued = NULL;
	if (feed) {
		feed->queued = false;
		ok = feed_read(live, pool, feed, pages, &n, err);
	}
	ok = ok && pump_some(live, err);
	for (int i = 0; i < n; i++) {
		if (ok)
			hand_out(feed, &pages[i]);
		page_done(&pages[i]);
	}
	if (feed)
		requeue_if_ready(live, feed);
	return ok;
}

void turn_run(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	struct err err;
	bool ok;

	(void)loop;
	(void)events;
	live->turns++;
	ok = turn(live, &err);
	if (!ok)
		log_warn("live read: %s, retrying", err.msg);
	streams_reap(live);
	live->turn_pending = live->queue || live->feed_queued;
	if (live->turn_pending)
		watch_set_timer(live->turn, ok ? 0 : RETRY_MS, 0);
}
