/*
 * Held requests: each answers once, with the run, exec or sandbox as it is, when it has come to a
 * boundary or when the time is over. asb-web has committed the action before nginx sends the
 * request here, so an answer that is lost loses nothing but itself.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "live.h"
#include "live_request.h"
#include "live_waits.h"
#include "log.h"
#include "look.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"
#include "sandbox.h"
#include "text.h"

static void wait_unlink(struct wait *w)
{
	if (w->answered)
		return;
	w->answered = true;
	if (w->prev)
		w->prev->next = w->next;
	else
		w->live->waits = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->live->nwaits--;
}

static void wait_gone(struct conn *c)
{
	struct wait *w = (struct wait *)c;

	wait_unlink(w);
	conn_done(c);
	mcp_wait_free(w->mcp);
	free(w);
}

static void wait_drained(struct conn *c)
{
	(void)c;
}

static const struct conn_events wait_events = {wait_gone, wait_drained};

static bool wait_read(struct wait *w, struct result *res, struct err *err)
{
	if (!db_query(w->live->db, w->reads ? w->kind->seen : w->kind->read,
		    ARGS(db_text(w->name), db_i64(w->account_id)), res, err))
		return false;
	return res->rows || err_set(err, ERR_NOT_FOUND, "no such %s", w->kind->what);
}

/* The one answer: json or *why, or what is read where both are NULL. Afterwards the wait is only a
 * connection with something to write, or freed. */
static void wait_answer(struct wait *w, bool boundary, const char *json, const struct err *why)
{
	CLEANUP(result) struct result res = {0};
	const int status = boundary ? 200 : 202;
	struct err err;
	bool sent;

	wait_unlink(w);
	if (!json && !why) {
		if (wait_read(w, &res, &err)) {
			json = result_text(&res, 0, 0);
		} else {
			log_warn("live rq=%s wait: %s", w->request_id, err.msg);
			wait_err_unread(w->kind, w->name, &err);
			why = &err;
		}
	}
	if (w->mcp)
		sent = mcp_wait_answer(w, status, json, why);
	else if (json)
		sent = live_answer(w->live, &w->conn, status, json);
	else
		sent = live_answer_err(w->live, &w->conn, w->request_id, 0, why);
	if (!sent)
		wait_gone(&w->conn);
}

/* Row i of a kind's states: id, state, then of a run its turn, of all else the answer; then why
 * there is none. */
static void wait_release(struct wait *w, const struct result *res, int i)
{
	const char *state = result_text(res, i, 1);
	struct err why;

	if (w->kind == &wait_kinds[WAIT_RUN]) {
		if (result_i64(res, i, 2) >= w->turn)
			wait_answer(w, true, NULL, NULL);
	} else if (w->reads) {
		wait_answer(w, true, NULL, NULL);
	} else if (w->kind == &wait_kinds[WAIT_BOX] && strcmp(state, "ready")) {
		(void)sandbox_error(state, result_text(res, i, 3), result_text(res, i, 4), &why);
		wait_answer(w, true, NULL, &why);
	} else if (w->kind == &wait_kinds[WAIT_LOOK] && strcmp(state, "done")) {
		(void)look_error(result_text(res, i, 3), result_text(res, i, 4),
			result_text(res, i, 5), &why);
		wait_answer(w, true, NULL, &why);
	} else if (w->kind == &wait_kinds[WAIT_EXEC] && !result_is_null(res, i, 3)) {
		(void)sandbox_run_error(result_text(res, i, 3), &why);
		wait_answer(w, true, NULL, &why);
	} else {
		wait_answer(w, true, result_text(res, i, 2), NULL);
	}
}

