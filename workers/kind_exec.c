/*
 * The job kind `exec`: one process in a box that a run has, in a lane and with a log of its own.
 */
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "follow.h"
#include "guest.h"
#include "json.h"
#include "kinds.h"
#include "logstore.h"
#include "pool.h"
#include "provision.h"
#include "queries.h"
#include "runner.h"
#include "text.h"

#define EXEC_MS (10 * 60 * 1000) /* where the caller named no limit */
#define LEAVE_MS 15000 /* boxd ends it by its own clock; ours is for a box that does not */

extern const struct kind kind_exec;

struct exec_job {
	struct runner *r;
	struct guest g;
	struct logstore log;
	uint32_t stream;
	const char *state, *cwd, *lane;
	struct json_object *argv;
	const unsigned char *stdin_data;
	size_t stdin_size;
	bool has_stdin;
	int64_t timeout_ms, log_id, age_ms;
	/* the end */
	struct follow f;
	const char *reason;
};

static bool exec_read(struct exec_job *x, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct runner *r = x->r;
	const char *argv;

	if (!runner_read(r, Q_WORKER_EXEC_LOAD, ARGS(db_i64(r->job.exec_id)), &res, err))
		return err_wrap(err, "load exec");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no exec %lld", (long long)r->job.exec_id);
	x->stream = (uint32_t)runner_col(&res, 0);
	x->state = runner_text(r, &res, 1);
	argv = result_text(&res, 0, 2);
	x->has_stdin = !result_is_null(&res, 0, 3);
	if (x->has_stdin)
		x->stdin_data = result_bytes(&res, r->pool, 0, 3, &x->stdin_size);
	x->cwd = runner_text(r, &res, 4);
	x->timeout_ms = runner_col(&res, 5);
	x->log_id = runner_col(&res, 6);
	x->lane = runner_text(r, &res, 8);
	x->age_ms = runner_col(&res, 14);
	if (x->timeout_ms <= 0)
		x->timeout_ms = EXEC_MS;
	return json_parse(argv, strlen(argv), &x->argv, err);
}

static bool started_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return db_query(r->db, Q_WORKER_EXEC_STARTED,
		ARGS(db_i64(r->job.exec_id), db_i64(r->job.epoch)), NULL, err);
}

static bool on_started(void *arg, struct err *err)
{
	struct exec_job *x = arg;

	return runner_write(x->r, started_body, x, err);
}

static struct db_arg opt(int64_t v)
{
	return v < 0 ? db_text(NULL) : db_i64(v);
}

static bool finish_body(struct runner *r, void *arg, struct err *err)
{
	const struct exec_job *x = arg;
	bool ended = x->f.end == FOLLOW_EXIT && !x->reason;
	const char *reason = x->reason	      ? x->reason
			     : x->f.oom	      ? "oom"
			     : x->f.cancelled ? "operator"
			     : x->f.timed_out ? "timeout"
					      : NULL;

	return db_query(r->db, Q_WORKER_EXEC_FINISH,
		       ARGS(db_i64(r->job.exec_id), db_text(ended ? "done" : "failed"),
			       db_text(reason), opt(x->f.exit_code), opt(x->f.signal),
			       db_bool(x->f.timed_out), db_bool(x->f.oom), db_text(x->f.usage)),
		       NULL, err) &&
	       runner_job_finish(r, ended ? "done" : "failed", err);
}

static bool exec_end(struct exec_job *x, const char *reason, struct err *err)
{
	x->reason = reason;
	return runner_write(x->r, finish_body, x, err) || x->r->stale;
}

/* A box that is still being made is worth waiting for; any other that is not ready is not. */
static bool box_wait(struct exec_job *x, int64_t deadline, struct err *err)
{
	struct runner *r = x->r;

	while (!strcmp(r->box.state, "creating")) {
		if (time_boot_ms() > deadline)
			return err_set(err, ERR_TIMEOUT, "the box did not become ready in time");
		if (!runner_sleep(r, 100) || r->cancel)
			return err_set(err, ERR_BUSY, "interrupted");
		if (!runner_load_box(r, err))
			return false;
	}
	return true;
}

/* What is longer than this goes in as a file, which is there before the EXEC: a runner that dies
 * in between leaves no process that waits for the rest of its input. */
#define STDIN_INLINE (64 * 1024)

static const char *stdin_file(struct exec_job *x)
{
	return pool_printf(x->r->pool, "stdin-%u", x->stream);
}

