/*
 * The job kind `create`: makes a sandbox. Its box, its tree, its packages through the one window
 * there is, and then the proof that it is sealed: nobody is handed a box in which that was not
 * seen. What goes wrong ends the box, and its row says why.
 */
#include <string.h>

#include "checkout.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "install.h"
#include "kinds.h"
#include "log.h"
#include "pool.h"
#include "provision.h"
#include "runner.h"
#include "sandbox.h"
#include "spawn.h"
#include "text.h"

extern const struct kind kind_create;

static bool end_body(struct runner *r, void *arg, struct err *err)
{
	return job_finish(r->db, &r->job.fence, arg, err);
}

/* Where a teardown has moved the box, its own job is waiting for the end of this one. */
static bool create_finish(struct runner *r, const char *outcome, struct err *err)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%s", outcome);
	return runner_try(r, end_body, text, err) || r->stale;
}

static bool tree_place(struct runner *r, struct guest *g, int64_t deadline, struct err *err)
{
	struct trees trees;

	return !r->box.upload_id ||
	       (trees_read(r, "upload", "[]", r->box.upload_id, &trees, err) &&
		       trees_place(g, &trees, deadline, err) &&
		       tree_keep(g, r->box.upload_id, SANDBOX_TREE, deadline, err));
}

static bool create_box(struct runner *r, struct guest *g, int64_t deadline, struct err *err)
{
	struct spawn_reply s = {0};

	return provision_start(r, g, "admin", &s, deadline, err) &&
	       tree_place(r, g, deadline, err) && install_packages(r, g, deadline, err) &&
	       provision_prove(r, g, &s, deadline, err);
}

/* The words of *e, which may be the box's, for the row. */
static const char *detail_of(struct runner *r, const struct err *e)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1024);

	text_add_sane(&b, e->msg, strlen(e->msg));
	return pool_strdup(r->pool, b.data);
}

static bool create_fail(struct runner *r, const struct err *e, struct err *err)
{
	if (r->cancel)
		return create_finish(r, "cancelled", err);
	if (e->code == ERR_INTERNAL) {
		*err = *e;
		return false;
	}
	log_warn("box=%s %s", r->box.name, log_quote(e->msg));
	return (provision_end(r, BOX_FAILED, e->reason[0] ? e->reason : "provision",
			detail_of(r, e), err) &&
		       create_finish(r, "failed", err)) ||
	       r->stale;
}

static bool create_run(struct runner *r, struct err *err)
{
	struct guest g = GUEST_INIT(r);
	struct err e = {0};
	bool ok;

	/* made by a runner that died, or to be destroyed before it was made */
	if (r->box.state != BOX_CREATING)
		return create_finish(r, r->box.state == BOX_READY ? "done" : "cancelled", err);
	ok = create_box(r, &g,
		time_boot_ms() + sandbox_creating_ms(r->cfg->starting_ms, r->box.packages,
					 r->box.packages_from),
		&e);
	guest_detach(&g);
	if (ok)
		return create_finish(r, "done", err);
	if (r->term || !strcmp(e.reason, "stale_epoch") || is_fence_lost(&e))
		return true;
	if (r->stale) {
		r->stale = false;
		return create_finish(r, "cancelled", err);
	}
	return create_fail(r, &e, err);
}

const struct kind kind_create = {
	.name = "create",
	.lane = "admin",
	.run = create_run,
};
