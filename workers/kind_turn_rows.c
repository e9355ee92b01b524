/*
 * Rows of a turn. Each function is one transaction of the model's writes, and may be repeated.
 */
#include "kind_turn.h"

#include <string.h>

#include "agents.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "killpoint.h"
#include "pool.h"
#include "question.h"
#include "random.h"
#include "run.h"
#include "text.h"

bool exec_has_ended(const struct exec *e)
{
	return e->state == EXEC_DONE || e->state == EXEC_FAILED;
}

static bool turn_body(struct runner *r, void *arg, struct err *err)
{
	return turn_get(r->db, r->pool, r->job.turn_id, arg, err);
}

static bool exec_body(struct runner *r, void *arg, struct err *err)
{
	struct turn_job *t = arg;

	return exec_get(r->db, r->pool, t->turn.exec_id, &t->exec, err);
}

bool turn_read(struct turn_job *t, struct err *err)
{
	struct runner *r = t->r;
	struct turn *turn = &t->turn;

	if (!runner_try(r, turn_body, turn, err))
		return false;
	t->began = time_boot_ms();
	t->deadline = t->began + (turn->has_deadline ? turn->left_ms : r->cfg->starting_ms);
	trace_init(&t->trace, turn->run_id, turn->n, turn->trace_seq);
	t->agent = agent_find(turn->agent);
	t->exec.log_id = turn->log_id;
	return !turn->exec_id || runner_try(r, exec_body, t, err);
}

static bool starting_body(struct runner *r, void *arg, struct err *err)
{
	const struct turn_job *t = arg;

	return turn_start(r->db, &r->job.fence, t->turn.id, r->cfg->starting_ms, err);
}

bool turn_set_starting(struct turn_job *t, struct err *err)
{
	return runner_try(t->r, starting_body, t, err);
}

/* One transaction with the trace rows that were added before. */
static bool traced(struct turn_job *t, runner_body *body, void *arg, struct err *err)
{
	if (!runner_write(t->r, body, arg, err)) {
		trace_dropped(&t->trace);
		return false;
	}
	trace_committed(&t->trace);
	runner_hint(t->r, 0, t->turn.run_id);
	return true;
}

static const char *argv_json(struct runner *r, const char *const *argv)
{
	CLEANUP(json) struct json_object *a = json_new_array();

	for (size_t i = 0; argv[i]; i++)
		json_push_text(a, argv[i]);
	return json_text(a, r->pool);
}

struct running {
	struct turn_job *t;
	char name[ID_SIZE]; /* of the exec to be made */
};

static bool running_row(struct runner *r, const struct turn_job *t, struct err *err)
{
	return turn_running(r->db, &r->job.fence, t->turn.id, t->exec.id, r->cfg->running_ms, err);
}

static bool running_body(struct runner *r, void *arg, struct err *err)
{
	const struct running *g = arg;
	struct turn_job *t = g->t;

	return exec_open(r->db, &r->job.fence, r->box.id, t->turn.run_id, g->name, &t->exec, err) &&
	       (!t->session[0] ||
		       run_set_session(r->db, &r->job.fence, t->turn.run_id, t->session, err)) &&
	       running_row(r, t, err) && trace_write(&t->trace, r, err);
}

bool turn_set_running(struct turn_job *t, struct err *err)
{
	struct running g = {.t = t};
	char data[256];

	random_id(g.name, sizeof(g.name), "exec-", 16);
	t->exec.argv = argv_json(t->r, t->agent->argv(&t->start));
	t->exec.cwd = t->trees.cwd;
	(void)snprintf(
		data, sizeof(data), "{\"box\":\"%s\",\"exec\":\"%s\"}", t->r->box.name, g.name);
	if (t->turn.question_id)
		trace_adds(&t->trace, TRACE_ANSWER, t->turn.question_ref, t->turn.message, NULL);
	trace_adds(&t->trace, TRACE_SYSTEM, NULL,
		t->start.resume ? "session taken up again" : "session started", data);
	trace_adds(&t->trace, TRACE_TOOL, g.name, t->turn.agent, NULL);
	if (!traced(t, running_body, &g, err))
		return err_wrap(err, "turn running");
	t->deadline = time_boot_ms() + t->r->cfg->running_ms;
	return true;
}

static bool answering_body(struct runner *r, void *arg, struct err *err)
{
	struct turn_job *t = arg;

	return running_row(r, t, err) && trace_write(&t->trace, r, err);
}

bool turn_set_answering(struct turn_job *t, struct err *err)
{
	trace_adds(&t->trace, TRACE_ANSWER, t->turn.question_ref, t->turn.message, NULL);
	if (!traced(t, answering_body, t, err))
		return err_wrap(err, "turn answering");
	t->deadline = time_boot_ms() + t->r->cfg->running_ms;
	return true;
}

static bool begin_body(struct runner *r, void *arg, struct err *err)
{
	const struct turn_job *t = arg;

	return exec_begin(r->db, &r->job.fence, t->exec.id, err);
}

bool turn_set_started(struct turn_job *t, struct err *err)
{
	if (t->exec.state != EXEC_QUEUED)
		return true;
	t->exec.state = EXEC_RUNNING;
	return runner_try(t->r, begin_body, t, err);
}

