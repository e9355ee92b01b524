/*
 * The sweeps there are, and the timers that run them.
 */
#include "sweeps.h"

#include <stddef.h>

#include "blob.h"
#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "job.h"
#include "log.h"
#include "look.h"
#include "loop.h"
#include "queries.h"
#include "worker.h"

#define BLOB_OLD_MS (24 * 3600 * INT64_C(1000)) /* an upload that no run took within a day */

static bool reap(struct worker *w, struct err *err)
{
	int64_t n = 0;

	if (!job_reap(w->db, &n, err))
		return false;
	if (n) {
		log_warn("leases=%lld ran out, queued again", (long long)n);
		worker_claim(w);
	}
	return true;
}

/* Asks for the end of each box that the statement names. */
static bool destroy_each(
	struct worker *w, const struct result *res, const char *reason, struct err *err)
{
	for (int i = 0; i < res->rows; i++) {
		int64_t box = result_i64(res, i, 0);
		bool added;

		if (!job_add_destroy(w->db, box, reason, NULL, &added, err))
			return false;
		log_info("box_id=%lld reason=%s to be destroyed", (long long)box, reason);
	}
	return true;
}

static bool stuck(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	return db_query(w->db, Q_WORKER_SWEEP_STUCK, ARGS(db_text(w->host)), &res, err) &&
	       destroy_each(w, &res, "provision", err);
}

static bool expired(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	return db_query(w->db, Q_WORKER_SWEEP_EXPIRED, ARGS(db_text(w->host)), &res, err) &&
	       destroy_each(w, &res, "max_duration", err);
}

static bool idle(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	return db_query(w->db, Q_WORKER_SWEEP_IDLE, ARGS(db_text(w->host)), &res, err) &&
	       destroy_each(w, &res, "idle", err);
}

static bool unanswered(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	return db_query(w->db, Q_WORKER_SWEEP_UNANSWERED,
		       ARGS(db_text(w->host), db_i64(w->cfg->asked_ms)), &res, err) &&
	       destroy_each(w, &res, "timeout", err);
}

static bool overdue(struct worker *w, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	return db_query(w->db, Q_WORKER_SWEEP_OVERDUE, ARGS(db_text(w->host)), &res, err) &&
	       destroy_each(w, &res, "timeout", err);
}

static bool host_seen(struct worker *w, struct err *err)
{
	return db_query(w->db, Q_WORKER_HOST_SEEN, ARGS(db_text(w->host)), NULL, err);
}

static bool partitions(struct worker *w, struct err *err)
{
	return db_query(w->db, Q_WORKER_SWEEP_PARTITIONS, NO_ARGS, NULL, err);
}

static bool looks(struct worker *w, struct err *err)
{
	return look_sweep(w->db, LOOK_KEPT_MS, err);
}

static bool old_rows(struct worker *w, struct err *err)
{
	int64_t dropped;

	return db_query(w->db, Q_WORKER_SWEEP_IDEMPOTENCY, NO_ARGS, NULL, err) &&
	       db_query(w->db, Q_WORKER_SWEEP_THROTTLE, NO_ARGS, NULL, err) &&
	       db_query(w->db, Q_WORKER_SWEEP_SESSIONS, NO_ARGS, NULL, err) &&
	       db_query(w->db, Q_WORKER_SWEEP_ACCESS, NO_ARGS, NULL, err) &&
	       blob_sweep(w->db, BLOB_OLD_MS, &dropped, err);
}

/* One batch of each: what is too much for one turn goes in the next. */
static bool retention(struct worker *w, struct err *err)
{
	const struct {
		int statement;
		int64_t days;
	} rows[] = {
		{Q_WORKER_SWEEP_AUDIT, w->cfg->audit_days},
		{Q_WORKER_SWEEP_EGRESS, w->cfg->egress_days},
		{Q_WORKER_SWEEP_MODEL_CALLS, w->cfg->model_calls_days},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].days &&
			!db_query(w->db, rows[i].statement, ARGS(db_i64(rows[i].days)), NULL, err))
			return false;
	return true;
}

const struct sweep sweeps[] = {
	{"reap", 0, reap},
	{"lost_boxes", 1000, sweep_lost_boxes},
	{"orphans", 5000, sweep_orphans},
	{"pings", 10000, sweep_pings},
	{"stuck", 5000, stuck},
	{"expired", 5000, expired},
	{"idle", 5000, idle},
	{"pool", 1000, sweep_pool},
	{"unanswered", 30000, unanswered},
	{"overdue", 10000, overdue},
	{"host_seen", 10000, host_seen},
	{"partitions", 60000, partitions},
	{"looks", 60000, looks},
	{"old_rows", 600000, old_rows},
	{"retention", 60000, retention},
	{NULL, 0, NULL},
};

#define SWEEPS (sizeof(sweeps) / sizeof(sweeps[0]) - 1)

struct sweep_timer {
	struct worker *w;
	const struct sweep *sweep;
};

static void on_timer(struct loop *loop, uint32_t events, void *arg)
{
	const struct sweep_timer *t = arg;
	struct err err;

	(void)loop;
	(void)events;
	if (t->w->stopping || !worker_db_up(t->w))
		return;
	if (!t->sweep->run(t->w, &err))
		worker_db_failed(t->w, t->sweep->name, &err);
}

void sweeps_start(struct worker *w)
{
	static struct sweep_timer timers[SWEEPS];

	for (size_t i = 0; i < SWEEPS; i++) {
		int64_t period = sweeps[i].period_ms ? sweeps[i].period_ms : w->cfg->reap_ms;

		timers[i] = (struct sweep_timer){w, &sweeps[i]};
		/* not all at once at the start */
		(void)loop_add_timer(w->loop, 50 + 20 * (int64_t)i, period, on_timer, &timers[i]);
	}
}

void sweeps_end(struct worker *w)
{
	boxes_forget(w);
}
