/*
 * Boxes: slot, spawn, attach, read-back, probe, ready. A half-made box (a runner died before ready)
 * is killed and made again on the same row, so that there is never a second process of it.
 */
#include "provision.h"

#include <string.h>
#include <unistd.h>

#include "box_pool.h"
#include "cleanup.h"
#include "config.h"
#include "guest.h"
#include "json.h"
#include "killpoint.h"
#include "log.h"
#include "pool.h"
#include "runner.h"
#include "size_class.h"
#include "spawn.h"
#include "text.h"

#define SPAWN_TRY_MS 10000 /* spawn restarts within seconds; past that it is down */
#define SLOT_LOOK_MS 100   /* how often a slot whose last box is just being ended is tried */
#define CLAIM_MS 10000	   /* a paused box goes on in milliseconds, or not at all */

static bool reason_default(struct err *err, const char *reason)
{
	if (!err->reason[0] || !strcmp(err->reason, "not_ready"))
		(void)err_advise(err, reason, NULL);
	return false;
}

/* --- the slot --- */

static bool slot_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return box_assign_slot(r->db, &r->job.fence, r->box.id, r->host, r->boot_id,
		r->cfg->box_slots, &r->box.slot, err);
}

static bool give_way_body(struct runner *r, void *arg, struct err *err)
{
	bool dropped;

	(void)arg;
	return box_pool_drop(r->db, r->host, 0, "idle", r->cfg->destroying_ms, &dropped, err);
}

static bool slot_take(struct runner *r, int64_t deadline, struct err *err)
{
	while (!runner_try(r, slot_body, NULL, err)) {
		if (strcmp(err->reason, "no_slot"))
			return false;
		/* the pool gives way; not to itself */
		if (strcmp(r->job.kind, "pool") && !runner_try(r, give_way_body, NULL, err))
			return false;
		if (time_boot_ms() > deadline) {
			(void)err_set(err, ERR_BUSY, "no slot for a box became free in time");
			return err_advise(err, "provision", "tear down runs that are not needed");
		}
		if (!runner_sleep(r, 500))
			return err_set(err, ERR_BUSY, "the worker stops");
	}
	return true;
}

/* --- the processes --- */

static bool box_kill(struct runner *r, struct err *err)
{
	int64_t until = time_boot_ms() + SPAWN_TRY_MS;

	if (r->box.slot < 0)
		return true;
	while (!spawn_kill(r->cfg, r->pool, r->box.name, r->box.slot, err)) {
		if (time_boot_ms() > until || !runner_sleep(r, 200))
			return err_wrap(err, "kill box");
	}
	return true;
}

static bool started_body(struct runner *r, void *arg, struct err *err)
{
	const struct spawn_reply *s = arg;
	const struct box_process process = {
		.pid = s->pid,
		.pid_start = s->pid_start,
		.isolation = s->isolation,
		.template_key = s->template_key,
		.readback = s->readback,
	};

	return box_started(r->db, &r->job.fence, r->box.id, &process, err);
}

static bool fence_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return job_fence(r->db, &r->job.fence, err);
}

static bool spawn_try(struct runner *r, struct spawn_reply *s, struct err *err)
{
	/* the last look before there is a process: a teardown may have come meanwhile */
	return runner_try(r, fence_body, NULL, err) &&
	       spawn_box(r->cfg, r->pool, r->box.name, r->box.slot, r->box.runtime, r->box.image,
		       r->box.size_class, s, err);
}

static bool box_spawn(struct runner *r, struct spawn_reply *s, int64_t deadline, struct err *err)
{
	int64_t until = time_boot_ms() + SPAWN_TRY_MS;
	struct err ignored;

	while (!spawn_try(r, s, err)) {
		/* a spawn that came too late for its own teardown: whoever sent it kills it, and
		 * until that is proved the slot is not ours though its row says so */
		if (!strcmp(err->reason, "slot_taken") && time_boot_ms() < deadline) {
			if (!runner_sleep(r, SLOT_LOOK_MS))
				return err_set(err, ERR_BUSY, "the worker stops");
			continue;
		}
		if (strcmp(err->reason, "spawn_down") || time_boot_ms() > until) {
			(void)err_wrap(err, "start box");
			return r->stale ? false : reason_default(err, "provision");
		}
		/* it may have died after it had started something: proved gone before the next try
		 */
		if (!box_kill(r, err))
			return reason_default(err, "provision");
	}
	kill_point("after_spawn");
	if (runner_try(r, started_body, s, err))
		return true;
	if (r->stale)
		(void)!spawn_kill(r->cfg, r->pool, r->box.name, r->box.slot, &ignored);
	return false;
}

/* --- from a process to a box that may be used --- */

static bool ready_body(struct runner *r, void *arg, struct err *err)
{
	return box_ready(r->db, &r->job.fence, r->box.id, arg, err);
}

static const char *sane(struct runner *r, const char *s)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1024);

	text_add_sane(&b, s, strnlen(s, 200));
	return pool_strdup(r->pool, b.data);
}

/* How the gate took it when it was asked from inside. */
static const char *gate_word(struct runner *r, const char *probe)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *word = "was not asked";
	struct err ignored;

	if (json_parse(probe, strlen(probe), &o, &ignored))
		(void)json_get_text(o, "gate", &word);
	return sane(r, word);
}

