/*
 * Held requests: each answers once, with the run or exec as it is, when it has come to a boundary
 * or when the time is over. asb-web has committed the action before nginx sends the request here,
 * so an answer that is lost loses nothing but itself.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "field.h"
#include "live.h"
#include "live_request.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

/* Longest wait there is; asb-web allows less. */
#define WAIT_MAX_MS 600000
/* Ids asked for in one statement. */
#define STATES_AT_ONCE 1000

struct wait {
	struct conn conn; /* first: a conn of ours is cast to its wait */
	struct live *live;
	struct wait *next, *prev; /* in live.waits while it is not answered */
	bool is_exec;
	bool answered;
	int64_t id, account_id;
	char name[40]; /* run-... or exec-... */
	int64_t turn;  /* of a run: boundaries of earlier turns do not count */
	int64_t until_ms;
	char request_id[68];
};

struct wait_input {
	const char *run, *exec;
	int64_t wait_ms, account, turn;
};

static const struct field fields[] = {
	FIELD(TEXT, struct wait_input, run, .max = 64, .pattern = FIELD_NAME,
		.help = "Run id or name."),
	FIELD(TEXT, struct wait_input, exec, .max = 64, .pattern = FIELD_NAME,
		.help = "Exec id or name."),
	FIELD(INT, struct wait_input, wait_ms, .max = WAIT_MAX_MS, .help = "How long at the most."),
	FIELD(INT, struct wait_input, account, .max = INT64_MAX, .help = "Whose it is."),
	FIELD(INT, struct wait_input, turn, .max = INT32_MAX, .help = "The turn that was started."),
};

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
	free(w);
}

static void wait_drained(struct conn *c)
{
	(void)c;
}

static const struct conn_events wait_events = {wait_gone, wait_drained};

/* The one answer: json, or what is read where that is NULL. Afterwards the wait is only a
 * connection with something to write, or freed. */
static void wait_answer(struct wait *w, bool boundary, const char *json)
{
	struct live *live = w->live;
	CLEANUP(result) struct result res = {0};
	struct err err;
	bool sent;

	wait_unlink(w);
	if (json) {
		sent = live_answer(live, &w->conn, 200, json);
	} else if (db_query(live->db, w->is_exec ? Q_READ_EXEC : Q_READ_RUN,
			   ARGS(db_text(w->name), db_i64(w->account_id)), &res, &err) &&
		   (res.rows || err_set(&err, ERR_NOT_FOUND, "no such %s",
					w->is_exec ? "exec" : "run"))) {
		sent = live_answer(live, &w->conn, boundary ? 200 : 202, result_text(&res, 0, 0));
	} else {
		log_warn("live rq=%s wait: %s", w->request_id, err.msg);
		sent = live_answer_err(live, &w->conn, w->request_id, 0, &err);
	}
	if (!sent)
		wait_gone(&w->conn);
}

static bool is_boundary(bool is_exec, const char *state)
{
	static const char *const ends[] = {"waiting", "done", "failed", "stopped", "lost"};

	if (is_exec)
		return !strcmp(state, "done") || !strcmp(state, "failed");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(state, ends[i]))
			return true;
	return false;
}

/* Answers the waits for this thing that its state lets go. */
static void waits_release(
	struct live *live, bool is_exec, int64_t id, int64_t turn, const char *json)
{
	for (struct wait *w = live->waits, *next; w; w = next) {
		next = w->next;
		if (w->is_exec == is_exec && w->id == id && (is_exec || turn >= w->turn))
			wait_answer(w, true, json);
	}
}

/* ids: "{1,2,3"; emptied. */
static bool states_check(struct live *live, bool is_exec, struct buf *ids, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	(void)buf_addc(ids, '}');
	assert(!ids->failed);
	if (!db_query(live->db, is_exec ? Q_LIVE_EXEC_STATES : Q_LIVE_RUN_STATES,
		    ARGS(db_text(ids->data)), &res, err))
		return false;
	for (int i = 0; i < res.rows; i++)
		if (is_boundary(is_exec, result_text(&res, i, 1)))
			waits_release(live, is_exec, result_i64(&res, i, 0),
				is_exec ? 0 : result_i64(&res, i, 2),
				is_exec ? result_text(&res, i, 2) : NULL);
	buf_reset(ids);
	return true;
}

