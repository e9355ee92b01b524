/*
 * The agent of a turn: how it begins, how it is told an answer, and how its end reads. One that is
 * talked to (agents.h) goes on in the same process after a question where it had stopped by itself;
 * where it was frozen in the middle, or is gone, its conversation is taken up in a new exec with
 * the answer as the first message. What an earlier runner did is seen from three things: a turn
 * that is running has chosen its exec, the shim knows what was started, and the box what is
 * answered.
 */
#include "kind_turn.h"

#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "killpoint.h"
#include "pool.h"
#include "run.h"
#include "runlog.h"
#include "text.h"

static bool is_talked_to(const struct turn_job *t)
{
	return t->agent->open;
}

static void start_fill(struct turn_job *t)
{
	struct agent_start *s = &t->start;

	s->cfg = t->r->cfg;
	s->pool = t->r->pool;
	s->trees = &t->trees;
	s->message = t->turn.n == 1 ? t->turn.task : t->turn.message;
	s->session = t->turn.session;
	s->resume = t->turn.n > 1;
	if (!is_talked_to(t) || s->session[0])
		return;
	if (!t->session[0])
		random_uuid(t->session);
	s->session = t->session;
	s->resume = false;
}

static bool exec_send(struct turn_job *t, struct err *err)
{
	const char *message = t->start.message;
	const struct guest_code code = {.path = t->agent->code, .text = message};
	bool goes_along = code.path && message && guest_text_fits(message, strlen(message));
	const char *text = guest_exec_json(&t->g, t->agent->argv(&t->start),
		t->agent->env ? t->agent->env(&t->start) : NULL, t->trees.cwd, "agent",
		is_talked_to(t), 0, t->agent->ask, goes_along ? &code : NULL);

	if (!guest_send(&t->g, WIRE_EXEC, t->g.agent, text, strlen(text), err))
		return false;
	kill_point("after_exec_start");
	return true;
}

static bool agent_begin(struct turn_job *t, struct err *err)
{
	if (t->turn.n == 1 && !trees_place(&t->g, &t->trees, t->deadline, err))
		return false;
	if (!t->agent->prepare(&t->g, &t->start, t->deadline, err) ||
		!guest_stream(&t->g, &t->g.agent, err))
		return false;
	t->exec = (struct exec){.log_id = t->turn.log_id, .stream = t->g.agent};
	return turn_set_running(t, err) && exec_send(t, err);
}

void agent_done(struct turn_job *t)
{
	if (!t->log_open)
		return;
	if (t->log.reader)
		t->agent->close(t->log.reader);
	cleanup_logstore(&t->log);
	t->log_open = false;
}

static void replay_take(void *arg, const char *body, size_t n, int64_t ts_ms)
{
	const struct turn_job *t = arg;

	t->agent->replay(t->log.reader, body, n, ts_ms);
}

struct replay {
	struct turn_job *t;
	double cost_usd;
	int64_t seq;
	bool more;
};

static bool cost_body(struct runner *r, void *arg, struct err *err)
{
	struct replay *p = arg;

	return run_cost_before(r->db, p->t->turn.run_id, p->t->exec.id, &p->cost_usd, err);
}

static bool replay_body(struct runner *r, void *arg, struct err *err)
{
	struct replay *p = arg;

	return runlog_stdout(r->db, p->t->exec.log_id, p->t->exec.log_base, &p->seq, &p->more,
		replay_take, p->t, err);
}

/* Opens the log of the exec and brings its reader to where the last runner's was. */
static bool log_begin(struct turn_job *t, struct err *err)
{
	struct replay p = {.t = t, .more = true};

	agent_done(t);
	if (!logstore_open(&t->log, t->r, t->exec.log_id, t->exec.log_base, err))
		return false;
	t->log_open = true;
	t->log.trace = &t->trace;
	t->log.agent = t->agent;
	if (!is_talked_to(t))
		return true;
	if (!runner_try(t->r, cost_body, &p, err))
		return false;
	t->log.reader = t->agent->open(p.cost_usd);
	while (p.more)
		if (!runner_try(t->r, replay_body, &p, err))
			return false;
	t->ended_before = t->agent->facts(t->log.reader)->ended;
	/* of a turn that has its exec already, what it said in this turn is not from before */
	if (t->turn.state == TURN_RUNNING)
		t->ended_before -= t->turn.ends;
	return true;
}

/* Tells the box the answer, unless an earlier runner of this turn has. */
static bool answer_send(struct turn_job *t, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *open = guest_question(&t->g), *text;
	struct json_object *around;

	if (!open || strcmp(open, t->turn.question_ref))
		return true;
	o = json_new_object();
	json_add_text(o, "id", t->turn.question_ref);
	json_add_text(o, "text", t->turn.answer);
	if (is_talked_to(t)) {
		around = json_new_array();
		json_push_text(around, t->agent->before);
		json_push_text(around, t->agent->after);
		json_add(o, "stdin", around);
	}
	text = json_text(o, t->r->pool);
	return guest_send(&t->g, WIRE_ANSWER, 0, text, strlen(text), err);
}

static bool agent_lost(struct err *err)
{
	(void)err_set(err, ERR_UPSTREAM, "the box does not know the agent's process any more");
	return err_advise(err, "agent_lost", NULL);
}

/* The exec that the turn has chosen. */
static bool exec_ensure(struct turn_job *t, struct err *err)
{
	if (exec_has_ended(&t->exec))
		return true;
	if (t->turn.question_id && !answer_send(t, err))
		return false;
	if (guest_has_exec(&t->g, t->g.agent))
		return true;
	return t->exec.state == EXEC_QUEUED ? exec_send(t, err) : agent_lost(err);
}