/* ids: "{1,2,3"; emptied. Answers the waits of this kind that the state of theirs lets go. */
static bool states_check(
	struct live *live, const struct wait_kind *kind, struct buf *ids, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	(void)buf_addc(ids, '}');
	assert(!ids->failed);
	if (!db_query(live->db, kind->states, ARGS(db_text(ids->data)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++) {
		if (!kind->boundary(result_text(&res, i, 1)))
			continue;
		for (struct wait *w = live->waits, *next; w; w = next) {
			next = w->next;
			if (w->kind == kind && w->id == result_i64(&res, i, 0))
				wait_release(w, &res, i);
		}
	}
	buf_reset(ids);
	return true;
}

/* id 0: of all. */
static bool kind_check(struct live *live, const struct wait_kind *kind, int64_t id, struct err *err)
{
	CLEANUP(buf) struct buf ids = BUF_INIT(live->nwaits * 24 + 8);
	size_t n = 0;

	for (const struct wait *w = live->waits; w; w = w->next)
		if (w->kind == kind && (!id || w->id == id) && (!id || !n++))
			(void)buf_addf(&ids, "%c%" PRId64, ids.len ? ',' : '{', w->id);
	return !ids.len || states_check(live, kind, &ids, err);
}

void waits_dirty(struct live *live, char news, int64_t id)
{
	struct err err;

	for (size_t i = 0; i < WAIT_KIND__COUNT; i++)
		if (wait_kinds[i].news == news && !kind_check(live, &wait_kinds[i], id, &err))
			log_warn("live wait: %s, retrying", err.msg);
}

void waits_rescan(struct live *live)
{
	struct err err;

	for (size_t i = 0; i < WAIT_KIND__COUNT; i++)
		if (!kind_check(live, &wait_kinds[i], 0, &err)) {
			log_warn("live waits: %s, retrying", err.msg);
			return;
		}
}

/* Puts the timer to the end of the wait that ends first. */
static void timer_set(struct live *live)
{
	const int64_t now = time_boot_ms();
	int64_t first = -1;

	for (const struct wait *w = live->waits; w; w = w->next)
		if (first < 0 || w->until_ms - now < first)
			first = w->until_ms > now ? w->until_ms - now : 0;
	watch_set_timer(live->wait_timer, first, 0);
}

void waits_expire(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;
	const int64_t now = time_boot_ms();

	(void)loop;
	(void)events;
	for (struct wait *w = live->waits, *next; w; w = next) {
		next = w->next;
		if (w->until_ms <= now)
			wait_answer(w, false, NULL, NULL);
	}
	timer_set(live);
}

/* What it waits for is none of its business any more, not even that it goes on. */
void waits_revoke(struct live *live, const struct callers *good)
{
	struct err why;

	(void)err_set(&why, ERR_UNAUTHENTICATED,
		"access was taken back, or has expired, while this call was waiting");
	(void)err_advise(&why, "revoked",
		"What was begun goes on. Connect again, or use another key, to ask for it.");
	for (struct wait *w = live->waits, *next; w; w = next) {
		next = w->next;
		if (!callers_has(good, w->caller, w->caller_id))
			wait_answer(w, true, NULL, &why);
	}
}

void waits_stop(struct live *live)
{
	waits_rescan(live); /* those at a boundary get their 200 */
	while (live->waits)
		wait_answer(live->waits, false, NULL, NULL);
}

static bool target_find(struct live *live, const char *target, struct wait *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int64_t id = 0;

	(void)text_to_i64(target, 1, INT64_MAX, &id);
	if (!db_query(live->db, w->kind->find,
		    ARGS(db_i64(w->account_id), db_i64(id), db_text(target)), &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no %s %s", w->kind->what, target);
	w->id = result_i64(&res, 0, 0);
	(void)snprintf(w->name, sizeof(w->name), "%s", result_text(&res, 0, 1));
	return true;
}

/* Everything that can fail before the descriptor is taken over. */
static bool wait_prepare(
	struct live *live, const struct live_request *lr, struct wait *w, struct err *err)
{
	struct wait_ask ask;

	if (!wait_ask_parse(lr->rq.pool, lr->rq.query, &ask, err))
		return false;
	/* asb-web wrote the account into the redirect; the caller is checked again here */
	if (ask.account && ask.account != lr->caller.account_id)
		return err_set(err, ERR_NOT_FOUND, "no such wait");
	w->live = live;
	w->kind = ask.kind;
	w->account_id = lr->caller.account_id;
	w->caller = lr->caller.kind;
	w->caller_id = lr->caller.id;
	w->turn = ask.turn;
	w->reads = ask.reads;
	w->until_ms = time_boot_ms() + ask.wait_ms;
	(void)snprintf(w->request_id, sizeof(w->request_id), "%s", lr->rq.id);
	return target_find(live, ask.name, w, err) &&
	       (!ask.mcp || mcp_wait_new(ask.mcp, &w->mcp, err));
}

bool wait_open(struct live *live, const struct live_request *lr, int fd, struct err *err)
{
	CLEANUP(free) struct wait *w = mem_alloc(sizeof(*w));
	struct wait *opened;

	if (!wait_prepare(live, lr, w, err))
		return false;
	opened = STEAL(w);
	conn_init(&opened->conn, live->loop, &live->nconns, fd, lr->id, &wait_events);
	opened->next = live->waits;
	if (opened->next)
		opened->next->prev = opened;
	live->waits = opened;
	live->nwaits++;
	callers_note(live, opened->caller_id);
	if (opened->mcp && !mcp_wait_begin(opened, lr)) {
		wait_gone(&opened->conn);
		return true;
	}
	/* it may be there already */
	waits_dirty(live, opened->kind->news, opened->id);
	timer_set(live);
	return true;
}