void waits_dirty(struct live *live, bool is_exec, int64_t id)
{
	CLEANUP(buf) struct buf ids = BUF_INIT(64);
	const struct wait *w = live->waits;
	struct err err;

	while (w && (w->is_exec != is_exec || w->id != id))
		w = w->next;
	if (!w)
		return;
	(void)buf_addf(&ids, "{%" PRId64, id);
	if (!states_check(live, is_exec, &ids, &err))
		log_warn("live wait: %s, retrying", err.msg);
}

static bool rescan_kind(struct live *live, bool is_exec, struct err *err)
{
	CLEANUP(buf) struct buf ids = BUF_INIT(live->nwaits * 24 + 8);

	for (const struct wait *w = live->waits; w; w = w->next)
		if (w->is_exec == is_exec)
			(void)buf_addf(&ids, "%c%" PRId64, ids.len ? ',' : '{', w->id);
	return !ids.len || states_check(live, is_exec, &ids, err);
}

void waits_rescan(struct live *live)
{
	struct err err;

	if (!rescan_kind(live, false, &err) || !rescan_kind(live, true, &err))
		log_warn("live waits: %s, retrying", err.msg);
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
			wait_answer(w, false, NULL);
	}
	timer_set(live);
}

void waits_stop(struct live *live)
{
	waits_rescan(live); /* those at a boundary get their 200 */
	while (live->waits)
		wait_answer(live->waits, false, NULL);
}

static bool target_find(
	struct live *live, const struct wait_input *in, struct wait *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	const char *target = w->is_exec ? in->exec : in->run;
	int64_t id = 0;

	(void)text_to_i64(target, 1, INT64_MAX, &id);
	if (!db_query(live->db, w->is_exec ? Q_LIVE_WAIT_EXEC : Q_LIVE_WAIT_RUN,
		    ARGS(db_i64(w->account_id), db_i64(id), db_text(target)), &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no %s %s", w->is_exec ? "exec" : "run", target);
	w->id = result_i64(&res, 0, 0);
	(void)snprintf(w->name, sizeof(w->name), "%s", result_text(&res, 0, 1));
	return true;
}

bool wait_open(struct live *live, const struct live_request *lr, int fd, struct err *err)
{
	struct wait_input in = {0};
	CLEANUP(free) struct wait *w = mem_alloc(sizeof(*w));
	struct wait *opened;

	if (!field_from_query(fields, sizeof(fields) / sizeof(fields[0]), lr->rq.query, lr->rq.pool,
		    &in, err))
		return false;
	if (!in.run == !in.exec)
		return err_set(err, ERR_INVALID, "run or exec: exactly one of them");
	/* asb-web wrote the account into the redirect; the caller is checked again here */
	if (in.account && in.account != lr->account_id)
		return err_set(err, ERR_NOT_FOUND, "no such wait");
	w->live = live;
	w->is_exec = in.exec != NULL;
	w->account_id = lr->account_id;
	w->turn = in.turn;
	w->until_ms = time_boot_ms() + in.wait_ms;
	(void)snprintf(w->request_id, sizeof(w->request_id), "%s", lr->rq.id);
	if (!target_find(live, &in, w, err))
		return false;
	opened = STEAL(w);
	conn_init(&opened->conn, live->loop, &live->nconns, fd, lr->id, &wait_events);
	opened->next = live->waits;
	if (opened->next)
		opened->next->prev = opened;
	live->waits = opened;
	live->nwaits++;
	/* it may be there already */
	waits_dirty(live, opened->is_exec, opened->id);
	timer_set(live);
	return true;
}
