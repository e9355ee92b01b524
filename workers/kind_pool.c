/*
 * The job kind `pool`: makes a box for nobody, to the point where it could be handed out, and stops
 * it there. It has proved itself once, so that what fails fails here and not at a claim, and has
 * run what its owner is likely to begin with, so that the guest has translated it before.
 */
#include <string.h>

#include "box_pool.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "killpoint.h"
#include "kinds.h"
#include "language.h"
#include "log.h"
#include "pool.h"
#include "provision.h"
#include "runner.h"
#include "spawn.h"
#include "text.h"

#define WARM_MS 30000

extern const struct kind kind_pool;

static bool run_once(struct guest *g, const char *const *argv, int64_t deadline, struct err *err)
{
	struct guest_exec x = {.argv = argv, .cwd = "/", .user = "agent", .timeout_ms = WARM_MS};

	return guest_exec_ok(g, &x, "the first process", deadline, err);
}

/* As the agent: a shell, and what the languages of the image begin with. */
static bool warm(struct guest *g, int64_t deadline, struct err *err)
{
	static const char *const shell[] = {"/bin/bash", "-c", "/bin/true; :", NULL};

	if (!run_once(g, shell, deadline, err))
		return false;
	for (const struct language *l = languages; l->name; l++)
		if (l->warm && language_is_in(l, g->r->box.image) &&
			!run_once(g, l->warm, deadline, err))
			return false;
	return true;
}

static bool pooled_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return box_pooled(r->db, &r->job.fence, r->box.id, err) &&
	       job_finish(r->db, &r->job.fence, "done", err);
}

static bool pool_steps(struct runner *r, struct guest *g, struct err *err)
{
	int64_t deadline = time_boot_ms() + r->cfg->starting_ms;
	struct spawn_reply s = {0};
	struct box_proof proof;

	if (!provision_start(r, g, "admin", &s, deadline, err) ||
		!provision_check(r, g, &s, deadline, &proof, err) || !warm(g, deadline, err) ||
		!guest_pause(g, deadline, err))
		return false;
	kill_point("pool_after_pause");
	return runner_write(r, pooled_body, NULL, err);
}

static bool failed_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return job_finish(r->db, &r->job.fence, "failed", err);
}

static bool pool_run(struct runner *r, struct err *err)
{
	struct guest g = GUEST_INIT(r);
	struct err e = {0};
	bool ok = r->box.state == BOX_CREATING && pool_steps(r, &g, &e);

	guest_detach(&g);
	if (ok || r->stale || r->term || r->box.state != BOX_CREATING)
		return true;
	log_warn("box=%s not for the pool: %s", r->box.name, log_quote(e.msg));
	return (provision_end(r, BOX_FAILED, e.reason[0] ? e.reason : "provision", NULL, err) &&
		       runner_try(r, failed_body, NULL, err)) ||
	       r->stale;
}

const struct kind kind_pool = {
	.name = "pool",
	.lane = "admin",
	.run = pool_run,
};
