/*
 * Rows of a turn. Each function is one transaction under the fence and may be repeated.
 */
#include "kind_turn.h"

#include <string.h>

#include "agents.h"
#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "json.h"
#include "killpoint.h"
#include "pool.h"
#include "queries.h"
#include "random.h"
#include "text.h"

static struct db_arg db_opt(int64_t v, int64_t none)
{
	return v == none ? db_text(NULL) : db_i64(v);
}

static bool exec_read(struct turn_job *t, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	const char *state;

	if (!runner_read(t->r, Q_WORKER_EXEC_LOAD, ARGS(db_i64(t->exec_id)), &res, err))
		return err_wrap(err, "load exec");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no exec %lld", (long long)t->exec_id);
	t->stream = (uint32_t)result_i64(&res, 0, 0);
	state = result_text(&res, 0, 1);
	t->log_base = result_i64(&res, 0, 7);
	t->exec_known = strcmp(state, "queued") != 0;
	t->exec_ended = !strcmp(state, "done") || !strcmp(state, "failed");
	t->exit_code = result_is_null(&res, 0, 9) ? -1 : result_i64(&res, 0, 9);
	t->signal = result_is_null(&res, 0, 10) ? -1 : result_i64(&res, 0, 10);
	t->timed_out = result_bool(&res, 0, 11);
	t->oom = result_bool(&res, 0, 12);
	return true;
}

bool turn_read(struct turn_job *t, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct runner *r = t->r;
	int64_t left, last_seq;

	t->id = r->job.turn_id;
	if (!runner_read(r, Q_WORKER_TURN_LOAD, ARGS(db_i64(t->id)), &res, err))
		return err_wrap(err, "load turn");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no turn %lld", (long long)t->id);
	t->n = runner_col(&res, 0);
	t->message = runner_text(r, &res, 1);
	t->state = runner_text(r, &res, 2);
	t->question_id = runner_col(&res, 3);
	t->exec_id = runner_col(&res, 4);
	t->run_id = runner_col(&res, 5);
	t->run_name = runner_text(r, &res, 6);
	t->task = runner_text(r, &res, 7);
	t->agent_name = runner_text(r, &res, 8);
	t->source = runner_text(r, &res, 9);
	t->repos = runner_text(r, &res, 10);
	t->upload_id = runner_col(&res, 11);
	left = result_is_null(&res, 0, 13) ? r->cfg->starting_ms : runner_col(&res, 13);
	t->deadline = time_boot_ms() + left;
	t->log_id = runner_col(&res, 14);
	t->question_ref = runner_text(r, &res, 15);
	t->answer = runner_text(r, &res, 16);
	if (!t->exec_id)
		t->exec_id = runner_col(&res, 17);
	last_seq = runner_col(&res, 18);
	trace_init(&t->trace, t->run_id, t->n, last_seq);
	t->agent = agent_find(t->agent_name);
	t->began = time_boot_ms();
	return !t->exec_id || exec_read(t, err);
}

static bool starting_body(struct runner *r, void *arg, struct err *err)
{
	struct turn_job *t = arg;

	return db_query(r->db, Q_WORKER_TURN_STARTING,
		ARGS(db_i64(t->id), db_i64(r->job.epoch), db_i64(r->cfg->starting_ms)), NULL, err);
}

bool turn_set_starting(struct turn_job *t, struct err *err)
{
	return runner_write(t->r, starting_body, t, err);
}

static const char *argv_json(struct runner *r, const char *const *argv)
{
	CLEANUP(json) struct json_object *a = json_new_array();

	for (size_t i = 0; argv[i]; i++)
		json_push_text(a, argv[i]);
	return json_text(a, r->pool);
}

static bool running_row(struct turn_job *t, struct err *err)
{
	struct runner *r = t->r;

	return db_query(r->db, Q_WORKER_TURN_RUNNING,
		ARGS(db_i64(t->id), db_i64(r->job.epoch), db_i64(t->exec_id),
			db_i64(r->cfg->running_ms)),
		NULL, err);
}

static bool running_body(struct runner *r, void *arg, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct turn_job *t = arg;
	char name[32], data[256];

	random_id(name, sizeof(name), "exec-", 16);
	if (!db_query(r->db, Q_WORKER_EXEC_ADD,
		    ARGS(db_i64(r->job.account_id), db_text(name), db_i64(r->box.id),
			    db_i64(t->run_id), db_i64(t->stream), db_text("drive"),
			    db_text(argv_json(r, t->agent->argv)), db_text(t->trees.cwd),
			    db_i64(t->log_id), db_i64(t->log_base)),
		    &res, err))
		return false;
	t->exec_id = result_i64(&res, 0, 0);
	(void)snprintf(name, sizeof(name), "%s", result_text(&res, 0, 1));
	(void)snprintf(data, sizeof(data), "{\"box\":\"%s\",\"exec\":\"%s\"}", r->box.name, name);
	return running_row(t, err) &&
	       trace_write(&t->trace, r, "system", NULL, "session started", data, 1, err) &&
	       trace_write(&t->trace, r, "tool", name, t->agent->name, "{}", 2, err);
}

bool turn_set_running(struct turn_job *t, struct err *err)
{
	if (!runner_write(t->r, running_body, t, err))
		return err_wrap(err, "turn running");
	t->trace.last_seq += 2;
	t->deadline = time_boot_ms() + t->r->cfg->running_ms;
	runner_hint(t->r, 0, t->run_id);
	return true;
}

static bool answering_body(struct runner *r, void *arg, struct err *err)
{
	struct turn_job *t = arg;

	return running_row(t, err) &&
	       trace_write(&t->trace, r, "answer", t->question_ref, t->message, NULL, 1, err);
}

