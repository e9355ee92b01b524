/*
 * The queue over its statements (sql/queries/job.sql), which is where the rules are.
 */
#include "job.h"

#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"

/* more jobs than one worker can hold, by far */
#define LIST_MAX 65536
/* a claim may lose its row to another's unique index this often before we call it an error */
#define CLAIM_TRIES 32

bool fence_lost(const struct fence *f, struct err *err)
{
	(void)err_set(err, ERR_CONFLICT, "job %" PRId64 ": the lease of epoch %" PRId64 " is lost",
		f->job_id, f->epoch);
	return err_advise(err, "fence_lost", NULL);
}

bool is_fence_lost(const struct err *err)
{
	return err->code == ERR_CONFLICT && !strcmp(err->reason, "fence_lost");
}

bool fence_check(const struct fence *f, const struct result *res, const char *what, struct err *err)
{
	if (!res->rows || !result_i64(res, 0, 0))
		return fence_lost(f, err);
	if (result_i64(res, 0, 1))
		return true;
	(void)err_set(err, ERR_CONFLICT, "%s", what);
	return err_advise(err, "state", NULL);
}

/* The columns job_claim and job_load begin with. */
static struct job *job_read(const struct result *res, struct pool *pool)
{
	struct job *job = POOL_NEW(pool, struct job);

	job->fence.job_id = result_i64(res, 0, 0);
	job->fence.epoch = result_i64(res, 0, 1);
	job->account_id = result_i64(res, 0, 2);
	job->kind = pool_strdup(pool, result_text(res, 0, 3));
	job->lane = pool_strdup(pool, result_text(res, 0, 4));
	job->box_id = result_i64(res, 0, 5);
	job->run_id = result_i64(res, 0, 6);
	job->turn_id = result_i64(res, 0, 7);
	job->exec_id = result_i64(res, 0, 8);
	job->payload = pool_strdup(pool, result_text(res, 0, 9));
	job->attempts = result_i64(res, 0, 10);
	job->request_id = pool_strdup(pool, result_text(res, 0, 11));
	job->cancelled = result_bool(res, 0, 12);
	return job;
}

bool job_hand_back(
	struct db *db, const struct fence *f, int64_t delay_ms, bool keep_host, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	return db_query(db, Q_JOB_HAND_BACK,
		       ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(delay_ms),
			       db_bool(keep_host)),
		       &res, err) ||
	       err_wrap(err, "hand job back");
}

bool job_claim(struct db *db, struct pool *pool, const char *host, const char *owner,
	const char *const *kinds, size_t nkinds, int64_t lease_ms, struct job **out,
	struct err *err)
{
	CLEANUP(result) struct result res = {0};
	CLEANUP(buf) struct buf list = BUF_INIT(LIST_MAX);

	array_open(&list);
	for (size_t i = 0; i < nkinds; i++)
		array_add_text(&list, kinds[i]);
	array_close(&list);
	for (int left = CLAIM_TRIES;; left--) {
		if (db_query(db, Q_JOB_CLAIM,
			    ARGS(db_text(host), db_text(owner), db_text(list.data),
				    db_i64(lease_ms)),
			    &res, err))
			break;
		/* another claimer began a job of the same box and lane in the same instant */
		if (!left || err->code != ERR_CONFLICT ||
			strcmp(err->reason, "jobs_one_per_lane") != 0)
			return err_wrap(err, "claim job");
	}
	if (!res.rows) {
		*out = NULL;
	} else if (result_bool(&res, 0, 13)) {
		*out = job_read(&res, pool);
	} else {
		const struct fence f = {result_i64(&res, 0, 0), result_i64(&res, 0, 1)};

		*out = NULL;
		return job_hand_back(db, &f, 0, false, err);
	}
	return true;
}

bool job_load(
	struct db *db, struct pool *pool, const struct fence *f, struct job **out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_JOB_LOAD, ARGS(db_i64(f->job_id), db_i64(f->epoch)), &res, err))
		return err_wrap(err, "load job");
	if (!res.rows)
		return fence_lost(f, err);
	*out = job_read(&res, pool);
	return true;
}

bool job_renew(struct db *db, struct pool *pool, const char *owner, const struct lease *held,
	size_t nheld, int64_t lease_ms, struct lease **kept, size_t *nkept, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	CLEANUP(buf) struct buf ids = BUF_INIT(LIST_MAX);
	CLEANUP(buf) struct buf epochs = BUF_INIT(LIST_MAX);

	array_open(&ids);
	array_open(&epochs);
	for (size_t i = 0; i < nheld; i++) {
		array_add_i64(&ids, held[i].fence.job_id);
		array_add_i64(&epochs, held[i].fence.epoch);
	}
	array_close(&ids);
	array_close(&epochs);
	if (!db_query(db, Q_JOB_RENEW,
		    ARGS(db_text(owner), db_text(ids.data), db_text(epochs.data), db_i64(lease_ms)),
		    &res, err))
		return err_wrap(err, "renew leases");
	*nkept = (size_t)res.rows;
	*kept = POOL_ARRAY(pool, struct lease, *nkept);
	for (int i = 0; i < res.rows; i++) {
		struct lease *l = &(*kept)[i];

		l->fence.job_id = result_i64(&res, i, 0);
		l->fence.epoch = result_i64(&res, i, 1);
		l->cancelled = result_bool(&res, i, 2);
	}
	return true;
}

bool job_fence(struct db *db, const struct fence *f, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_JOB_FENCE, ARGS(db_i64(f->job_id), db_i64(f->epoch)), &res, err))
		return err_wrap(err, "fence");
	return res.rows || fence_lost(f, err);
}

bool job_finish(struct db *db, const struct fence *f, const char *outcome, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_JOB_FINISH, ARGS(db_i64(f->job_id), db_i64(f->epoch), db_text(outcome)),
		    &res, err))
		return err_wrap(err, "finish job");
	return res.affected || fence_lost(f, err);
}

/* Statements that answer how many jobs they queued again. */
static bool requeue(
	struct db *db, int q, const struct db_arg *args, size_t nargs, int64_t *n, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, q, args, nargs, &res, err))
		return err_wrap(err, "requeue jobs");
	*n = result_i64(&res, 0, 0);
	return true;
}

bool job_reap(struct db *db, int64_t *reaped, struct err *err)
{
	return requeue(db, Q_JOB_REAP, NO_ARGS, reaped, err);
}

bool job_release(struct db *db, const char *owner, int64_t *released, struct err *err)
{
	return requeue(db, Q_JOB_RELEASE, ARGS(db_text(owner)), released, err);
}

bool job_take_host(struct db *db, const char *host, int64_t *taken, struct err *err)
{
	return requeue(db, Q_JOB_TAKE_HOST, ARGS(db_text(host)), taken, err);
}

bool job_add_destroy(struct db *db, int64_t box_id, const char *reason, const char *request_id,
	bool *added, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_JOB_ADD_DESTROY,
		    ARGS(db_i64(box_id), db_text(reason), db_text(request_id)), &res, err))
		return err_wrap(err, "destroy box");
	*added = res.affected > 0;
	return true;
}

bool job_drop_box(
	struct db *db, const struct fence *f, int64_t box_id, const char *outcome, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_JOB_DROP_BOX,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id), db_text(outcome)),
		    &res, err))
		return err_wrap(err, "end jobs of the box");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}
