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
static bool box_is_dead(const char *reason)
{
	static const char *const words[] = {
		"box_lost",
		"agent_lost",
		"guest_panic",
		"protocol",
		"provision",
		"policy",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(reason, words[i]))
			return true;
	return false;
}

static const char *const reasons[] = {
	"agent_error",
	"oom",
	"guest_panic",
	"timeout",
	"max_duration",
	"protocol",
	"agent_lost",
	"box_lost",
	"policy",
	"tree",
	"provision",
};

/* The word for turns.reason: the error's own where it is one, else `otherwise`. */
static const char *reason_of(const struct err *e, const char *otherwise)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strcmp(e->reason, reasons[i]))
			return reasons[i];
	return otherwise;
}

/* Another runner has the job, or the worker wants us gone: not a failure of the turn. */
static bool is_interrupted(const struct turn_job *t, const struct err *e)
{
	return t->r->stale || t->r->term || !strcmp(e->reason, "stale_epoch");
}

/* Ends the turn because of *e. True where that is written, or the job is not ours. */
static bool turn_fail(
	struct turn_job *t, const struct err *e, const char *otherwise, struct err *err)
{
	const char *reason = reason_of(e, otherwise);

	if (is_interrupted(t, e))
		return true;
	if (t->r->cancel)
		return turn_set_ended(t, "stopped", "operator", "stopped before it ended", err) ||
		       t->r->stale;
	if (e->code == ERR_INTERNAL) {
		*err = *e;
		return false;
	}
	if (e->code == ERR_TIMEOUT && strcmp(reason, "tree") && time_boot_ms() >= t->deadline)
		reason = "timeout";
	guest_detach(&t->g);
	/* the box first: if we die here the turn is still active and is ended by who claims it */
	if ((box_is_dead(reason) || strcmp(t->r->box.state, "ready")) &&
		!provision_end(t->r, "failed", reason, err))
		return t->r->stale;
	return turn_set_ended(t, "failed", reason, e->msg, err) || t->r->stale;
}

static bool exec_send(struct turn_job *t, struct err *err)
{
	const char *text = guest_exec_json(
		&t->g, t->agent->argv, t->agent->env, t->trees.cwd, "agent", false, 0);

	if (!guest_send(&t->g, WIRE_EXEC, t->stream, text, strlen(text), err))
		return false;
	kill_point("after_exec_start");
	return true;
}

static bool agent_start(struct turn_job *t, struct err *err)
{
	const char *task = t->n == 1 ? t->task : t->message;

	if (t->n == 1 && !trees_place(&t->g, &t->trees, t->deadline, err))
		return false;
	if (!t->agent->prepare(&t->g, task, t->deadline, err) ||
		!guest_stream(&t->g, &t->stream, err) ||
		!logstore_end(t->r, t->log_id, &t->log_base, err) || !turn_set_running(t, err))
		return false;
	t->g.agent = t->stream;
	return exec_send(t, err);
}

static bool answer_send(struct turn_job *t, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *open = guest_question(&t->g), *text;

	if (strcmp(t->state, "running") && !turn_set_answering(t, err))
		return false;
	/* an earlier runner of this turn may have given the answer already */
	if (!open || strcmp(open, t->question_ref))
		return true;
	o = json_new_object();
	json_add_text(o, "id", t->question_ref);
	json_add_text(o, "text", t->answer ? t->answer : t->message);
	text = json_text(o, t->r->pool);
	return guest_send(&t->g, WIRE_ANSWER, 0, text, strlen(text), err);
}

/* Brings the agent's exec to where it runs, from wherever an earlier runner left it. */
static bool agent_ensure(struct turn_job *t, struct err *err)
{
	if (!t->exec_id)
		return agent_start(t, err);
	if (t->exec_ended)
		return true;
	if (t->question_id && !answer_send(t, err))
		return false;
	if (guest_has_exec(&t->g, t->stream))
		return true;
	if (!t->exec_known)
		return exec_send(t, err);
	(void)err_set(err, ERR_UPSTREAM, "the box does not know the agent's process any more");
	return err_advise(err, "agent_lost", NULL);
}

static bool on_started(void *arg, struct err *err)
{
	return turn_set_started(arg, err);
}