bool turn_set_answering(struct turn_job *t, struct err *err)
{
	if (!runner_write(t->r, answering_body, t, err))
		return err_wrap(err, "turn answering");
	t->trace.last_seq += 1;
	t->deadline = time_boot_ms() + t->r->cfg->running_ms;
	runner_hint(t->r, 0, t->run_id);
	return true;
}

static bool started_body(struct runner *r, void *arg, struct err *err)
{
	struct turn_job *t = arg;

	return db_query(r->db, Q_WORKER_EXEC_STARTED,
		ARGS(db_i64(t->exec_id), db_i64(r->job.epoch)), NULL, err);
}

bool turn_set_started(struct turn_job *t, struct err *err)
{
	if (t->exec_known)
		return true;
	t->exec_known = true;
	return runner_write(t->r, started_body, t, err);
}

struct exited {
	struct turn_job *t;
	const struct follow *f;
};

static bool exited_body(struct runner *r, void *arg, struct err *err)
{
	const struct exited *x = arg;
	const struct follow *f = x->f;
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
		(long long)f->exit_code, (long long)(time_boot_ms() - x->t->began));
	return db_query(r->db, Q_WORKER_EXEC_FINISH,
		       ARGS(db_i64(x->t->exec_id),
			       db_text(f->end == FOLLOW_EXIT ? "done" : "failed"),
			       db_text(f->oom	      ? "oom"
				       : f->timed_out ? "timeout"
						      : NULL),
			       db_opt(f->exit_code, -1), db_opt(f->signal, -1),
			       db_bool(f->timed_out), db_bool(f->oom), db_text(f->usage)),
		       NULL, err) &&
	       trace_write(&x->t->trace, r, "result", NULL, text, data, 1, err);
}

bool turn_set_exited(struct turn_job *t, const struct follow *f, struct err *err)
{
	struct exited x = {.t = t, .f = f};

	if (!runner_write(t->r, exited_body, &x, err))
		return err_wrap(err, "exec ended");
	t->trace.last_seq += 1;
	t->exec_ended = true;
	t->exit_code = f->exit_code;
	t->signal = f->signal;
	t->timed_out = f->timed_out;
	t->oom = f->oom;
	t->cancelled = f->cancelled;
	runner_hint(t->r, 0, t->run_id);
	return true;
}

static bool turn_end_row(struct turn_job *t, const char *state, const char *reason,
	const char *detail, struct err *err)
{
	int64_t code = t->exit_code >= 0 ? t->exit_code : t->signal >= 0 ? 128 + t->signal : -1;

	return db_query(t->r->db, Q_WORKER_TURN_FINISH,
		ARGS(db_i64(t->id), db_text(state), db_text(reason), db_text(detail),
			db_opt(code, -1), db_opt(t->signal, -1), db_opt(t->results.patch_id, 0),
			db_opt(t->results.bundle_id, 0)),
		NULL, err);
}

static bool asked_body(struct runner *r, void *arg, struct err *err)
{
	const struct exited *x = arg;
	struct turn_job *t = x->t;

	return db_query(r->db, Q_WORKER_QUESTION_ADD,
		       ARGS(db_i64(r->job.account_id), db_i64(t->run_id), db_i64(t->id),
			       db_text(x->f->question_id), db_text(x->f->question)),
		       NULL, err) &&
	       trace_write(
		       &t->trace, r, "question", x->f->question_id, x->f->question, NULL, 1, err) &&
	       turn_end_row(t, "asked", NULL, NULL, err);
}

bool turn_set_asked(struct turn_job *t, const struct follow *f, struct err *err)
{
	struct exited x = {.t = t, .f = f};

	if (!runner_write(t->r, asked_body, &x, err))
		return err_wrap(err, "turn asked");
	t->state = "asked";
	runner_hint(t->r, 0, t->run_id);
	kill_point("after_question");
	return true;
}

static bool asked_saved_body(struct runner *r, void *arg, struct err *err)
{
	struct turn_job *t = arg;

	return db_query(r->db, Q_WORKER_TURN_SAVED,
		       ARGS(db_i64(t->id), db_opt(t->results.patch_id, 0),
			       db_opt(t->results.bundle_id, 0)),
		       NULL, err) &&
	       results_replace(r, &t->results, t->run_id, t->id, err) &&
	       runner_job_finish(r, "asked", err);
}

bool turn_set_asked_saved(struct turn_job *t, struct err *err)
{
	kill_point("asked_before_finish");
	if (!runner_write(t->r, asked_saved_body, t, err))
		return err_wrap(err, "results of the asking turn");
	runner_hint(t->r, 0, t->run_id);
	return true;
}

struct ended {
	struct turn_job *t;
	const char *state, *reason, *detail;
};

static bool ended_body(struct runner *r, void *arg, struct err *err)
{
	const struct ended *e = arg;

	return turn_end_row(e->t, e->state, e->reason, e->detail, err) &&
	       (!e->t->saved || results_replace(r, &e->t->results, e->t->run_id, e->t->id, err)) &&
	       runner_job_finish(r, e->state, err);
}

bool turn_set_ended(struct turn_job *t, const char *state, const char *reason, const char *detail,
	struct err *err)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(2048);
	struct ended e = {.t = t, .state = state, .reason = reason};

	/* messages quote the box and are cut: a row takes nothing but whole characters, and a turn
	 * whose end cannot be written would be done again for ever */
	if (detail) {
		text_add_sane(&sane, detail, strlen(detail));
		e.detail = sane.data;
	}
	kill_point("before_finish");
	if (!runner_write(t->r, ended_body, &e, err))
		return err_wrap(err, "turn ended");
	runner_hint(t->r, 0, t->run_id);
	kill_point("after_finish");
	return true;
}
