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
#include "results.h"
#include "run.h"
#include "runner.h"
#include "text.h"
#include "turn.h"

#define SAVE_MS 20000 /* a teardown is not held up longer than this by saving */

extern const struct kind kind_destroy;

/* What a reason says of the box and of the turn that was active in it. */
struct ending {
	const char *reason;
	enum turn_state turn;
	enum box_state box;
	const char *detail;
	bool is_dead; /* nothing to save any more */
};

static const struct ending endings[] = {
	{"operator", TURN_STOPPED, BOX_GONE, "torn down", false},
	{"box_lost", TURN_FAILED, BOX_FAILED, "the box's process is gone", true},
	{"worker_lost", TURN_LOST, BOX_FAILED, "no worker was there for the box, which ended",
		true},
	{"host_reboot", TURN_LOST, BOX_FAILED, "the host was restarted", true},
};
static const struct ending any_other = {.turn = TURN_FAILED, .box = BOX_GONE};

struct destroy_job {
	struct runner *r;
	const char *reason; /* as the job says */
	const struct ending *ending;
	bool was_ready;
	struct results results;
	struct run_of_box run;
};

static const struct ending *ending_of(const char *reason)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (!strcmp(endings[i].reason, reason))
			return &endings[i];
	return &any_other;
}

static bool mark_body(struct runner *r, void *arg, struct err *err)
{
	const struct destroy_job *d = arg;
	const struct box_ending end = {.turn = d->ending->turn,
		.reason = turn_reason_find(d->reason, REASON_OPERATOR),
		.detail = d->ending->detail,
		.exec_reason = d->reason};

	return box_destroying(r->db, &r->job.fence, r->box.id, &end, r->cfg->destroying_ms, err);
}

static bool run_body(struct runner *r, void *arg, struct err *err)
{
	struct destroy_job *d = arg;

	return run_of_box(r->db, r->pool, r->box.id, &d->run, err);
}

static bool saved_body(struct runner *r, void *arg, struct err *err)
{
	const struct destroy_job *d = arg;

	return turn_save(r->db, &r->job.fence, d->run.turn_id, d->results.patch_id,
		       d->results.bundle_id, err) &&
	       results_replace(r, &d->results, d->run.id, d->run.turn_id, err);
}

static bool save(struct destroy_job *d, struct guest *g, int64_t deadline, struct err *err)
{
	struct runner *r = d->r;
	struct trees trees;

	if (!runner_try(r, run_body, d, err))
		return false;
	if (!d->run.id)
		return true;
	return trees_read(r, d->run.source, d->run.repos, d->run.upload_id, &trees, err) &&
	       results_save(g, &trees, d->run.id, d->run.turn_id, deadline, &d->results, err) &&
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
	return job_finish(r->db, &r->job.fence, "done", err);
}

static bool destroy_steps(struct destroy_job *d, struct err *err)
{
	struct runner *r = d->r;

	if (r->box.state == BOX_GONE || r->box.state == BOX_FAILED)
		return runner_try(r, end_body, d, err);
	/* a destroying box was ready once if it has a guest; saving again is harmless */
	d->was_ready = !d->ending->is_dead &&
		       (r->box.state == BOX_READY ||
			       (r->box.state == BOX_DESTROYING && r->box.guest_boot_id[0]));
	if (!runner_write(r, mark_body, d, err))
		return false;
	kill_point("destroy_after_mark");
	if (d->was_ready)
		save_and_bye(d);
	if (r->stale || r->term)
		return true;
	/* this job stays, to be done again, until that is proved */
	if (!provision_gone(r, d->ending->box, d->reason, NULL, err))
		return false;
	kill_point("destroy_after_kill");
	return runner_try(r, end_body, d, err);
}

static bool destroy_run(struct runner *r, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct destroy_job d = {.r = r};
	struct err ignored;

	d.reason = "operator";
	if (json_parse(r->job.payload, strlen(r->job.payload), &o, &ignored))
		(void)json_get_text(o, "reason", &d.reason);
	d.ending = ending_of(d.reason);
	return destroy_steps(&d, err) || r->stale;
}

const struct kind kind_destroy = {
	.name = "destroy",
	.lane = "admin",
	.run = destroy_run,
};
