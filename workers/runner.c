/*
 * The runner's ground: control messages, the job it holds, and patience with a database that is
 * away.
 */
#include "runner.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "db.h"
#include "json.h"
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

bool runner_is_stale(struct runner *r, const struct err *err)
{
	/* "state" while the fence holds: a teardown has moved the row, and its job ends ours */
	r->stale |=
		is_fence_lost(err) || (err->code == ERR_CONFLICT && !strcmp(err->reason, "state"));
	return r->stale;
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

bool runner_try(struct runner *r, runner_body *body, void *arg, struct err *err)
{
	int64_t step_ms = 50;

	while (!body(r, arg, err))
		if (err->code != ERR_BUSY || !back_off(r, &step_ms)) {
			(void)runner_is_stale(r, err);
			return false;
		}
	return true;
}

struct write {
	runner_body *body;
	void *arg;
};

static bool write_body(struct runner *r, void *arg, struct err *err)
{
	const struct write *w = arg;
	CLEANUP(tx) struct tx tx = {0};

	return db_begin(r->db, 0, &tx, err) && w->body(r, w->arg, err) && db_commit(&tx, err);
}

bool runner_write(struct runner *r, runner_body *body, void *arg, struct err *err)
{
	struct write w = {.body = body, .arg = arg};

	return runner_try(r, write_body, &w, err);
}

static bool box_body(struct runner *r, void *arg, struct err *err)
{
	return box_get(r->db, r->pool, r->job.box_id, arg, err);
}

bool runner_load_box(struct runner *r, struct err *err)
{
	return runner_try(r, box_body, &r->box, err);
}

static bool job_body(struct runner *r, void *arg, struct err *err)
{
	struct job *job = NULL;

	if (!job_load(r->db, r->pool, arg, &job, err))
		return false;
	r->job = *job;
	return true;
}

bool runner_load(struct runner *r, const struct fence *f, struct err *err)
{
	struct fence fence = *f;

	if (!runner_try(r, job_body, &fence, err))
		return false;
	r->cancel |= r->job.cancelled;
	return !r->job.box_id || runner_load_box(r, err);
}
