/*
 * The job kind `exec`: one process in a box, in a lane and with a log of its own. In a sandbox it
 * is code that its language runs, as a file beside what else was sent along.
 */
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "exec.h"
#include "follow.h"
#include "guest.h"
#include "json.h"
#include "kinds.h"
#include "logstore.h"
#include "pool.h"
#include "provision.h"
#include "run_files.h"
#include "runner.h"
#include "text.h"

#define EXEC_MS (10 * 60 * 1000) /* where the caller named no limit */
#define LEAVE_MS 15000 /* boxd ends it by its own clock; ours is for a box that does not */

extern const struct kind kind_exec;

struct exec_job {
	struct runner *r;
	struct guest g;
	struct logstore log;
	struct exec exec;
	struct json_object *argv;
	/* the end */
	struct follow f;
	const char *reason;
	bool adopted; /* it was begun by an earlier runner */
};

static bool read_body(struct runner *r, void *arg, struct err *err)
{
	return exec_get(r->db, r->pool, r->job.exec_id, arg, err);
}

static bool exec_read(struct exec_job *x, struct err *err)
{
	if (!runner_try(x->r, read_body, &x->exec, err))
		return false;
	if (!x->exec.timeout_ms)
		x->exec.timeout_ms = EXEC_MS;
	return json_parse(x->exec.argv, strlen(x->exec.argv), &x->argv, err);
}

static bool begin_body(struct runner *r, void *arg, struct err *err)
{
	(void)arg;
	return exec_begin(r->db, &r->job.fence, r->job.exec_id, err);
}

static bool on_started(void *arg, struct err *err)
{
	struct exec_job *x = arg;

	return runner_try(x->r, begin_body, x, err);
}

/* It was killed and nobody has seen it dead: a sandbox is not handed on with that in it. */
static bool is_unproved(const struct exec_job *x)
{
	return !x->r->job.run_id && x->f.killed && x->f.end == FOLLOW_TIMEOUT;
}

static bool finish_body(struct runner *r, void *arg, struct err *err)
{
	const struct exec_job *x = arg;
	struct exec_end end = follow_exec_end(&x->f);
	bool destroy_added;

	if (x->reason) {
		end.state = EXEC_FAILED;
		end.reason = x->reason;
	}
	/* of one that an earlier runner began, the beginning was not seen here */
	if (x->f.checks && !x->adopted)
		end.checks = checks_json(x->f.checks, r->pool);
	if (is_unproved(x) &&
		!job_add_destroy(r->db, r->box.id, "timeout", NULL, &destroy_added, err))
		return false;
	return exec_finish_job(r->db, &r->job.fence, r->job.exec_id, &end, err);
}

static bool exec_end(struct exec_job *x, const char *reason, struct err *err)
{
	x->reason = reason;
	return runner_try(x->r, finish_body, x, err) || x->r->stale;
}

/* What is longer than this does not go with the EXEC, but as a file which is there before it: no
 * process waits for the rest of its input when a runner dies. */
#define STDIN_INLINE WIRE_PAYLOAD_MAX

static const char *stdin_file(struct exec_job *x)
{
	return pool_printf(x->r->pool, "stdin-%lld", (long long)x->exec.stream);
}

/* What lies before argv: long input is a file, and the code's is told by its path. */
static const char *const *exec_argv(struct exec_job *x, const char *code)
{
	const char **argv = POOL_ARRAY(x->r->pool, const char *, json_count(x->argv) + 6);
	size_t n = 0;

	if (x->exec.stdin_size > STDIN_INLINE) {
		argv[n++] = "/bin/sh";
		argv[n++] = "-c";
		argv[n++] = "exec <\"$0\" && rm -f \"$0\" && exec \"$@\"";
		argv[n++] = pool_printf(x->r->pool, "/run/asb/%s", stdin_file(x));
	}
	for (size_t i = 0; i < json_count(x->argv); i++)
		if (json_as_text(json_at(x->argv, i), &argv[n]))
			n++;
	argv[n] = code;
	return argv;
}

static const char *exec_cwd(const struct exec_job *x)
{
	return x->exec.cwd[0] ? x->exec.cwd : "/workspace";
}

/* What comes before the EXEC: whoever dies in between leaves nothing that runs. */
static bool files_send(
	struct exec_job *x, const struct run_file *code, int64_t deadline, struct err *err)
{
	if (x->exec.stdin_size > STDIN_INLINE &&
		!guest_file_in(&x->g, "/run/asb", stdin_file(x), "agent", 0600, x->exec.stdin_data,
			x->exec.stdin_size, deadline, err))
		return err_wrap(err, "stdin");
	if (x->exec.files[0] && !run_files_send(&x->g, exec_cwd(x), x->exec.files, deadline, err))
		return err_wrap(err, "files");
	if (code->path && !code->text &&
		!guest_file_in(&x->g, code->dir, code->name, "agent", 0600, x->exec.code,
			x->exec.code_size, deadline, err))
		return err_wrap(err, "code");
	return true;
}

static bool exec_send(struct exec_job *x, int64_t deadline, struct err *err)
{
	const struct run_file code = run_file_of(x->r->pool, &x->exec, exec_cwd(x));
	const struct guest_code sent = {.path = code.path, .text = code.text, .ahead = code.ahead};
	const void *input = x->exec.stdin_size <= STDIN_INLINE ? x->exec.stdin_data : NULL;
	const char *text;

	if (!files_send(x, &code, deadline, err))
		return false;
	text = guest_exec_json(&x->g, exec_argv(x, code.path), code.env, exec_cwd(x), "agent",
		input != NULL, x->exec.timeout_ms, NULL, code.path ? &sent : NULL);
	return guest_send_exec(
		&x->g, (uint32_t)x->exec.stream, text, input, x->exec.stdin_size, err);
}

static bool exec_follow(struct exec_job *x, struct err *err)
{
	struct runner *r = x->r;
	uint32_t stream = (uint32_t)x->exec.stream;
	int64_t deadline = time_boot_ms() + r->cfg->starting_ms;

	if (!provision_attach(r, &x->g, x->exec.lane, stream, deadline, err))
		return false;
	if (!guest_has_exec(&x->g, stream)) {
		if (x->exec.state != EXEC_QUEUED) {
			(void)err_set(
				err, ERR_UPSTREAM, "the box does not know the process any more");
			return err_advise(err, "agent_lost", NULL);
		}
		if (!exec_send(x, deadline, err))
			return false;
	}
	x->adopted = x->exec.state != EXEC_QUEUED;
	x->f.g = &x->g;
	x->f.log = &x->log;
	x->f.stream = stream;
	x->f.deadline = time_boot_ms() + x->exec.timeout_ms + LEAVE_MS;
	x->f.started = on_started;
	x->f.arg = x;
	return follow(&x->f, err);
}

static bool exec_steps(struct exec_job *x, struct err *err)
{
	struct err e = {0};

	x->f.exit_code = x->f.signal = -1;
	x->f.end = FOLLOW_TIMEOUT;
	x->f.checks = checks_new();
	if (!logstore_open(&x->log, x->r, x->exec.log_id, 0, err))
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
	return x->f.end != FOLLOW_EXIT || guest_ack_exit(&x->g, x->f.stream, &e) || true;
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
	checks_free(x->f.checks);
	cleanup_logstore(&x->log);
	json_free(x->argv);
	return ok || r->stale;
}

const struct kind kind_exec = {
	.name = "exec",
	.lane = "exec",
	.run = exec_run,
};