bool provision_check(struct runner *r, struct guest *g, const struct spawn_reply *s,
	int64_t deadline, struct box_proof *proof, struct err *err)
{
	bool sealed, is_process = !strcmp(r->box.runtime, "process");

	if (!readback_check(s, guest_machine(g), r->cfg->uid_base > 0, r->box.memory_bytes,
		    r->box.cpus, err))
		return reason_default(err, "policy");
	if (!guest_probe(g, &proof->probe, &sealed, deadline, err))
		return reason_default(err, "provision");
	/* a process of the host has the host's network: test builds only */
	if (!sealed && !is_process) {
		(void)err_set(err, ERR_FORBIDDEN,
			"sealed: the box could reach out past the gate, which %.30s: %.160s",
			gate_word(r, proof->probe), sane(r, proof->probe));
		return err_advise(err, "network_leak", NULL);
	}
	if (!readback_limits(s, proof->probe, size_class_find(r->box.size_class), err))
		return reason_default(err, "policy");
	proof->boot_id = sane(r, guest_boot_id(g));
	proof->kernel = sane(r, guest_kernel(g));
	proof->machine = guest_machine(g);
	return true;
}

bool provision_prove(struct runner *r, struct guest *g, const struct spawn_reply *s,
	int64_t deadline, struct err *err)
{
	struct box_proof p;

	if (!provision_check(r, g, s, deadline, &p, err) || !runner_try(r, ready_body, &p, err))
		return false;
	kill_point("after_ready");
	r->box.state = BOX_READY;
	return true;
}

/* --- out of the pool --- */

static bool unpooled_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return box_unpooled(r->db, &r->job.fence, r->box.id, err);
}

/* Lets a claimed box go on. *up false: it did not, and is to be made anew. */
static bool box_claim(struct runner *r, struct guest *g, const char *lane, struct spawn_reply *s,
	int64_t deadline, bool *up, struct err *err)
{
	int64_t until = time_boot_ms() + CLAIM_MS;
	struct err why;

	*s = (struct spawn_reply){
		.uid = r->cfg->uid_base > 0 ? r->cfg->uid_base + SPAWN_BOX_UID + r->box.slot
					    : (int64_t)geteuid(),
		.isolation = r->box.isolation,
		.readback = r->box.readback,
	};
	g->resume = true;
	*up = guest_attach(g, lane, 0, until < deadline ? until : deadline, &why);
	g->resume = false;
	kill_point("after_resume");
	if (*up)
		return true;
	if (r->term || !strcmp(why.reason, "stale_epoch")) {
		*err = why;
		return false;
	}
	log_warn("box=%s of the pool does not go on: %s, making it anew", r->box.name,
		log_quote(why.msg));
	return runner_try(r, unpooled_body, NULL, err);
}

bool provision_start(struct runner *r, struct guest *g, const char *lane, struct spawn_reply *s,
	int64_t deadline, struct err *err)
{
	bool up = false;

	if (r->box.is_pooled && !box_claim(r, g, lane, s, deadline, &up, err))
		return false;
	if (up)
		return true;
	if (r->box.slot >= 0) {
		if (!box_kill(r, err))
			return reason_default(err, "provision");
	} else if (!slot_take(r, deadline, err)) {
		return false;
	}
	kill_point("after_slot");
	/* the row of it, and numbers that are wanted soon, while the guest finds its feet */
	if (!box_spawn(r, s, deadline, err) || !guest_streams_take(g, err))
		return false;
	if (!guest_attach(g, lane, 0, deadline, err))
		return reason_default(err, "provision");
	kill_point("after_attach");
	return true;
}

bool provision_attach(struct runner *r, struct guest *g, const char *lane, uint32_t agent,
	int64_t deadline, struct err *err)
{
	if (r->box.state != BOX_READY) {
		(void)err_set(err, ERR_CONFLICT, "the box is %s", box_state_names[r->box.state]);
		return err_advise(err, "box_lost", NULL);
	}
	if (!guest_attach(g, lane, agent, deadline, err))
		return reason_default(err, "box_lost");
	kill_point("after_attach");
	return true;
}

bool provision_box(struct runner *r, struct guest *g, const char *lane, uint32_t agent,
	int64_t deadline, struct err *err)
{
	struct spawn_reply s = {0};

	if (r->box.state == BOX_CREATING)
		return provision_start(r, g, lane, &s, deadline, err) &&
		       provision_prove(r, g, &s, deadline, err);
	return provision_attach(r, g, lane, agent, deadline, err);
}

/* --- the end of a box --- */

struct box_end {
	enum box_state state;
	const char *reason, *detail;
};

static bool end_body(struct runner *r, void *arg, struct err *err)
{
	const struct box_end *e = arg;

	return box_move(r->db, &r->job.fence, r->box.id, e->state, e->reason, e->detail, 0, err);
}

static bool destroy_body(struct runner *r, void *arg, struct err *err)
{
	const struct box_end *e = arg;
	bool added;

	return job_add_destroy(r->db, r->box.id, e->reason, NULL, &added, err);
}

bool provision_gone(struct runner *r, enum box_state state, const char *reason, const char *detail,
	struct err *err)
{
	struct box_end e = {.state = state, .reason = reason, .detail = detail};

	/* proved gone first: the row's end frees the slot for the next box */
	return box_kill(r, err) && runner_try(r, end_body, &e, err);
}

bool provision_end(struct runner *r, enum box_state state, const char *reason, const char *detail,
	struct err *err)
{
	struct box_end e = {.state = state, .reason = reason, .detail = detail};

	return runner_try(r, box_kill(r, err) ? end_body : destroy_body, &e, err);
}
