/*
 * Delegate, resume and tear down over sql/queries/run.sql. Each that touches an existing run locks
 * its box first and reads the state afterwards: a row lock waits for the other's commit, and only a
 * later statement sees what that commit did.
 */
#include "run.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"

const char *const run_state_names[] = {
	[RUN_QUEUED] = "queued",
	[RUN_STARTING] = "starting",
	[RUN_RUNNING] = "running",
	[RUN_WAITING] = "waiting",
	[RUN_DONE] = "done",
	[RUN_FAILED] = "failed",
	[RUN_STOPPED] = "stopped",
	[RUN_LOST] = "lost",
};
static_assert(
	sizeof(run_state_names) / sizeof(run_state_names[0]) == RUN_STATE__COUNT, "a name each");

static bool upload_used(const char *name, struct err *err)
{
	(void)err_set(err, ERR_CONFLICT, "upload %s belongs to a run already", name);
	return err_advise(err, "upload_used", "upload the tree again");
}

bool run_find_upload(
	struct db *db, int64_t account_id, const char *upload, int64_t *id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_FIND_UPLOAD, ARGS(db_i64(account_id), db_text(upload)), &res, err))
		return false;
	if (!res.rows) {
		(void)err_set(err, ERR_NOT_FOUND, "no upload %s", upload);
		return err_advise(err, "no_upload",
			"Send the tree with POST /upload?name=tree.tar, and use the upload that it "
			"answers.");
	}
	if (!result_bool(&res, 0, 1)) {
		(void)err_set(err, ERR_CONFLICT, "upload %s is not complete", upload);
		return err_advise(err, "upload_incomplete", "upload the tree again");
	}
	if (result_bool(&res, 0, 2))
		return upload_used(upload, err);
	*id = result_i64(&res, 0, 0);
	return true;
}

static bool upload_take(
	struct db *db, const struct run_new *in, int64_t upload_id, int64_t run_id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_TAKE_UPLOAD,
		    ARGS(db_i64(in->account_id), db_i64(upload_id), db_i64(run_id)), &res, err))
		return false;
	return res.rows || upload_used(in->upload, err);
}

bool run_delegate(struct db *db, const struct run_new *in, struct run_made *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct run_made made = {0};
	int64_t upload_id = 0;

	if (in->upload && !run_find_upload(db, in->account_id, in->upload, &upload_id, err))
		return err_wrap(err, "delegate");
	random_id(made.name, sizeof(made.name), "run-", 16);
	random_id(made.box_name, sizeof(made.box_name), "box-", 16);
	if (!db_query(db, Q_RUN_DELEGATE,
		    ARGS(db_i64(in->account_id), db_text(made.name), db_text(in->title),
			    db_text(in->task), db_text(in->agent), db_ref(upload_id),
			    db_text(in->repos), db_text(in->created_by), db_text(made.box_name),
			    db_text(in->runtime), db_text(in->image), db_text(in->size_class),
			    db_i64(in->memory_bytes), db_i64(in->cpus), db_ref(in->disk_bytes),
			    db_i64(in->starting_ms), db_i64(in->max_ms), db_text(in->request_id),
			    db_text(in->image_key)),
		    &res, err))
		return err_wrap(err, "delegate");
	made.run_id = result_i64(&res, 0, 0);
	made.box_id = result_i64(&res, 0, 1);
	made.log_id = result_i64(&res, 0, 2);
	made.turn_id = result_i64(&res, 0, 3);
	made.job_id = result_i64(&res, 0, 4);
	(void)snprintf(made.box_name, sizeof(made.box_name), "%s", result_text(&res, 0, 5));
	if (upload_id && !upload_take(db, in, upload_id, made.run_id, err))
		return err_wrap(err, "delegate");
	*out = made;
	return true;
}

bool run_lock_box(struct db *db, int64_t account_id, const char *run, int64_t *run_id,
	int64_t *box_id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_LOCK_BOX, ARGS(db_i64(account_id), db_text(run)), &res, err))
		return err_wrap(err, "find run");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no run %.40s", run);
	*run_id = result_i64(&res, 0, 0);
	*box_id = result_i64(&res, 0, 1);
	return true;
}

/* Why the run cannot be answered, by the row of run_steer; true: it can. */
static bool can_answer(const struct result *s, struct pool *pool, int64_t question_id,
	struct run_resumed *out, struct err *err)
{
	const char *state = result_text(s, 0, 0), *box_state = result_text(s, 0, 2);

