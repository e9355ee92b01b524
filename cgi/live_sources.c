/*
 * Who listens to what, and which of it has news. Reading and sending is live_turn.c's.
 */
#include "live.h"

#include <assert.h>
#include <stdlib.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"

/* Sources asked for in one statement by the rescan. */
#define HEADS_AT_ONCE 1000

static struct source **source_bucket(struct live *live, enum source_kind kind, int64_t id)
{
	return &live->sources[((uint64_t)id * SOURCE_KIND__COUNT + kind) % SOURCE_BUCKETS];
}

static struct source *source_find(struct live *live, enum source_kind kind, int64_t id)
{
	struct source *src = *source_bucket(live, kind, id);

	while (src && (src->kind != kind || src->id != id))
		src = src->next;
	return src;
}

void source_queue(struct live *live, struct source *src)
{
	if (src->queued)
		return;
	src->queued = true;
	if (src->kind == SOURCE_FEED) {
		live->feed_queued = src;
	} else {
		src->next_queue = NULL;
		*live->queue_end = src;
		live->queue_end = &src->next_queue;
	}
	if (!live->turn_pending)
		watch_set_timer(live->turn, 0, 0);
	live->turn_pending = true;
}

struct source *source_unqueue(struct live *live)
{
	struct source *src = live->queue;

	if (!src)
		return NULL;
	live->queue = src->next_queue;
	if (!live->queue)
		live->queue_end = &live->queue;
	src->queued = false;
	return src;
}

void source_join(struct live *live, struct stream *s, enum source_kind kind, int64_t id)
{
	struct source *src = source_find(live, kind, id);
	struct sub *sub = &s->subs[kind];

	if (!src) {
		struct source **bucket = source_bucket(live, kind, id);

		src = mem_alloc(sizeof(*src));
		src->kind = kind;
		src->id = id;
		src->next = *bucket;
		*bucket = src;
	}
	sub->source = src;
	sub->stream = s;
	sub->next = src->subs;
	if (sub->next)
		sub->next->prev = sub;
	src->subs = sub;
	sub->behind = true;
	source_queue(live, src);
}

/* Nobody listens any more. One that is queued is freed by the turn that takes it out. */
static void source_free(struct live *live, struct source *src)
{
	struct source **at = source_bucket(live, src->kind, src->id);

	while (*at != src)
		at = &(*at)->next;
	*at = src->next;
	free(src);
}

void source_sweep(struct live *live, struct source *src)
{
	if (!src->subs && !src->queued)
		source_free(live, src);
}

void source_leave(struct live *live, struct sub *sub)
{
	struct source *src = sub->source;

	if (!src)
		return;
	if (sub->prev)
		sub->prev->next = sub->next;
	else
		src->subs = sub->next;
	if (sub->next)
		sub->next->prev = sub->prev;
	sub->source = NULL;
	source_sweep(live, src);
}

static void source_mark(struct live *live, struct source *src)
{
	for (struct sub *sub = src->subs; sub; sub = sub->next)
		sub->behind = true;
	source_queue(live, src);
}

void source_dirty(struct live *live, enum source_kind kind, int64_t id)
{
	struct source *src = source_find(live, kind, id);

	if (src)
		source_mark(live, src);
}

void source_run_dirty(struct live *live, int64_t run_id)
{
	struct source *src = source_find(live, SOURCE_TRACE, run_id);

	if (!src)
		return;
	source_mark(live, src);
	/* all who follow the run's trace follow its log, and it has one */
	if (src->subs)
		source_mark(live, src->subs->stream->subs[SOURCE_LOG].source);
}

void source_resume(struct live *live, struct stream *s)
{
	for (int kind = 0; kind < SOURCE_KIND__COUNT; kind++)
		if (s->subs[kind].source && s->subs[kind].behind)
			source_queue(live, s->subs[kind].source);
}

/* Asks for the newest numbers of the sources in ids ("{1,2,3") and marks what is past them. */
static bool heads_check(struct live *live, enum source_kind kind, struct buf *ids, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	const int q = kind == SOURCE_TRACE ? Q_LIVE_TRACE_HEADS : Q_LIVE_LOG_HEADS;

	(void)buf_addc(ids, '}');
	assert(!ids->failed);
	if (!db_query(live->db, q, ARGS(db_text(ids->data)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++) {
		struct source *src = source_find(live, kind, result_i64(&res, i, 0));

		if (src && result_i64(&res, i, 1) > src->head)
			source_mark(live, src);
	}
	buf_reset(ids);
	return true;
}

static bool rescan_kind(struct live *live, enum source_kind kind, struct err *err)
{
	CLEANUP(buf) struct buf ids = BUF_INIT(HEADS_AT_ONCE * 24);
	int n = 0;

	for (size_t i = 0; i < SOURCE_BUCKETS; i++) {
		for (const struct source *src = live->sources[i]; src; src = src->next) {
			if (src->kind != kind)
				continue;
			(void)buf_addf(&ids, "%c%lld", n++ % HEADS_AT_ONCE ? ',' : '{',
				(long long)src->id);
			if (n % HEADS_AT_ONCE == 0 && !heads_check(live, kind, &ids, err))
				return false;
		}
	}
	return !ids.len || heads_check(live, kind, &ids, err);
}

static bool rescan_feed(struct live *live, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct source *src = source_find(live, SOURCE_FEED, 0);

	if (!src)
		return true;
	if (!db_query(live->db, Q_LIVE_FEED_HEAD, NO_ARGS, &res, err))
		return false;
	if (result_i64(&res, 0, 0) > src->head)
		source_mark(live, src);
	return true;
}

void sources_rescan(struct live *live)
{
	struct err err;

	if (!rescan_feed(live, &err) || !rescan_kind(live, SOURCE_TRACE, &err) ||
		!rescan_kind(live, SOURCE_LOG, &err))
		log_warn("live rescan: %s, retrying", err.msg);
}