static const char *exec_text(struct exec_job *x)
{
	const char **argv = POOL_ARRAY(x->r->pool, const char *, json_count(x->argv) + 5);
	size_t n = 0;

	if (x->stdin_size > STDIN_INLINE) {
		argv[n++] = "/bin/sh";
		argv[n++] = "-c";
		argv[n++] = "exec <\"$0\" && rm -f \"$0\" && exec \"$@\"";
		argv[n++] = pool_printf(x->r->pool, "/run/asb/%s", stdin_file(x));
	}
	for (size_t i = 0; i < json_count(x->argv); i++)
		if (json_as_text(json_at(x->argv, i), &argv[n]))
			n++;
	return guest_exec_json(&x->g, argv, NULL, x->cwd ? x->cwd : "/workspace", "agent",
		x->has_stdin && x->stdin_size <= STDIN_INLINE, x->timeout_ms);
}

static bool exec_send(struct exec_job *x, int64_t deadline, struct err *err)
{
	const char *text = exec_text(x);

	if (x->stdin_size > STDIN_INLINE &&
		!guest_file_in(&x->g, "/run/asb", stdin_file(x), "agent", 0600, x->stdin_data,
			x->stdin_size, deadline, err))
		return err_wrap(err, "stdin");
	if (!guest_send(&x->g, WIRE_EXEC, x->stream, text, strlen(text), err))
		return false;
	if (x->stdin_size > STDIN_INLINE)
		return true;
	for (size_t at = 0; at < x->stdin_size;) {
		size_t n = x->stdin_size - at < 32768 ? x->stdin_size - at : 32768;

		if (!guest_send(&x->g, WIRE_STDIN, x->stream, x->stdin_data + at, n, err))
			return false;
		at += n;
	}
	return !x->has_stdin || guest_send(&x->g, WIRE_EOF, x->stream, NULL, 0, err);
}

static bool exec_follow(struct exec_job *x, struct err *err)
{
	struct runner *r = x->r;
	int64_t deadline = time_boot_ms() + r->cfg->starting_ms;

	if (!box_wait(x, deadline, err) ||
		!provision_box(r, &x->g, x->lane, x->stream, deadline, err))
		return false;
	if (!guest_has_exec(&x->g, x->stream)) {
		if (strcmp(x->state, "queued")) {
			(void)err_set(
				err, ERR_UPSTREAM, "the box does not know the process any more");
			return err_advise(err, "agent_lost", NULL);
		}
		if (!exec_send(x, deadline, err))
			return false;
	}
	x->f.g = &x->g;
	x->f.log = &x->log;
	x->f.stream = x->stream;
	x->f.deadline = time_boot_ms() + x->timeout_ms + LEAVE_MS;
	x->f.started = on_started;
	x->f.arg = x;
	return follow(&x->f, err);
}

static bool exec_steps(struct exec_job *x, struct err *err)
{
	struct err e = {0};

	x->f.exit_code = x->f.signal = -1;
	x->f.end = FOLLOW_TIMEOUT;
	if (!logstore_open(&x->log, x->r, x->log_id, 0, err))
		return false;
	if (!exec_follow(x, &e)) {
		if (x->r->stale || x->r->term || !strcmp(e.reason, "stale_epoch"))
			return true;
		if (e.code == ERR_INTERNAL) {
			*err = e;
			return false;
		}
		return exec_end(x,
			x->r->cancel  ? "operator"
			: e.reason[0] ? e.reason
				      : err_info(e.code)->name,
			err);
	}
	if (x->f.end == FOLLOW_TERM)
		return true;
	if (!exec_end(x, x->f.end == FOLLOW_REFUSED ? "agent_error" : NULL, err))
		return false;
	/* after the commit: the box may forget it */
	return x->f.end != FOLLOW_EXIT || guest_ack_exit(&x->g, x->stream, &e) || true;
}

static bool exec_run(struct runner *r, struct err *err)
{
	struct exec_job *x = POOL_NEW(r->pool, struct exec_job);
	bool ok;

	x->r = r;
	x->g = GUEST_INIT(r);
	if (!exec_read(x, err)) {
		json_free(x->argv);
		return r->stale;
	}
	ok = exec_steps(x, err);
	guest_detach(&x->g);
	cleanup_logstore(&x->log);
	json_free(x->argv);
	return ok || r->stale;
}

const struct kind kind_exec = {
	.name = "exec",
	.lane = "exec",
	.run = exec_run,
};