	if (question_id && result_is_null(s, 0, 5))
		return err_set(err, ERR_NOT_FOUND, "the run has no such question");
	if (!result_is_null(s, 0, 6) && (question_id || strcmp(state, "waiting") != 0)) {
		out->answer = pool_strdup(pool, result_text(s, 0, 6));
		out->answered_by = pool_strdup(pool, result_text(s, 0, 7));
		(void)err_set(err, ERR_CONFLICT, "the question was answered by %.40s: %.120s",
			out->answered_by, out->answer);
		return err_advise(err, "answered", "watch the run: it goes on with that answer");
	}
	if (strcmp(box_state, "ready") != 0 && strcmp(box_state, "creating") != 0) {
		(void)err_set(err, ERR_CONFLICT, "the run's box is %s", box_state);
		return err_advise(err, "box_ended", "delegate the task again");
	}
	if (strcmp(state, "waiting") != 0 || result_is_null(s, 0, 5)) {
		(void)err_set(err, ERR_CONFLICT, "the run is %s and asks nothing", state);
		return err_advise(err, "not_waiting", NULL);
	}
	return true;
}

bool run_resume(struct db *db, struct pool *pool, int64_t account_id, const char *run,
	int64_t question_id, const char *message, const char *caller, const char *request_id,
	struct run_resumed *out, struct err *err)
{
	CLEANUP(result) struct result s = {0};
	CLEANUP(result) struct result res = {0};
	int64_t box_id;

	*out = (struct run_resumed){0};
	if (!run_lock_box(db, account_id, run, &out->run_id, &box_id, err) ||
		!db_query(
			db, Q_RUN_STEER, ARGS(db_i64(out->run_id), db_ref(question_id)), &s, err) ||
		!can_answer(&s, pool, question_id, out, err))
		return err_wrap(err, "resume");
	out->n = result_i64(&s, 0, 1) + 1;
	if (!db_query(db, Q_RUN_ANSWER,
		    ARGS(db_i64(result_i64(&s, 0, 5)), db_text(message), db_text(caller),
			    db_i64(box_id), db_i64(out->n), db_ref(result_i64(&s, 0, 8)),
			    db_text(result_text(&s, 0, 3)), db_text(request_id)),
		    &res, err))
		return err_wrap(err, "resume");
	/* nobody answers without the lock on the box */
	assert(res.rows == 1);
	out->turn_id = result_i64(&res, 0, 0);
	out->job_id = result_i64(&res, 0, 1);
	return true;
}

bool run_of_box(
	struct db *db, struct pool *pool, int64_t box_id, struct run_of_box *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_OF_BOX, ARGS(db_i64(box_id)), &res, err))
		return err_wrap(err, "run of the box");
	*out = (struct run_of_box){0};
	if (res.rows)
		*out = (struct run_of_box){
			.id = result_i64(&res, 0, 0),
			.source = pool_strdup(pool, result_text(&res, 0, 1)),
			.repos = pool_strdup(pool, result_text(&res, 0, 2)),
			.upload_id = result_i64(&res, 0, 3),
			.turn_id = result_i64(&res, 0, 4),
		};
	return true;
}

bool run_set_session(
	struct db *db, const struct fence *f, int64_t run_id, const char *session, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_SET_SESSION,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(run_id), db_text(session)),
		    &res, err))
		return err_wrap(err, "session of the run");
	return fence_check(f, &res, "there is no such run", err);
}

bool run_model_heard(struct db *db, int64_t run_id, int64_t *ago_ms, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_MODEL_HEARD, ARGS(db_i64(run_id)), &res, err))
		return err_wrap(err, "model calls of the run");
	*ago_ms = result_is_null(&res, 0, 0) ? -1 : result_i64(&res, 0, 0);
	return true;
}

bool run_cost_before(struct db *db, int64_t run_id, int64_t exec_id, double *usd, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_RUN_COST_BEFORE, ARGS(db_i64(run_id), db_i64(exec_id)), &res, err))
		return err_wrap(err, "cost of the run");
	*usd = strtod(result_text(&res, 0, 0), NULL);
	return true;
}

bool run_teardown(struct db *db, int64_t account_id, const char *run, const char *request_id,
	int64_t destroying_ms, int64_t *run_id, struct err *err)
{
	int64_t box_id;
	bool added;

	return (run_lock_box(db, account_id, run, run_id, &box_id, err) &&
		       db_query(db, Q_RUN_DESTROYING, ARGS(db_i64(box_id), db_i64(destroying_ms)),
			       NULL, err) &&
		       job_add_destroy(db, box_id, "operator", request_id, &added, err)) ||
	       err_wrap(err, "tear down");
}
