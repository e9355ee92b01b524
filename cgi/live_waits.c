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
#include "field.h"
#include "live.h"
#include "live_request.h"
#include "log.h"
#include "look.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"
#include "sandbox.h"
#include "text.h"

/* Longest wait there is; asb-web allows less. */
#define WAIT_MAX_MS 600000

/* What is waited for, and the rows of that. */
struct wait_kind {
	const char *what; /* for errors */
	char news;	  /* first letter of what PostgreSQL tells of it */
	int find, read, states;
	bool (*boundary)(const char *state);
};

static bool run_boundary(const char *state)
{
	static const char *const ends[] = {"waiting", "done", "failed", "stopped", "lost"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(state, ends[i]))
			return true;
	return false;
}

static bool exec_boundary(const char *state)
{
	return !strcmp(state, "done") || !strcmp(state, "failed");
}

static bool box_made(const char *state)
{
	return strcmp(state, "creating") != 0;
}

static bool box_ended(const char *state)
{
	return !strcmp(state, "gone") || !strcmp(state, "failed");
}

/* box: until a sandbox is made; end: until it is gone. */
enum { KIND_RUN, KIND_EXEC, KIND_BOX, KIND_END, KIND_LOOK, KIND__COUNT };
static const struct wait_kind kinds[] = {
	[KIND_RUN] = {"run", 'r', Q_LIVE_WAIT_RUN, Q_READ_RUN, Q_LIVE_RUN_STATES, run_boundary},
	[KIND_EXEC] = {"exec", 'x', Q_LIVE_WAIT_EXEC, Q_READ_EXEC, Q_LIVE_EXEC_STATES,
		exec_boundary},
	[KIND_BOX] = {"sandbox", 'b', Q_LIVE_WAIT_BOX, Q_READ_SANDBOX, Q_LIVE_BOX_STATES, box_made},
	[KIND_END] = {"sandbox", 'b', Q_LIVE_WAIT_BOX, Q_READ_SANDBOX, Q_LIVE_BOX_STATES,
		box_ended},
	[KIND_LOOK] = {"look", 'k', Q_LIVE_WAIT_LOOK, Q_READ_LOOK, Q_LIVE_LOOK_STATES,
		exec_boundary},
};

struct wait {
	struct conn conn; /* first: a conn of ours is cast to its wait */
	struct live *live;
	struct wait *next, *prev; /* in live.waits while it is not answered */
	const struct wait_kind *kind;
	bool answered;
	int64_t id, account_id;
	char name[40]; /* run-..., exec-... or box-... */
	int64_t turn;  /* of a run: boundaries of earlier turns do not count */
	int64_t until_ms;
	char request_id[68];
};

struct wait_input {
	const char *run, *exec, *box, *end, *look;
	int64_t wait_ms, account, turn;
};

