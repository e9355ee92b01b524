/*
 * How an exec ends. Its exit status is waitpid's of the main process, never the end of a pipe. Who
 * else still runs then has 2 s to finish writing; after that, as after a time-out, everything the
 * exec started is killed, and EXIT is only said when the group was seen empty and the pipes read.
 */
#include "exec.h"

#include <sys/wait.h>

#include <signal.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "lanes.h"
#include "loop.h"
#include "text.h"

/* Who outlives the main process has so long to finish writing. It is counted in looks: a guest that
 * gets no processor has a clock that runs on, and boxd looks no more often there than others write.
 */
#define DRAIN_MS 2000
#define DRAIN_LOOK_MS 200
/* Between two looks at a group that was killed. */
#define KILL_LOOK_MS 5

static int64_t i64_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When exec_check has something to do by the clock alone. */
static void timer_arm(struct exec *e)
{
	int64_t due = INT64_MAX, now = time_boot_ms();

	if (e->state == EXEC_RUNNING && e->deadline_ms && !e->boxd->lane_frozen)
		due = e->deadline_ms;
	if (e->state == EXEC_RUNNING && e->deadline_ms && !e->driver)
		due = e->deadline_ms;
	if (e->late_ms)
		due = i64_min(due, e->late_ms);
	if (e->state == EXEC_DRAINING)
		due = now + DRAIN_LOOK_MS;
	if (e->state == EXEC_KILLING)
		due = now + KILL_LOOK_MS;
	if (due == INT64_MAX)
		watch_set_timer(e->timer, -1, 0);
	else
		watch_set_timer(e->timer, due > now ? due - now : 0, 0);
}

/* Counts before killing, once: killed_rest is what was still there when the killing began. */
static void kill_begin(struct exec *e)
{
	int others = group_count(e) - (e->state == EXEC_RUNNING ? 1 : 0);

	e->killed_rest = others > 0 ? others : 0;
	e->state = EXEC_KILLING;
	/* the usual end: nobody is left who could fork */
	if (e->pid >= 0 || others > 0)
		(void)group_signal(e, SIGKILL);
}

static void running_check(struct exec *e, int64_t now)
{
	if (e->late_ms && now >= e->late_ms) {
		e->late_ms = 0;
		lane_drive_freeze(e->boxd);
	}
	if (e->deadline_ms && now >= e->deadline_ms && !(e->driver && e->boxd->lane_frozen)) {
		e->timed_out = true;
		kill_begin(e);
	}
}

void exec_check(struct exec *e)
{
	int64_t now = time_boot_ms();

	if (e->state == EXEC_RUNNING)
		running_check(e, now);
	if (e->state == EXEC_DRAINING && (exec_pipes_ended(e) || !e->drain_looks)) {
		kill_begin(e);
	} else if (e->state == EXEC_KILLING) {
		(void)group_signal(e, SIGKILL);
	}
	if (e->state == EXEC_KILLING && e->pid < 0 && group_count(e) == 0) {
		e->oom = group_had_oom(e);
		group_remove(e);
		e->state = EXEC_FLUSHING;
	}
	if (e->state == EXEC_FLUSHING) {
		exec_pipes_drain(e);
		if (exec_pipes_ended(e))
			e->state = EXEC_ENDED;
	}
	if (e->state == EXEC_ENDED) {
		exec_code_remove(e);
		question_exec_gone(e->boxd, e->stream);
	}
	timer_arm(e);
}

static void timer_due(struct loop *loop, uint32_t events, void *arg)
{
	struct exec *e = arg;

	(void)loop;
	(void)events;
	if (e->state == EXEC_DRAINING && e->drain_looks)
		e->drain_looks--;
	exec_check(e);
}

void exec_end_init(struct exec *e)
{
	e->timer = loop_add_timer(e->boxd->loop, -1, 0, timer_due, e);
	timer_arm(e);
}

bool exec_reaped(struct boxd *b, pid_t pid, int status, const struct rusage *ru)
{
	for (struct exec *e = b->execs; e; e = e->next) {
		if (e->pid != pid)
			continue;
		e->pid = -1;
		e->status = status;
		e->usage = *ru;
		e->duration_ms = time_boot_ms() - e->started_ms;
		if (e->state == EXEC_RUNNING) {
			e->state = EXEC_DRAINING;
			e->drain_looks = DRAIN_MS / DRAIN_LOOK_MS;
		}
		exec_check(e);
		return true;
	}
	return false;
}

void exec_orphans_reaped(struct boxd *b)
{
	for (struct exec *e = b->execs; e; e = e->next)
		if (e->state == EXEC_KILLING)
			exec_check(e);
}

bool exec_signal(struct exec *e, int signo, bool all, struct err *err)
{
	if (all)
		return group_signal(e, signo) > 0
			       ? true
			       : err_set(err, ERR_NOT_FOUND, "no process of stream %u is left",
					 e->stream);
	if (e->pid < 0)
		return err_set(err, ERR_NOT_FOUND, "stream %u has ended", e->stream);
	if (kill(e->pid, signo))
		return err_errno(err, ERR_INVALID, "signal %d", signo);
	return true;
}

void exec_exit_send(struct exec *e)
{
	CLEANUP(buf) struct buf json = BUF_INIT(1024);
	const struct rusage *u = &e->usage;

	(void)buf_addc(&json, '{');
	boxjson_add_key(&json, "code");
	if (WIFEXITED(e->status))
		(void)buf_addf(&json, "%d,\"signal\":null", WEXITSTATUS(e->status));
	else
		(void)buf_addf(&json, "null,\"signal\":%d", WTERMSIG(e->status));
	boxjson_add_bool(&json, "timed_out", e->timed_out);
	boxjson_add_bool(&json, "oom", e->oom);
	boxjson_add_i64(&json, "killed_rest", e->killed_rest);
	boxjson_add_u64(&json, "end", e->base + e->ring.len);
	boxjson_add_i64(&json, "utime_ms", u->ru_utime.tv_sec * 1000 + u->ru_utime.tv_usec / 1000);
	boxjson_add_i64(&json, "stime_ms", u->ru_stime.tv_sec * 1000 + u->ru_stime.tv_usec / 1000);
	boxjson_add_i64(&json, "max_rss_bytes", u->ru_maxrss * 1024);
	boxjson_add_i64(&json, "duration_ms", e->duration_ms);
	(void)buf_addc(&json, '}');
	channel_send(e->boxd, WIRE_EXIT, e->stream, &json);
	e->exit_sent = true;
}
