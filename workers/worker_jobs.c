/*
 * Leases: claiming, renewing all in one statement, our own end of each lease on CLOCK_BOOTTIME
 * counted from before the renewal was sent, and killing runners whose lease is lost.
 */
#include "worker.h"

#include <stdio.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "kinds.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "text.h"

#define CLAIM_POLL_MS 1000 /* for jobs whose run_at comes, and notifications that were lost */

/* Ours ends before the database's does: 12 s of 15. */
static int64_t own_lease_ms(const struct worker *w)
{
	return w->cfg->lease_ms * 4 / 5;
}

void worker_claim(struct worker *w)
{
	const char *const *names;
	size_t n = kind_names(&names);

	runners_fill(w);
	/* a renewal that is late means trouble: no new work into it */
	while (!w->stopping && worker_db_up(w) &&
		time_boot_ms() - w->renewed_ms < w->cfg->renew_ms * 3 / 2) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct runner_proc *p = runner_spare(w);
		int64_t sent = time_boot_ms();
		struct job *job = NULL;
		struct err err;

		if (!p)
			return;
		if (!job_claim(w->db, pool, w->host, w->owner, names, n, w->cfg->lease_ms, &job,
			    &err)) {
			worker_db_failed(w, "claim", &err);
			return;
		}
		worker_db_worked(w);
		if (!job)
			return;
		runner_give(p, job, sent + own_lease_ms(w));
		runners_fill(w);
	}
}

static void on_claim_timer(struct loop *loop, uint32_t events, void *arg)
{
	(void)loop;
	(void)events;
	worker_claim(arg);
}

void worker_cancels(struct worker *w)
{
	CLEANUP(result) struct result res = {0};
	struct err err;

	if (!worker_db_up(w))
		return;
	if (!db_query(w->db, Q_JOB_CANCELLED, ARGS(db_text(w->owner)), &res, &err)) {
		worker_db_failed(w, "cancels", &err);
		return;
	}
	for (int i = 0; i < res.rows; i++)
		for (struct runner_proc *p = w->runners; p; p = p->next)
			if (p->fence.job_id == result_i64(&res, i, 0) &&
				p->fence.epoch == result_i64(&res, i, 1) && !p->cancel_sent) {
				p->cancel_sent = true;
				runner_tell(p, "{\"cancel\":true}");
			}
}

static const struct lease *lease_find(const struct lease *kept, size_t n, const struct fence *f)
{
	for (size_t i = 0; i < n; i++)
		if (kept[i].fence.job_id == f->job_id && kept[i].fence.epoch == f->epoch)
			return &kept[i];
	return NULL;
}

/* Runners past our own end of their lease: whatever the database says, they stop now. */
static void overdue_kill(struct worker *w)
{
	int64_t now = time_boot_ms();

	for (struct runner_proc *p = w->runners; p; p = p->next)
		if (p->fence.job_id && now > p->good_until_ms && !p->killed) {
			log_warn("job=%lld lease not renewed in time, stopping its runner",
				(long long)p->fence.job_id);
			runner_kill(p);
		}
}

static void renew(struct worker *w)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct lease *held = POOL_ARRAY(pool, struct lease, w->count + 1), *kept = NULL;
	size_t n = 0, nkept = 0;
	int64_t sent = time_boot_ms();
	struct err err;

	for (struct runner_proc *p = w->runners; p; p = p->next)
		if (p->fence.job_id && !p->killed)
			held[n++] = (struct lease){.fence = p->fence};
	if (!job_renew(w->db, pool, w->owner, held, n, w->cfg->lease_ms, &kept, &nkept, &err)) {
		worker_db_failed(w, "renew", &err);
		return;
	}
	worker_db_worked(w);
	w->renewed_ms = sent;
	for (struct runner_proc *p = w->runners; p; p = p->next) {
		const struct lease *l = lease_find(kept, nkept, &p->fence);

		if (!p->fence.job_id || p->killed)
			continue;
		if (l) {
			p->good_until_ms = sent + own_lease_ms(w);
			if (l->cancelled && !p->cancel_sent) {
				p->cancel_sent = true;
				runner_tell(p, "{\"cancel\":true}");
			}
		} else if (time_boot_ms() - p->started_ms > 2000) {
			/* the job ended this instant and its runner is about to exit, or it is lost
			 */
			runner_kill(p);
		}
	}
}

static void on_renew_timer(struct loop *loop, uint32_t events, void *arg)
{
	struct worker *w = arg;

	(void)loop;
	(void)events;
	overdue_kill(w);
	if (worker_db_up(w))
		renew(w);
	/* a database that is away is asked again sooner than the next renewal would be */
	watch_set_timer(w->renew_timer, worker_db_up(w) ? w->cfg->renew_ms : 200, 0);
}

void worker_jobs_start(struct worker *w)
{
	w->renewed_ms = time_boot_ms();
	w->claim_timer = loop_add_timer(w->loop, 0, CLAIM_POLL_MS, on_claim_timer, w);
	w->renew_timer = loop_add_timer(w->loop, w->cfg->renew_ms, 0, on_renew_timer, w);
}