static const struct field fields[] = {
	FIELD(TEXT, struct wait_input, run, .max = 64, .pattern = FIELD_NAME,
		.help = "Run id or name."),
	FIELD(TEXT, struct wait_input, exec, .max = 64, .pattern = FIELD_NAME,
		.help = "Exec id or name."),
	FIELD(TEXT, struct wait_input, box, .max = 64, .pattern = FIELD_NAME,
		.help = "Sandbox, until it is made."),
	FIELD(TEXT, struct wait_input, end, .max = 64, .pattern = FIELD_NAME,
		.help = "Sandbox, until it is gone."),
	FIELD(TEXT, struct wait_input, look, .max = 64, .pattern = FIELD_NAME,
		.help = "Look id or name."),
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

/* The one answer: json or *why, or what is read where both are NULL. Afterwards the wait is only a
 * connection with something to write, or freed. */
static void wait_answer(struct wait *w, bool boundary, const char *json, const struct err *why)
{
	struct live *live = w->live;
	CLEANUP(result) struct result res = {0};
	struct err err;
	bool sent;

	wait_unlink(w);
	if (json) {
		sent = live_answer(live, &w->conn, 200, json);
	} else if (why) {
		sent = live_answer_err(live, &w->conn, w->request_id, 0, why);
	} else if (db_query(live->db, w->kind->read, ARGS(db_text(w->name), db_i64(w->account_id)),
			   &res, &err) &&
		   (res.rows || err_set(&err, ERR_NOT_FOUND, "no such %s", w->kind->what))) {
		sent = live_answer(live, &w->conn, boundary ? 200 : 202, result_text(&res, 0, 0));
	} else {
		log_warn("live rq=%s wait: %s", w->request_id, err.msg);
		sent = live_answer_err(live, &w->conn, w->request_id, 0, &err);
	}
	if (!sent)
		wait_gone(&w->conn);
}

/* Row i of a kind's states: id, state, then of a run its turn, of all else the answer; then why
 * there is none. */
static void wait_release(struct wait *w, const struct result *res, int i)
{
	const char *state = result_text(res, i, 1);
	struct err why;

	if (w->kind == &kinds[KIND_RUN]) {
		if (result_i64(res, i, 2) >= w->turn)
			wait_answer(w, true, NULL, NULL);
	} else if (w->kind == &kinds[KIND_BOX] && strcmp(state, "ready")) {
		(void)sandbox_error(state, result_text(res, i, 3), result_text(res, i, 4), &why);
		wait_answer(w, true, NULL, &why);
	} else if (w->kind == &kinds[KIND_LOOK] && strcmp(state, "done")) {
		(void)look_error(result_text(res, i, 3), result_text(res, i, 4),
			result_text(res, i, 5), &why);
		wait_answer(w, true, NULL, &why);
	} else if (w->kind == &kinds[KIND_EXEC] && !result_is_null(res, i, 3)) {
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

	for (size_t i = 0; i < KIND__COUNT; i++)
		if (kinds[i].news == news && !kind_check(live, &kinds[i], id, &err))
			log_warn("live wait: %s, retrying", err.msg);
}

void waits_rescan(struct live *live)
{
	struct err err;

	for (size_t i = 0; i < KIND__COUNT; i++)
		if (!kind_check(live, &kinds[i], 0, &err)) {
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

void waits_stop(struct live *live)
{
	waits_rescan(live); /* those at a boundary get their 200 */
	while (live->waits)
		wait_answer(live->waits, false, NULL, NULL);
}

/* Exactly one of the targets says what is waited for. */
static const char *target_of(
	const struct wait_input *in, const struct wait_kind **kind, struct err *err)
{
	const char *const targets[] = {
		[KIND_RUN] = in->run,
		[KIND_EXEC] = in->exec,
		[KIND_BOX] = in->box,
		[KIND_END] = in->end,
		[KIND_LOOK] = in->look,
	};
	const char *target = NULL;

	for (size_t i = 0; i < KIND__COUNT; i++) {
		if (target && targets[i]) {
			target = NULL;
			break;
		}
		if (targets[i]) {
			target = targets[i];
			*kind = &kinds[i];
		}
	}
	if (!target)
		(void)err_set(err, ERR_INVALID, "run, exec, box, end, look: exactly one of them");
	return target;
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

bool wait_open(struct live *live, const struct live_request *lr, int fd, struct err *err)
{
	struct wait_input in = {0};
	CLEANUP(free) struct wait *w = mem_alloc(sizeof(*w));
	const char *target;
	struct wait *opened;

	if (!field_from_query(fields, sizeof(fields) / sizeof(fields[0]), lr->rq.query, lr->rq.pool,
		    &in, err))
		return false;
	target = target_of(&in, &w->kind, err);
	if (!target)
		return false;
	/* asb-web wrote the account into the redirect; the caller is checked again here */
	if (in.account && in.account != lr->account_id)
		return err_set(err, ERR_NOT_FOUND, "no such wait");
	w->live = live;
	w->account_id = lr->account_id;
	w->turn = in.turn;
	w->until_ms = time_boot_ms() + in.wait_ms;
	(void)snprintf(w->request_id, sizeof(w->request_id), "%s", lr->rq.id);
	if (!target_find(live, target, w, err))
		return false;
	opened = STEAL(w);
	conn_init(&opened->conn, live->loop, &live->nconns, fd, lr->id, &wait_events);
	opened->next = live->waits;
	if (opened->next)
		opened->next->prev = opened;
	live->waits = opened;
	live->nwaits++;
	/* it may be there already */
	waits_dirty(live, opened->kind->news, opened->id);
	timer_set(live);
	return true;
}
