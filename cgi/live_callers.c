/*
 * Who holds a stream or a wait, and may no longer: a key, a grant or a session that was taken back
 * while it did, or whose time is over. PostgreSQL tells of each that is taken back; for those that
 * end by their date there is a timer, at the first of these dates.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "live.h"
#include "live_waits.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

/* After somebody has come, so that one look finds when all end who came with it. */
#define NEW_MS 250

/* A row of live_callers: the kind's word and the id. */
struct good {
	const char *kind;
	int64_t id;
};

struct callers {
	struct good *v; /* in order */
	size_t n;
};

static int by_caller(const void *a, const void *b)
{
	const struct good *x = a, *y = b;
	int kind = strcmp(x->kind, y->kind);

	return kind ? kind : (x->id > y->id) - (x->id < y->id);
}

bool callers_has(const struct callers *good, enum caller_kind kind, int64_t id)
{
	const struct good wanted = {caller_kind_name(kind), id};

	return !id || bsearch(&wanted, good->v, good->n, sizeof(*good->v), by_caller);
}

static void add_id(struct buf *ids, enum caller_kind wanted, enum caller_kind kind, int64_t id)
{
	if (kind == wanted)
		(void)buf_addf(ids, "%s%" PRId64, ids->len > 1 ? "," : "", id);
}

/* The ids of a kind as an array of PostgreSQL. */
static const char *ids_of(const struct live *live, struct pool *pool, enum caller_kind kind)
{
	CLEANUP(buf) struct buf ids = BUF_INIT((live->nstreams + live->nwaits) * 24 + 4);

	(void)buf_addc(&ids, '{');
	for (const struct stream *s = live->streams; s; s = s->next)
		add_id(&ids, kind, s->caller, s->caller_id);
	for (const struct wait *w = live->waits; w; w = w->next)
		add_id(&ids, kind, w->caller, w->caller_id);
	(void)buf_addc(&ids, '}');
	return pool_strdup(pool, ids.data);
}

void callers_note(struct live *live, int64_t caller_id)
{
	const int64_t at = time_boot_ms() + NEW_MS;

	if (!caller_id || (live->callers_at_ms && live->callers_at_ms <= at))
		return;
	live->callers_at_ms = at;
	watch_set_timer(live->callers, NEW_MS, 0);
}

/* The next look is when the first of them ends. */
static void timer_set(struct live *live, const struct result *res)
{
	int64_t first = -1;

	for (int i = 0; i < res->rows; i++)
		if (!result_is_null(res, i, 2) && (first < 0 || result_i64(res, i, 2) < first))
			first = result_i64(res, i, 2);
	live->callers_at_ms = first < 0 ? 0 : time_boot_ms() + first;
	watch_set_timer(live->callers, first, 0);
}

void callers_run(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;

	(void)loop;
	(void)events;
	live->callers_at_ms = 0;
	callers_check(live);
}

/* The operator's token alone cannot be taken back, and has no end. */
static bool is_any(const struct live *live)
{
	for (const struct stream *s = live->streams; s; s = s->next)
		if (s->caller_id)
			return true;
	for (const struct wait *w = live->waits; w; w = w->next)
		if (w->caller_id)
			return true;
	return false;
}

void callers_check(struct live *live)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(result) struct result res = {0};
	struct callers good;
	struct err err;

	if (!is_any(live))
		return;
	if (!db_query(live->db, Q_LIVE_CALLERS,
		    ARGS(db_text(ids_of(live, pool, CALLER_SESSION)),
			    db_text(ids_of(live, pool, CALLER_KEY)),
			    db_text(ids_of(live, pool, CALLER_OAUTH))),
		    &res, &err)) {
		log_warn("live callers: %s, retrying", err.msg);
		return;
	}
	timer_set(live, &res);
	good.n = (size_t)res.rows;
	good.v = POOL_ARRAY(pool, struct good, good.n);
	for (int i = 0; i < res.rows; i++)
		good.v[i] = (struct good){result_text(&res, i, 0), result_i64(&res, i, 1)};
	qsort(good.v, good.n, sizeof(*good.v), by_caller);
	streams_revoke(live, &good);
	waits_revoke(live, &good);
}
