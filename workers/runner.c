/*
 * The runner's ground: control messages, the fence, and patience with a database that is away.
 */
#include "runner.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "job.h"
#include "json.h"
#include "pool.h"
#include "queries.h"
#include "random.h"
#include "text.h"

void runner_control(struct runner *r)
{
	char msg[512];
	ssize_t n;

	while (r->worker >= 0) {
		CLEANUP(json) struct json_object *o = NULL;
		struct err err;
		bool yes;

		n = recv(r->worker, msg, sizeof(msg), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			(void)close(r->worker);
			r->worker = -1;
			r->term = true;
			return;
		}
		if (!json_parse(msg, (size_t)n, &o, &err))
			continue;
		if (json_get_bool(o, "cancel", &yes) && yes)
			r->cancel = true;
		if (json_get_bool(o, "term", &yes) && yes)
			r->term = true;
	}
}

void runner_hint(struct runner *r, int64_t log_id, int64_t run_id)
{
	char msg[128];
	char log[32] = "", run[32] = "";
	int n;

	if (r->worker < 0 || (!log_id && !run_id))
		return;
	if (log_id)
		(void)snprintf(log, sizeof(log), "%lld", (long long)log_id);
	if (run_id)
		(void)snprintf(run, sizeof(run), "%lld", (long long)run_id);
	n = snprintf(msg, sizeof(msg), "{\"log\":[%s],\"run\":[%s]}", log, run);
	/* a hint that does not fit is lost: listeners rescan */
	(void)send(r->worker, msg, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool runner_sleep(struct runner *r, int64_t ms)
{
	int64_t until = time_boot_ms() + ms, left = ms;

	while (left > 0 && !r->term) {
		struct pollfd p = {.fd = r->worker, .events = POLLIN};

		if (poll(&p, 1, (int)left) > 0)
			runner_control(r);
		left = until - time_boot_ms();
	}
	return !r->term;
}

/* Remembers that the fence is gone. */
static bool stale(struct runner *r, struct err *err)
{
	r->stale |= is_fence_lost(err);
	return false;
}

static struct fence fence_of(const struct runner *r)
{
	return (struct fence){.job_id = r->job.id, .epoch = r->job.epoch};
}

bool runner_begin(struct runner *r, struct tx *tx, struct err *err)
{
	struct fence f = fence_of(r);

	return (db_begin(r->db, 0, tx, err) && job_fence(r->db, &f, err)) || stale(r, err);
}

/* Half to one and a half times the step, doubling to 2 s: runners must not come back in step. */
static bool back_off(struct runner *r, int64_t *step_ms)
{
	unsigned char random;

	random_bytes(&random, 1);
	if (!runner_sleep(r, *step_ms / 2 + *step_ms * random / 255))
		return false;
	*step_ms = *step_ms < 1000 ? *step_ms * 2 : 2000;
	return true;
}

static bool write_once(struct runner *r, runner_body *body, void *arg, struct err *err)
{
	CLEANUP(tx) struct tx tx = {0};

	return runner_begin(r, &tx, err) && body(r, arg, err) && db_commit(&tx, err);
}

bool runner_write(struct runner *r, runner_body *body, void *arg, struct err *err)
{
	int64_t step_ms = 50;

	while (!write_once(r, body, arg, err))
		if (err->code != ERR_BUSY || !back_off(r, &step_ms))
			return false;
	return true;
}

bool runner_read(struct runner *r, int query, const struct db_arg *args, size_t nargs,
	struct result *res, struct err *err)
{
	int64_t step_ms = 50;

	while (!db_query(r->db, query, args, nargs, res, err))
		if (err->code != ERR_BUSY || !back_off(r, &step_ms))
			return false;
	return true;
}

bool runner_job_finish(struct runner *r, const char *outcome, struct err *err)
{
	struct fence f = fence_of(r);

	return job_finish(r->db, &f, outcome, err) || stale(r, err);
}

int64_t runner_col(const struct result *res, int col)
{
	return result_is_null(res, 0, col) ? 0 : result_i64(res, 0, col);
}

const char *runner_text(struct runner *r, const struct result *res, int col)
{
	return result_is_null(res, 0, col) ? NULL : pool_strdup(r->pool, result_text(res, 0, col));
}

bool runner_load_box(struct runner *r, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct box_row *b = &r->box;

	if (!runner_read(r, Q_WORKER_BOX_LOAD, ARGS(db_i64(r->job.box_id)), &res, err))
		return err_wrap(err, "load box");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no box %lld", (long long)r->job.box_id);
	b->id = r->job.box_id;
	b->name = runner_text(r, &res, 0);
	b->state = runner_text(r, &res, 1);
	b->runtime = runner_text(r, &res, 2);
	b->image = runner_text(r, &res, 3);
	b->size_class = runner_text(r, &res, 4);
	b->memory_bytes = runner_col(&res, 5);
	b->cpus = runner_col(&res, 6);
	b->host = runner_text(r, &res, 7);
	b->slot = result_is_null(&res, 0, 8) ? -1 : (int)runner_col(&res, 8);
	b->pid = runner_col(&res, 9);
	b->account_id = runner_col(&res, 11);
	b->expires_in_ms = runner_col(&res, 12);
	b->guest_boot_id = runner_text(r, &res, 13);
	return true;
}

bool runner_load(struct runner *r, int64_t job_id, int64_t epoch, struct err *err)
{
	struct fence f = {.job_id = job_id, .epoch = epoch};
	struct job *job = NULL;
	int64_t step_ms = 50;

	r->job.id = job_id;
	r->job.epoch = epoch;
	while (!job_load(r->db, r->pool, &f, &job, err))
		if (err->code != ERR_BUSY || !back_off(r, &step_ms)) {
			(void)stale(r, err);
			return err_wrap(err, "load job");
		}
	r->job.kind = job->kind;
	r->job.account_id = job->account_id;
	r->job.box_id = job->box_id;
	r->job.run_id = job->run_id;
	r->job.turn_id = job->turn_id;
	r->job.exec_id = job->exec_id;
	r->job.lane = job->lane;
	r->job.request_id = job->request_id;
	r->job.payload = job->payload;
	r->cancel |= job->cancelled;
	return !job->box_id || runner_load_box(r, err);
}