struct exited {
	struct turn_job *t;
	struct exec_end end;
};

static bool exited_body(struct runner *r, void *arg, struct err *err)
{
	const struct exited *x = arg;

	return exec_finish(r->db, &r->job.fence, x->t->exec.id, &x->end, err) &&
	       trace_write(&x->t->trace, r, err);
}

static void exited_trace(struct turn_job *t, const struct follow *f)
{
	char text[80], data[160];

	if (f->end == FOLLOW_REFUSED)
		(void)snprintf(text, sizeof(text), "did not start");
	else if (f->end == FOLLOW_TIMEOUT)
		(void)snprintf(text, sizeof(text), "did not end when killed");
	else if (f->exit_code >= 0)
		(void)snprintf(text, sizeof(text), "exit %lld", (long long)f->exit_code);
	else
		(void)snprintf(text, sizeof(text), "killed by signal %lld", (long long)f->signal);
	(void)snprintf(data, sizeof(data), "{\"exit_code\":%lld,\"ms\":%lld}",
		(long long)f->exit_code, (long long)(time_boot_ms() - t->began));
	trace_adds(&t->trace, TRACE_RESULT, NULL, text, data);
}

bool turn_set_exited(struct turn_job *t, const struct follow *f, struct err *err)
{
	struct exited x = {.t = t, .end = follow_exec_end(f)};

	exited_trace(t, f);
	if (!traced(t, exited_body, &x, err))
		return err_wrap(err, "exec ended");
	t->exec.state = x.end.state;
	t->exec.exited = x.end.exited;
	t->exec.exit_code = x.end.exit_code;
	t->exec.signal = x.end.signal;
	t->exec.timed_out = x.end.timed_out;
	t->exec.oom = x.end.oom;
	t->cancelled = f->cancelled;
	t->stalled = f->stalled;
	return true;
}

struct asked {
	struct turn_job *t;
	const char *ref, *text;
};

static bool asked_body(struct runner *r, void *arg, struct err *err)
{
	const struct turn_end end = {.state = TURN_ASKED};
	const struct asked *a = arg;
	const struct turn *turn = &a->t->turn;
	int64_t id;

	return question_open(
		       r->db, &r->job.fence, turn->run_id, turn->id, a->ref, a->text, &id, err) &&
	       trace_write(&a->t->trace, r, err) &&
	       turn_end(r->db, &r->job.fence, turn->id, &end, err);
}

bool turn_set_asked(struct turn_job *t, const struct follow *f, struct err *err)
{
	struct asked a = {.t = t, .ref = f->question_id, .text = f->question};

	trace_adds(&t->trace, TRACE_QUESTION, a.ref, a.text, NULL);
	if (!traced(t, asked_body, &a, err))
		return err_wrap(err, "turn asked");
	t->turn.state = TURN_ASKED;
	kill_point("after_question");
	return true;
}

static bool asked_saved_body(struct runner *r, void *arg, struct err *err)
{
	const struct turn_job *t = arg;

	return turn_save(r->db, &r->job.fence, t->turn.id, t->results.patch_id,
		       t->results.bundle_id, err) &&
	       results_replace(r, &t->results, t->turn.run_id, t->turn.id, err) &&
	       job_finish(r->db, &r->job.fence, turn_state_names[TURN_ASKED], err);
}

bool turn_set_asked_saved(struct turn_job *t, struct err *err)
{
	kill_point("asked_before_finish");
	if (!runner_write(t->r, asked_saved_body, t, err))
		return err_wrap(err, "results of the asking turn");
	runner_hint(t->r, 0, t->turn.run_id);
	return true;
}

struct ended {
	struct turn_job *t;
	struct turn_end end;
};

static bool ended_body(struct runner *r, void *arg, struct err *err)
{
	const struct ended *e = arg;
	const struct turn_job *t = e->t;

	return turn_end(r->db, &r->job.fence, t->turn.id, &e->end, err) &&
	       (!t->saved || results_replace(r, &t->results, t->turn.run_id, t->turn.id, err)) &&
	       job_finish(r->db, &r->job.fence, turn_state_names[e->end.state], err);
}

bool turn_set_ended(struct turn_job *t, enum turn_state state, enum turn_reason reason,
	const char *detail, struct err *err)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(2048);
	const struct exec *x = &t->exec;
	struct ended e = {
		.t = t,
		.end =
			{
				.state = state,
				.reason = reason,
				.exited = x->exited || x->signal,
				.exit_code = x->exited ? x->exit_code : 128 + x->signal,
				.signal = x->signal,
				.patch_id = t->results.patch_id,
				.bundle_id = t->results.bundle_id,
			},
	};

	/* messages quote the box and are cut: a row takes nothing but whole characters, and a turn
	 * whose end cannot be written would be done again for ever */
	if (detail) {
		text_add_sane(&sane, detail, strlen(detail));
		e.end.detail = sane.data;
	}
	kill_point("before_finish");
	if (!runner_write(t->r, ended_body, &e, err))
		return err_wrap(err, "turn ended");
	runner_hint(t->r, 0, t->turn.run_id);
	kill_point("after_finish");
	return true;
}
