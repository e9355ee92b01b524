/*
 * Execs over sql/queries/exec.sql.
 */
#include "exec.h"

#include <assert.h>

#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "job.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"
#include "run.h"

const char *const exec_state_names[] = {
	[EXEC_QUEUED] = "queued",
	[EXEC_RUNNING] = "running",
	[EXEC_DONE] = "done",
	[EXEC_FAILED] = "failed",
};
static_assert(
	sizeof(exec_state_names) / sizeof(exec_state_names[0]) == EXEC_STATE__COUNT, "a name each");

static struct db_arg bytes_or_null(const void *data, size_t n)
{
	return data ? db_bytes(data, n) : db_text(NULL);
}

static const char *code_hash(const struct exec_new *in, char hex[2 * SHA256_SIZE + 1])
{
	unsigned char hash[SHA256_SIZE];

	if (!in->code)
		return NULL;
	sha256(in->code, in->code_size, hash);
	hex_encode(hash, sizeof(hash), hex);
	return hex;
}

bool exec_add(struct db *db, int64_t account_id, int64_t box_id, int64_t run_id,
	const struct exec_new *in, const char *request_id, struct exec_made *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct exec_made made = {0};
	char hex[2 * SHA256_SIZE + 1];

	random_id(made.name, sizeof(made.name), "exec-", 16);
	if (!db_query(db, Q_EXEC_SUBMIT,
		    ARGS(db_i64(account_id), db_i64(box_id), db_ref(run_id), db_text(made.name),
			    db_text(in->argv), bytes_or_null(in->stdin_data, in->stdin_size),
			    db_text(in->cwd), db_ref(in->timeout_ms), db_text(request_id),
			    db_text(in->language), bytes_or_null(in->code, in->code_size),
			    db_text(code_hash(in, hex)), db_bool(in->background),
			    db_text(in->files)),
		    &res, err))
		return err_wrap(err, "exec");
	if (!res.rows) {
		(void)err_set(err, ERR_CONFLICT, "the run's box has ended");
		return err_advise(err, "box_ended", "delegate the task again");
	}
	made.id = result_i64(&res, 0, 0);
	made.stream = result_i64(&res, 0, 1);
	made.log_id = result_i64(&res, 0, 2);
	made.job_id = result_i64(&res, 0, 3);
	*out = made;
	return true;
}

bool exec_submit(struct db *db, int64_t account_id, const char *run, const struct exec_new *in,
	const char *request_id, struct exec_made *out, struct err *err)
{
	int64_t run_id, box_id;

	return (run_lock_box(db, account_id, run, &run_id, &box_id, err) ||
		       err_wrap(err, "exec")) &&
	       exec_add(db, account_id, box_id, run_id, in, request_id, out, err);
}

bool exec_open(struct db *db, const struct fence *f, int64_t box_id, int64_t run_id,
	const char *name, struct exec *e, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_EXEC_OPEN,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_text(name), db_i64(box_id),
			    db_i64(run_id), db_i64(e->stream), db_text(e->argv), db_text(e->cwd),
			    db_i64(e->log_id)),
		    &res, err))
		return err_wrap(err, "open exec");
	if (!fence_check(f, &res, "exec", err))
		return false;
	e->id = result_i64(&res, 0, 2);
	e->log_base = result_i64(&res, 0, 3);
	return true;
}

bool exec_get(struct db *db, struct pool *pool, int64_t id, struct exec *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int state;

	if (!db_query(db, Q_EXEC_GET, ARGS(db_i64(id)), &res, err))
		return err_wrap(err, "get exec");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such exec");
	state = name_find(exec_state_names, EXEC_STATE__COUNT, result_text(&res, 0, 9));
	assert(state >= 0);
	*out = (struct exec){
		.id = result_i64(&res, 0, 0),
		.stream = result_i64(&res, 0, 1),
		.lane = pool_strdup(pool, result_text(&res, 0, 2)),
		.argv = pool_strdup(pool, result_text(&res, 0, 3)),
		.cwd = pool_strdup(pool, result_text(&res, 0, 5)),
		.timeout_ms = result_i64(&res, 0, 6),
		.log_id = result_i64(&res, 0, 7),
		.log_base = result_i64(&res, 0, 8),
		.state = (enum exec_state)state,
		.exited = !result_is_null(&res, 0, 10),
		.exit_code = result_i64(&res, 0, 10),
		.signal = result_i64(&res, 0, 11),
		.timed_out = result_bool(&res, 0, 12),
		.oom = result_bool(&res, 0, 13),
		.language = pool_strdup(pool, result_text(&res, 0, 14)),
		.files = pool_strdup(pool, result_text(&res, 0, 16)),
	};
	if (!result_is_null(&res, 0, 4))
		out->stdin_data = result_bytes(&res, pool, 0, 4, &out->stdin_size);
	if (!result_is_null(&res, 0, 15))
		out->code = result_bytes(&res, pool, 0, 15, &out->code_size);
	return true;
}

bool exec_begin(struct db *db, const struct fence *f, int64_t id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_EXEC_START, ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(id)), &res,
		    err))
		return err_wrap(err, "start exec");
	return fence_check(f, &res, "the exec has ended", err);
}

static bool finish(struct db *db, int q, const struct fence *f, int64_t id,
	const struct exec_end *end, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	assert(end->state == EXEC_DONE || end->state == EXEC_FAILED);
	if (!db_query(db, q,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(id),
			    db_text(exec_state_names[end->state]), db_text(end->reason),
			    end->exited ? db_i64(end->exit_code) : db_text(NULL),
			    db_ref(end->signal), db_bool(end->timed_out), db_bool(end->oom),
			    db_text(end->usage), db_ref(end->ran_ms), db_text(end->checks)),
		    &res, err))
		return err_wrap(err, "finish exec");
	return fence_check(f, &res, "the exec has ended", err);
}

bool exec_finish(struct db *db, const struct fence *f, int64_t id, const struct exec_end *end,
	struct err *err)
{
	return finish(db, Q_EXEC_FINISH, f, id, end, err);
}

bool exec_finish_job(struct db *db, const struct fence *f, int64_t id, const struct exec_end *end,
	struct err *err)
{
	return finish(db, Q_EXEC_FINISH_JOB, f, id, end, err);
}

bool exec_stop_box(
	struct db *db, const struct fence *f, int64_t box_id, const char *reason, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_EXEC_STOP_BOX,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id), db_text(reason)),
		    &res, err))
		return err_wrap(err, "stop execs");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}