/* Follows the agent. *ended: nobody follows it any more (it asks, or the worker stops). */
static bool agent_follow(struct turn_job *t, bool *ended, struct err *err)
{
	struct follow f = {
		.g = &t->g,
		.log = &t->log,
		.stream = t->stream,
		.deadline = t->deadline,
		.started = on_started,
		.arg = t,
		.answered = t->question_ref,
	};

	if (!logstore_open(&t->log, t->r, t->log_id, t->log_base, err))
		return false;
	t->log_open = true;
	t->log.trace = &t->trace;
	t->log.agent = t->agent;
	if (!follow(&f, err))
		return false;
	*ended = f.end == FOLLOW_TERM || f.end == FOLLOW_QUESTION;
	if (f.end == FOLLOW_TERM)
		return true;
	if (f.end == FOLLOW_QUESTION)
		return turn_set_asked(t, &f, err);
	if (!turn_set_exited(t, &f, err))
		return false;
	if (f.end == FOLLOW_REFUSED)
		return err_set(err, ERR_UPSTREAM, "start agent: %s", f.message);
	return f.end != FOLLOW_EXIT || guest_ack_exit(&t->g, t->stream, err);
}

/* How the agent's end reads as the end of the turn. */
static void ending(const struct turn_job *t, const char **state, const char **reason)
{
	*state = "failed";
	*reason = "agent_error";
	if (t->cancelled) {
		*state = "stopped";
		*reason = "operator";
	} else if (t->oom) {
		*reason = "oom";
	} else if (t->timed_out) {
		*reason = "timeout";
	} else if (!t->exit_code) {
		*state = "done";
		*reason = "ok";
	}
}

static bool turn_finish(struct turn_job *t, struct err *err)
{
	const char *state, *reason;
	struct err lost;

	t->g.agent = 0;
	t->r->cancel = false; /* it was heeded, or came too late to matter */
	if (!results_save(&t->g, &t->trees, t->run_id, t->id, time_boot_ms() + RESULTS_MS,
		    &t->results, &lost)) {
		if (is_interrupted(t, &lost))
			return true;
		/* the agent has ended as it has; that its work could not be fetched is said beside
		 * it */
		(void)snprintf(
			t->results.note, sizeof(t->results.note), "results: %.180s", lost.msg);
	}
	t->saved = true;
	ending(t, &state, &reason);
	return turn_set_ended(t, state, reason, t->results.note[0] ? t->results.note : NULL, err) ||
	       t->r->stale;
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
		!results_save(&t->g, &t->trees, t->run_id, t->id, deadline, &t->results, &lost)) {
		if (is_interrupted(t, &lost))
			return true;
		/* the turn that goes on, or the destroy, saves again */
		log_warn("run=%s results at its question: %s", t->run_name, log_quote(lost.msg));
		(void)snprintf(t->results.note, sizeof(t->results.note), "not saved");
	} else if (t->results.note[0]) {
		log_warn("run=%s results at its question: %s", t->run_name,
			log_quote(t->results.note));
	}
	return turn_set_asked_saved(t, err) || t->r->stale;
}

static bool turn_begin(struct turn_job *t, struct err *err)
{
	if (!strcmp(t->state, "queued") || !strcmp(t->state, "starting")) {
		if (!turn_set_starting(t, err))
			return false;
	}
	if (!t->agent)
		return err_set(err, ERR_INVALID, "no agent of that name");
	return trees_read(t->r, t->source, t->repos, t->upload_id, &t->trees, err);
}

static bool turn_steps(struct turn_job *t, struct err *err)
{
	bool ended = false;
	struct err e = {0};

	if (!turn_begin(t, &e))
		return turn_fail(t, &e, "agent_error", err);
	/* an earlier runner wrote the question and died */
	if (!strcmp(t->state, "asked"))
		return asked_finish(t, err);
	if (!provision_box(t->r, &t->g, "drive", t->stream, t->deadline, &e))
		return turn_fail(t, &e, "provision", err);
	if (!agent_ensure(t, &e) || (!t->exec_ended && !agent_follow(t, &ended, &e)))
		return turn_fail(t, &e, "agent_error", err);
	if (!strcmp(t->state, "asked"))
		return asked_finish(t, err);
	return ended || turn_finish(t, err);
}

static bool turn_run(struct runner *r, struct err *err)
{
	struct turn_job *t = POOL_NEW(r->pool, struct turn_job);
	bool ok;

	t->r = r;
	t->g = GUEST_INIT(r);
	t->exit_code = t->signal = -1;
	if (!turn_read(t, err))
		return r->stale;
	ok = turn_steps(t, err);
	guest_detach(&t->g);
	if (t->log_open)
		cleanup_logstore(&t->log);
	cleanup_trace(&t->trace);
	return ok || r->stale;
}

const struct kind kind_turn = {
	.name = "turn",
	.lane = "drive",
	.run = turn_run,
};
