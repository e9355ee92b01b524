/*
 * Boxes: slot, spawn, attach, read-back, probe, ready. A half-made box (a runner died before ready)
 * is killed and made again on the same row, so that there is never a second process of it.
 */
#include "provision.h"

#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "guest.h"
#include "killpoint.h"
#include "pool.h"
#include "queries.h"
#include "runner.h"
#include "spawn.h"
#include "text.h"

#define SPAWN_TRY_MS 10000 /* spawn restarts within seconds; past that it is down */

static bool reason_default(struct err *err, const char *reason)
{
	if (!err->reason[0] || !strcmp(err->reason, "not_ready"))
		(void)err_advise(err, reason, NULL);
	return false;
}

/* --- the slot --- */

struct slot_take {
	bool taken;
	int slot;
};

static bool slot_body(struct runner *r, void *arg, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct slot_take *t = arg;

	if (!db_query(r->db, Q_WORKER_BOX_SLOT,
		    ARGS(db_i64(r->box.id), db_text(r->host), db_text(r->boot_id),
			    db_i64(r->cfg->box_slots)),
		    &res, err))
		return false;
	t->taken = res.rows > 0;
	if (t->taken)
		t->slot = (int)result_i64(&res, 0, 0);
	return db_query(r->db, Q_WORKER_BOX_JOBS_HOST, ARGS(db_i64(r->box.id), db_text(r->host)),
		NULL, err);
}

static bool slot_take(struct runner *r, int64_t deadline, struct err *err)
{
	struct slot_take t = {0};

	for (;;) {
		bool ok = runner_write(r, slot_body, &t, err);

		if (ok && t.taken)
			break;
		/* two runners chose the same slot: the loser chooses again */
		if (!ok && (err->code != ERR_CONFLICT || r->stale))
			return false;
		if (time_boot_ms() > deadline) {
			(void)err_set(err, ERR_BUSY, "no slot for a box became free in time");
			return err_advise(err, "provision", "tear down runs that are not needed");
		}
		if (!runner_sleep(r, ok ? 500 : 10))
			return err_set(err, ERR_BUSY, "the worker stops");
	}
	r->box.slot = t.slot;
	r->box.host = r->host;
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

static bool spawned_body(struct runner *r, void *arg, struct err *err)
{
	const struct spawn_reply *s = arg;

	return db_query(r->db, Q_WORKER_BOX_SPAWNED,
		ARGS(db_i64(r->box.id), db_i64(s->pid), db_i64(s->pid_start), db_text(s->isolation),
			db_text(s->template_key), db_text(s->readback)),
		NULL, err);
}

static bool nothing_body(struct runner *r, void *arg, struct err *err)
{
	(void)r;
	(void)arg;
	(void)err;
	return true;
}

static bool spawn_try(struct runner *r, struct spawn_reply *s, struct err *err)
{
	/* the last look before there is a process: a teardown may have come meanwhile */
	return runner_write(r, nothing_body, NULL, err) &&
	       spawn_box(r->cfg, r->pool, r->box.name, r->box.slot, r->box.runtime, r->box.image,
		       r->box.size_class, s, err);
}

static bool box_spawn(struct runner *r, struct spawn_reply *s, struct err *err)
{
	int64_t until = time_boot_ms() + SPAWN_TRY_MS;
	struct err ignored;

	while (!spawn_try(r, s, err)) {
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
	if (runner_write(r, spawned_body, s, err)) {
		r->box.pid = s->pid;
		return true;
	}
	if (r->stale)
		(void)!spawn_kill(r->cfg, r->pool, r->box.name, r->box.slot, &ignored);
	return false;
}

/* --- from a process to a box that may be used --- */

struct proof {
	const char *boot_id, *kernel, *machine, *probe;
};

static bool ready_body(struct runner *r, void *arg, struct err *err)
{
	const struct proof *p = arg;

	return db_query(r->db, Q_WORKER_BOX_READY,
		ARGS(db_i64(r->box.id), db_text(p->boot_id), db_text(p->kernel),
			db_text(p->machine), db_text(p->probe)),
		NULL, err);
}

static const char *sane(struct runner *r, const char *s)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1024);

	text_add_sane(&b, s, strnlen(s, 200));
	return pool_strdup(r->pool, b.data);
}

static bool box_prove(struct runner *r, struct guest *g, const struct spawn_reply *s,
	int64_t deadline, struct err *err)
{
	bool sealed, is_process = !strcmp(r->box.runtime, "process");
	struct proof p;

	if (!readback_check(s, guest_machine(g), r->cfg->uid_base > 0, r->box.memory_bytes,
		    r->box.cpus, err))
		return reason_default(err, "policy");
	if (!guest_probe(g, &p.probe, &sealed, deadline, err))
		return reason_default(err, "provision");
	/* a process of the host has the host's network: test builds only */
	if (!sealed && !is_process) {
		(void)err_set(err, ERR_FORBIDDEN, "sealed: the box could reach out past the gate");
		return err_advise(err, "policy", NULL);
	}
	p.boot_id = sane(r, guest_boot_id(g));
	p.kernel = sane(r, guest_kernel(g));
	p.machine = guest_machine(g);
	if (!runner_write(r, ready_body, &p, err))
		return false;
	kill_point("after_ready");
	r->box.state = "ready";
	return true;
}

static bool box_make(
	struct runner *r, struct guest *g, const char *lane, int64_t deadline, struct err *err)
{
	struct spawn_reply s = {0};

	if (r->box.slot >= 0) {
		if (!box_kill(r, err))
			return reason_default(err, "provision");
	} else if (!slot_take(r, deadline, err)) {
		return false;
	}
	kill_point("after_slot");
	if (!box_spawn(r, &s, err))
		return false;
	if (!guest_attach(g, lane, 0, deadline, err))
		return reason_default(err, "provision");
	kill_point("after_attach");
	return box_prove(r, g, &s, deadline, err);
}

bool provision_box(struct runner *r, struct guest *g, const char *lane, uint32_t agent,
	int64_t deadline, struct err *err)
{
	const char *state = r->box.state;

	if (!strcmp(state, "creating"))
		return box_make(r, g, lane, deadline, err);
	if (strcmp(state, "ready")) {
		(void)err_set(err, ERR_CONFLICT, "the box is %s", state);
		return err_advise(err, "box_lost", NULL);
	}
	if (!guest_attach(g, lane, agent, deadline, err))
		return reason_default(err, "box_lost");
	kill_point("after_attach");
	return true;
}

/* --- the end of a box --- */

struct box_end {
	const char *state, *reason;
};

static bool end_body(struct runner *r, void *arg, struct err *err)
{
	const struct box_end *e = arg;

	return db_query(r->db, Q_WORKER_BOX_END,
		ARGS(db_i64(r->box.id), db_text(e->state), db_text(e->reason)), NULL, err);
}

static bool destroy_body(struct runner *r, void *arg, struct err *err)
{
	return db_query(r->db, Q_WORKER_DESTROY_ADD,
		ARGS(db_i64(r->box.id), db_text((const char *)arg)), NULL, err);
}

bool provision_end(struct runner *r, const char *state, const char *reason, struct err *err)
{
	struct box_end e = {.state = state, .reason = reason};
	char why[32];

	/* proved gone first: the row's end frees the slot for the next box */
	if (box_kill(r, err))
		return runner_write(r, end_body, &e, err);
	(void)snprintf(why, sizeof(why), "%s", reason);
	return runner_write(r, destroy_body, why, err);
}
