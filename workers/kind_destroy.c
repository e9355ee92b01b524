/*
 * The job kind `destroy`: ends a box from whatever state it is in. It marks first, so that nobody
 * starts anything new in the box, then saves the work if the box still answers, then kills, and
 * only then says gone. Each step may be repeated.
 */
#include <string.h>

#include "checkout.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "json.h"
#include "killpoint.h"
#include "kinds.h"
#include "pool.h"
#include "provision.h"
#include "queries.h"
#include "results.h"
#include "runner.h"
#include "text.h"

#define SAVE_MS 20000 /* a teardown is not held up longer than this by saving */

extern const struct kind kind_destroy;

/* What a reason says of the box and of the turn that was active in it. */
struct ending {
	const char *reason, *turn, *box, *detail;
	bool is_dead; /* nothing to save any more */
};

static const struct ending endings[] = {
	{"operator", "stopped", "gone", "torn down", false},
	{"box_lost", "failed", "failed", "the box's process is gone", true},
	{"worker_lost", "lost", "failed", "no worker was there for the box, which ended", true},
	{NULL, "failed", "gone", NULL, false},
};

struct destroy_job {
	struct runner *r;
	const char *reason; /* operator, max_duration, timeout, ... */
	const struct ending *ending;
	bool was_ready;
	struct results results;
	int64_t run_id, turn_id;
};

static const struct ending *ending_of(const char *reason)
{
	const struct ending *e = endings;

	while (e->reason && strcmp(e->reason, reason))
		e++;
	return e;
}

static bool mark_body(struct runner *r, void *arg, struct err *err)
{
	const struct destroy_job *d = arg;
	struct db_arg box = db_i64(r->box.id), reason = db_text(d->reason);
	struct db_arg state = db_text(d->ending->turn), detail = db_text(d->ending->detail);

	return db_query(r->db, Q_WORKER_BOX_TURNS_END,
		       ARGS(box, state, reason, detail, db_text(NULL)), NULL, err) &&
	       db_query(r->db, Q_WORKER_BOX_WAITING_END, ARGS(box, state, reason, detail), NULL,
		       err) &&
	       db_query(r->db, Q_WORKER_BOX_EXECS_END, ARGS(box, reason), NULL, err) &&
	       db_query(r->db, Q_WORKER_BOX_JOBS_DROP, ARGS(box, db_i64(r->job.id), state), NULL,
		       err) &&
	       db_query(r->db, Q_WORKER_BOX_DESTROYING, ARGS(box, db_i64(r->cfg->destroying_ms)),
		       NULL, err);
}

static bool saved_body(struct runner *r, void *arg, struct err *err)
{
	const struct destroy_job *d = arg;

	return db_query(r->db, Q_WORKER_TURN_SAVED,
		       ARGS(db_i64(d->turn_id),
			       d->results.patch_id ? db_i64(d->results.patch_id) : db_text(NULL),
			       d->results.bundle_id ? db_i64(d->results.bundle_id) : db_text(NULL)),
		       NULL, err) &&
	       results_replace(r, &d->results, d->run_id, d->turn_id, err);
}

/* They belong to the run's last drive-lane turn, whatever its state. */
static bool save(struct destroy_job *d, struct guest *g, int64_t deadline, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct runner *r = d->r;
	struct trees trees;

	if (!runner_read(r, Q_WORKER_DESTROY_RUN, ARGS(db_i64(r->box.id)), &res, err))
		return false;
	if (!res.rows)
		return true;
	d->run_id = runner_col(&res, 0);
	d->turn_id = runner_col(&res, 4);
	return trees_read(r, runner_text(r, &res, 1), runner_text(r, &res, 2), runner_col(&res, 3),
		       &trees, err) &&
	       results_save(g, &trees, d->run_id, d->turn_id, deadline, &d->results, err) &&
	       runner_write(r, saved_body, d, err);
}

/* Saves and says goodbye. What goes wrong here does not keep the box alive. */
static void save_and_bye(struct destroy_job *d)
{
	struct guest g = GUEST_INIT(d->r);
	int64_t deadline = time_boot_ms() + SAVE_MS;
	struct err e;

	if (guest_attach(&g, "admin", 0, deadline, &e)) {
		(void)!save(d, &g, deadline, &e);
		kill_point("destroy_after_save");
		(void)!guest_send(&g, WIRE_BYE, 0, "{}", 2, &e);
	}
	guest_detach(&g);
}

static bool end_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return runner_job_finish(r, "done", err);
}

static bool destroy_steps(struct destroy_job *d, struct err *err)
{
	struct runner *r = d->r;

	if (!strcmp(r->box.state, "gone") || !strcmp(r->box.state, "failed"))
		return runner_write(r, end_body, d, err);
	/* a destroying box was ready once if it has a guest; saving again is harmless */
	d->was_ready = !d->ending->is_dead &&
		       (!strcmp(r->box.state, "ready") ||
			       (!strcmp(r->box.state, "destroying") && r->box.guest_boot_id));
	if (!runner_write(r, mark_body, d, err))
		return false;
	kill_point("destroy_after_mark");
	if (d->was_ready)
		save_and_bye(d);
	if (r->stale || r->term)
		return true;
	if (!provision_end(r, d->ending->box, d->reason, err))
		return false;
	kill_point("destroy_after_kill");
	return runner_write(r, end_body, d, err);
}

static bool destroy_run(struct runner *r, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct destroy_job d = {.r = r, .reason = "operator"};
	struct err ignored;

	if (r->job.payload && json_parse(r->job.payload, strlen(r->job.payload), &o, &ignored))
		(void)json_get_text(o, "reason", &d.reason);
	d.ending = ending_of(d.reason);
	/* made before the box was placed: hand it to the host that has the box */
	if (r->box.host && strcmp(r->box.host, r->host))
		return runner_read(r, Q_WORKER_JOB_TO_HOST,
			ARGS(db_i64(r->job.id), db_i64(r->job.epoch), db_text(r->box.host)), NULL,
			err);
	return destroy_steps(&d, err) || r->stale;
}

const struct kind kind_destroy = {
	.name = "destroy",
	.lane = "admin",
	.run = destroy_run,
};
