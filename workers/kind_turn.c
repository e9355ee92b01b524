/*
 * The job kind `turn`: box, trees, agent, output, question or end, results. Whoever claims a turn
 * goes through the same lines; what an earlier runner has done is seen from the rows and the shim,
 * and not done twice.
 */
#include "kind_turn.h"

#include <string.h>

#include "agents.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "killpoint.h"
#include "kinds.h"
#include "log.h"
#include "pool.h"
#include "provision.h"
#include "text.h"

#define RESULTS_MS 120000 /* a patch of a large tree under TCG */

extern const struct kind kind_turn;

/* Reasons that mean the box is no use any more. */
static bool box_is_dead(enum turn_reason reason)
{
	static const enum turn_reason list[] = {
		REASON_BOX_LOST,
		REASON_AGENT_LOST,
		REASON_GUEST_PANIC,
		REASON_PROTOCOL,
		REASON_PROVISION,
		REASON_POLICY,
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i] == reason)
			return true;
	return false;
}

/* Another runner has the job, or the worker wants us gone: not a failure of the turn. */
static bool is_interrupted(const struct turn_job *t, const struct err *e)
{
	return t->r->stale || t->r->term || !strcmp(e->reason, "stale_epoch");
}

/* Ends the turn because of *e. True where that is written, or the job is not ours. */
static bool turn_fail(
	struct turn_job *t, const struct err *e, enum turn_reason otherwise, struct err *err)
{
	enum turn_reason reason = turn_reason_find(e->reason, otherwise);

	if (is_interrupted(t, e))
		return true;
	if (t->r->cancel)
		return turn_set_ended(
			       t, TURN_STOPPED, REASON_OPERATOR, "stopped before it ended", err) ||
		       t->r->stale;
	if (e->code == ERR_INTERNAL) {
		*err = *e;
		return false;
	}
	if (e->code == ERR_TIMEOUT && reason != REASON_TREE && time_boot_ms() >= t->deadline)
		reason = REASON_TIMEOUT;
	guest_detach(&t->g);
	/* the box first: if we die here the turn is still active and is ended by who claims it */
	if ((box_is_dead(reason) || t->r->box.state != BOX_READY) &&
		!provision_end(t->r, BOX_FAILED, turn_reason_names[reason], NULL, err))
		return t->r->stale;
	return turn_set_ended(t, TURN_FAILED, reason, e->msg, err) || t->r->stale;
}

static bool turn_finish(struct turn_job *t, struct err *err)
{
	enum turn_state state;
	enum turn_reason reason;
	char detail[320 + sizeof(t->results.note)];
	struct err lost;
	size_t n;

	if (!agent_ending(t, &state, &reason, detail, sizeof(detail), err))
		return t->r->stale;
	t->g.agent = 0;
	t->r->cancel = false; /* it was heeded, or came too late to matter */
	if (!results_save(&t->g, &t->trees, t->turn.run_id, t->turn.id, time_boot_ms() + RESULTS_MS,
		    &t->results, &lost)) {
		if (is_interrupted(t, &lost))
			return true;
		/* the agent has ended as it has; that its work could not be fetched is said beside
		 * it */
		(void)snprintf(
			t->results.note, sizeof(t->results.note), "results: %.180s", lost.msg);
	}
	t->saved = true;
	n = strlen(detail);
	(void)snprintf(detail + n, sizeof(detail) - n, "%s%s", n && t->results.note[0] ? "; " : "",
		t->results.note);
	return turn_set_ended(t, state, reason, detail[0] ? detail : NULL, err) || t->r->stale;
}

/*
 * The question is out; the answer's job waits for this one. What runs in the drive lane is frozen,
 * and the lane takes nothing new, so that the work is fetched in another.
 */
static bool asked_finish(struct turn_job *t, struct err *err)
{
	int64_t deadline = time_boot_ms() + RESULTS_MS;
	struct err lost;

	t->g.agent = 0;
	guest_detach(&t->g);
	if (!guest_attach(&t->g, "admin", 0, deadline, &lost) ||
		!results_save(&t->g, &t->trees, t->turn.run_id, t->turn.id, deadline, &t->results,
			&lost)) {
		if (is_interrupted(t, &lost))
			return true;
		/* the turn that goes on, or the destroy, saves again */
		log_warn("run=%s results at its question: %s", t->turn.run_name,
			log_quote(lost.msg));
		(void)snprintf(t->results.note, sizeof(t->results.note), "not saved");
	} else if (t->results.note[0]) {
		log_warn("run=%s results at its question: %s", t->turn.run_name,
			log_quote(t->results.note));
	}
	return turn_set_asked_saved(t, err) || t->r->stale;
}

static bool turn_begin(struct turn_job *t, struct err *err)
{
	if (t->turn.state != TURN_ASKED && !turn_set_starting(t, err))
		return false;
	if (!t->agent)
		return err_set(err, ERR_INVALID, "no agent of that name");
	return trees_read(t->r, t->turn.source, t->turn.repos, t->turn.upload_id, &t->trees, err);
}

static bool turn_steps(struct turn_job *t, struct err *err)
{
	bool ended = false;
	struct err e = {0};

	if (!turn_begin(t, &e))
		return turn_fail(t, &e, REASON_AGENT_ERROR, err);
	/* an earlier runner wrote the question and died */
	if (t->turn.state == TURN_ASKED)
		return asked_finish(t, err);
	if (!provision_box(t->r, &t->g, "drive", (uint32_t)t->exec.stream, t->deadline, &e))
		return turn_fail(t, &e, REASON_PROVISION, err);
	if (!agent_ensure(t, &e) || (!exec_has_ended(&t->exec) && !agent_follow(t, &ended, &e)))
		return turn_fail(t, &e, REASON_AGENT_ERROR, err);
	if (t->turn.state == TURN_ASKED)
		return asked_finish(t, err);
	return ended || turn_finish(t, err);
}

static bool turn_run(struct runner *r, struct err *err)
{
	struct turn_job *t = POOL_NEW(r->pool, struct turn_job);
	bool ok;

	t->r = r;
	t->g = GUEST_INIT(r);
	if (!turn_read(t, err))
		return r->stale;
	ok = turn_steps(t, err);
	guest_detach(&t->g);
	agent_done(t);
	cleanup_trace(&t->trace);
	return ok || r->stale;
}

const struct kind kind_turn = {
	.name = "turn",
	.lane = "drive",
	.run = turn_run,
};