static bool on_started(void *arg, struct err *err)
{
	return turn_set_started(arg, err);
}

static bool heard_body(struct runner *r, void *arg, struct err *err)
{
	struct replay *p = arg;

	return run_model_heard(r->db, p->t->turn.run_id, &p->seq, err);
}

static bool on_heard(void *arg, int64_t *ago_ms, struct err *err)
{
	struct replay p = {.t = arg};

	if (!runner_try(p.t->r, heard_body, &p, err))
		return false;
	*ago_ms = p.seq;
	return true;
}

static struct follow follow_of(struct turn_job *t)
{
	return (struct follow){
		.g = &t->g,
		.log = &t->log,
		.stream = t->g.agent,
		.deadline = t->deadline,
		.started = on_started,
		.heard = on_heard,
		.arg = t,
		.answered = t->turn.question_id ? t->turn.question_ref : NULL,
		.ended_before = t->ended_before,
	};
}

/* The exec that asked can not go on: it was frozen in the middle. */
static bool asker_end(struct turn_job *t, struct err *err)
{
	struct follow f = follow_of(t);

	if (!guest_has_exec(&t->g, t->g.agent))
		return agent_lost(err);
	f.kill = true;
	if (!follow(&f, err))
		return false;
	if (f.end == FOLLOW_TERM)
		return err_set(err, ERR_BUSY, "the worker stops");
	if (!turn_set_exited(t, &f, err))
		return false;
	kill_point("after_asker_end");
	return f.end != FOLLOW_EXIT || guest_ack_exit(&t->g, t->g.agent, err);
}

/* An answer whose turn has not chosen yet: the exec that asked where it can hear it, else anew. */
static bool answer_begin(struct turn_job *t, struct err *err)
{
	const char *open = guest_question(&t->g);

	if (!exec_has_ended(&t->exec)) {
		if (is_talked_to(t) && !log_begin(t, err))
			return false;
		if (!is_talked_to(t) || (open && !strcmp(open, t->turn.question_ref) &&
						!t->agent->facts(t->log.reader)->working))
			return turn_set_answering(t, err) && exec_ensure(t, err);
		if (!asker_end(t, err))
			return false;
		agent_done(t);
	}
	return is_talked_to(t) ? agent_begin(t, err) : true;
}

bool agent_ensure(struct turn_job *t, struct err *err)
{
	start_fill(t);
	if (!t->exec.id)
		return agent_begin(t, err);
	if (t->turn.question_id && t->turn.state != TURN_RUNNING)
		return answer_begin(t, err);
	return exec_ensure(t, err);
}

bool agent_follow(struct turn_job *t, bool *ended, struct err *err)
{
	struct follow f;

	if (!t->log_open && !log_begin(t, err))
		return false;
	f = follow_of(t);
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
	return f.end != FOLLOW_EXIT || guest_ack_exit(&t->g, t->g.agent, err);
}

/* Why the agent gave up, in words. */
static void failure_say(const struct agent_facts *f, char *detail, size_t size)
{
	const char *what =
		f->status == 401 || f->status == 403 ? "the model's host refuses the site's key"
		: f->status == 429 ? "the model's host limits how much may be asked"
		: f->status == 529 || f->status == 503 ? "the model's host is overloaded"
		: f->status >= 500		       ? "the model's host failed"
		: f->status			       ? "the model's host refuses the request"
		: !strcmp(f->word, "api_error") ? "the connection to the model's host broke off"
						: "the agent gave up";

	if (f->status)
		(void)snprintf(
			detail, size, "%s (%lld): %s", what, (long long)f->status, f->message);
	else
		(void)snprintf(detail, size, "%s: %s", what, f->message);
}

static void ending_of_talk(const struct turn_job *t, const struct agent_facts *f, char *detail,
	size_t size, enum turn_state *state, enum turn_reason *reason)
{
	bool through = f->ended > t->ended_before;

	if (through && !f->failed) {
		*state = TURN_DONE;
		*reason = REASON_OK;
	} else if (t->stalled) {
		(void)snprintf(detail, size,
			"the agent stalled: nothing of it or its model for %lld s",
			(long long)(t->r->cfg->stall_ms / 1000));
	} else if (through) {
		failure_say(f, detail, size);
	} else if (f->attempt) {
		(void)snprintf(detail, size,
			"the agent ended at try %lld of a call that its model's host answers with "
			"%lld",
			(long long)f->attempt, (long long)f->attempt_status);
	} else {
		(void)snprintf(detail, size, "the agent ended before it was through");
	}
}

bool agent_ending(struct turn_job *t, enum turn_state *state, enum turn_reason *reason,
	char *detail, size_t size, struct err *err)
{
	detail[0] = '\0';
	*state = TURN_FAILED;
	*reason = REASON_AGENT_ERROR;
	if (is_talked_to(t) && !t->log_open && !log_begin(t, err))
		return false;
	if (t->exec.oom)
		*reason = REASON_OOM;
	else if (t->exec.timed_out)
		*reason = REASON_TIMEOUT;
	if (t->cancelled) {
		*state = TURN_STOPPED;
		*reason = REASON_OPERATOR;
	} else if (is_talked_to(t)) {
		ending_of_talk(t, t->agent->facts(t->log.reader), detail, size, state, reason);
	} else if (*reason == REASON_AGENT_ERROR && t->exec.exited && !t->exec.exit_code) {
		*state = TURN_DONE;
		*reason = REASON_OK;
	}
	if (*state == TURN_DONE) {
		/* killed because it did not leave after its last word, it was through all the same
		 */
		t->exec.exited = true;
		t->exec.exit_code = t->exec.signal = 0;
	}
	return true;
}
