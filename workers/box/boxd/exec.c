/*
 * EXEC: makes the group, forks, and learns from the report pipe whether the program started at all.
 * That one is an ERROR of the stream, not an exit code.
 */
#include "exec.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec_ahead.h"
#include "exec_request.h"
#include "files.h"
#include "loop.h"
#include "pool.h"
#include "proc_stat.h"
#include "text.h"

/* Each costs boxd up to one window of output. */
#define EXECS_MAX 128
/* Room in a stdin's pipe for the longest answer, beside what is not read yet. */
#define STDIN_PIPE (4 * (int)WIRE_PAYLOAD_MAX)

struct exec *exec_find(struct boxd *b, uint32_t stream)
{
	struct exec *e;

	for (e = b->execs; e; e = e->next)
		if (e->stream == stream)
			break;
	return e;
}

struct pipes {
	int ours[3], theirs[3];
	int report[2];
};

static bool pipe_pair(int *ours, int *theirs, bool we_read, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, ERR_BUSY, "pipe");
	*ours = fds[we_read ? 0 : 1];
	*theirs = fds[we_read ? 1 : 0];
	(void)fcntl(*ours, F_SETFL, O_NONBLOCK);
	return true;
}

static void pipes_close(struct pipes *p)
{
	int *all[] = {&p->ours[0], &p->ours[1], &p->ours[2], &p->theirs[0], &p->theirs[1],
		&p->theirs[2], &p->report[0], &p->report[1]};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i] >= 0)
			(void)close(*all[i]);
		*all[i] = -1;
	}
}

static bool pipes_make(struct pipes *p, bool wants_stdin, struct err *err)
{
	if (wants_stdin && !pipe_pair(&p->ours[0], &p->theirs[0], false, err))
		return false;
	/* an answer is there as a whole before its reader is thawed */
	if (wants_stdin)
		(void)fcntl(p->ours[0], F_SETPIPE_SZ, STDIN_PIPE);
	if (!wants_stdin) {
		p->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (p->theirs[0] < 0)
			return err_errno(err, ERR_INTERNAL, "/dev/null");
	}
	return pipe_pair(&p->ours[1], &p->theirs[1], true, err) &&
	       pipe_pair(&p->ours[2], &p->theirs[2], true, err) &&
	       pipe_pair(&p->report[0], &p->report[1], true, err);
}

/* A child that was killed on its way to the program: by its own timer, for want of memory, by
 * another process of its user. */
static bool never_began(struct exec *e, const char *program, struct err *err)
{
	bool late = time_boot_ms() - e->started_ms >= EXEC_START_MS, oom;

	(void)waitpid(e->pid, NULL, 0);
	oom = group_had_oom(e);
	if (late)
		return err_set(err, ERR_TIMEOUT, "start %.64s: took too long", program);
	return err_set(err, ERR_BUSY, "start %.64s: %s before it began", program,
		oom ? "out of memory" : "killed");
}

/* Whether the child became its program, once its end of the pipe is closed: some kernels close that
 * a moment before they take the mark away. One that was killed instead is on its way out with it.
 */
static bool is_begun(const struct exec *e)
{
	struct proc_stat p;

	while (proc_stat_read(e->pid, &p) && (p.flags & PROC_NO_EXEC)) {
		if ((p.flags & PROC_EXITING) || proc_stat_is_dead(&p))
			return false;
		/* its own timer ends it */
		if (time_boot_ms() > e->started_ms + 2 * EXEC_START_MS)
			break;
		(void)poll(NULL, 0, 1);
	}
	return true;
}

/* Waits for exec (the pipe closes) or a failure report. */
static bool started_wait(struct exec *e, int report, const char *program, struct err *err)
{
	struct {
		int e;
		char what[28];
	} said = {0};
	struct pollfd pfd = {.fd = report, .events = POLLIN};
	ssize_t n = read(report, &said, sizeof(said));

	if (n < 0 && errno == EAGAIN) {
		if (poll(&pfd, 1, EXEC_START_MS) == 0) {
			(void)kill(e->pid, SIGKILL);
			return never_began(e, program, err);
		}
		n = read(report, &said, sizeof(said));
	}
	/* the pipe closes with the end of a child too, which may not be there to be waited for yet
	 */
	if (n != (ssize_t)sizeof(said))
		return is_begun(e) || never_began(e, program, err);
	(void)waitpid(e->pid, NULL, 0);
	said.what[sizeof(said.what) - 1] = '\0';
	errno = said.e;
	return err_errno(err, said.e == ENOENT || said.e == ENOTDIR ? ERR_NOT_FOUND : ERR_INVALID,
		"%s %.64s", said.what, strcmp(said.what, "exec") == 0 ? program : "");
}

void exec_code_remove(struct exec *e)
{
	if (e->code)
		files_remove(e->code);
	free(e->code);
	e->code = NULL;
}

void exec_forget(struct exec *e)
{
	struct exec **at = &e->boxd->execs;

	while (*at && *at != e)
		at = &(*at)->next;
	if (*at)
		*at = e->next;
	for (int i = 0; i < 2; i++) {
		watch_remove(e->out[i].watch);
		if (e->out[i].fd >= 0)
			(void)close(e->out[i].fd);
	}
	watch_remove(e->in_watch);
	if (e->in_fd >= 0)
		(void)close(e->in_fd);
	watch_remove(e->timer);
	group_remove(e);
	exec_code_remove(e);
	buf_done(&e->ring);
	buf_done(&e->in);
	free(e);
}

static struct exec *exec_new(struct boxd *b, const struct exec_request *rq)
{
	struct exec *e = mem_alloc(sizeof(*e));

	e->boxd = b;
	e->ask_returns = rq->ask_returns;
	e->out[0].fd = e->out[1].fd = e->in_fd = -1;
	buf_init(&e->ring, WIRE_WINDOW);
	/* twice the window: whoever counts from the last CREDIT and whoever counts from zero fit */
	buf_init(&e->in, 2 * WIRE_WINDOW + WIRE_PAYLOAD_MAX);
	return e;
}

/* Its code as a file, before it starts. */
static bool code_write(struct exec *e, const struct exec_request *rq, struct err *err)
{
	if (!rq->code)
		return true;
	e->code = mem_strdup(rq->code);
	return !rq->code_text || files_put(e->boxd, rq->code, rq->user, rq->code_text, err);
}

/* Starts the child; everything in *p that the child needs is closed here afterwards. */
static bool exec_fork(struct exec *e, struct exec_request *rq, struct pipes *p, struct pool *pool,
	struct err *err)
{
	struct exec_plan plan = {.argv = rq->argv,
		.env = rq->env,
		.cwd = rq->cwd,
		.uid = rq->uid,
		.switch_user = e->boxd->is_root,
		.user = rq->user,
		.group_fd = e->group.path[0] ? e->group.main_fd : -1};

	/* where there is no group, it is how its processes are found */
	if (!e->group.path[0])
		exec_request_env(pool, rq, "ASB_EXEC", pool_printf(pool, "%u", e->stream));
	rq->env[rq->nenv] = NULL;
	memcpy(plan.fds, p->theirs, sizeof(plan.fds));
	plan.report = p->report[1];
	e->pid = exec_child(&plan);
	if (e->pid < 0)
		return err_errno(err, ERR_BUSY, "fork");
	(void)close(p->report[1]);
	p->report[1] = -1;
	return started_wait(e, p->report[0], rq->argv[0], err);
}

/* Its lane, name and clock, which those of its request begin with. */
static void exec_name(struct exec *e, uint32_t stream, const struct exec_request *rq)
{
	e->stream = stream;
	memcpy(e->lane, rq->lane, strlen(rq->lane) + 1);
	e->driver = strcmp(rq->lane, "drive") == 0;
	e->ahead = rq->ahead;
	e->started_ms = time_boot_ms();
	e->deadline_ms = rq->timeout_ms ? e->started_ms + rq->timeout_ms : 0;
}

void exec_adopt(struct exec *e, uint32_t stream, const struct exec_request *rq)
{
	exec_name(e, stream, rq);
	exec_check(e);
}

struct exec *exec_launch(struct boxd *b, uint32_t stream, struct exec_request *rq,
	struct pool *pool, struct err *err)
{
	struct pipes p = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1}};
	struct exec *e = exec_new(b, rq);

	exec_name(e, stream, rq);
	if (!code_write(e, rq, err) || !group_create(e, rq->memory_bytes, rq->pids, err) ||
		!pipes_make(&p, rq->wants_stdin, err) || !exec_fork(e, rq, &p, pool, err)) {
		pipes_close(&p);
		exec_forget(e);
		return NULL;
	}
	e->leader = e->pid;
	exec_pipes_open(e, p.ours[1], p.ours[2], p.ours[0]);
	p.ours[0] = p.ours[1] = p.ours[2] = -1;
	pipes_close(&p);
	exec_end_init(e);
	return e;
}

bool exec_start(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf json = BUF_INIT(256);
	struct exec_request *rq = POOL_NEW(pool, struct exec_request);
	struct exec *e;
	size_t n = 0;

	if (!exec_request_read(b, pool, in, rq, err))
		return false;
	if (exec_find(b, stream))
		return err_set(err, ERR_CONFLICT, "stream %u is in use", stream);
	for (e = b->execs; e; e = e->next)
		n++;
	if (n >= EXECS_MAX)
		return err_set(err, ERR_BUSY, "%zu execs are there already", n);
	if ((b->lane_frozen || question_is_open(b)) && strcmp(rq->lane, "drive") == 0)
		return err_set(err, ERR_CONFLICT, "lane drive is frozen");
	e = ahead_take(b, stream, rq);
	if (!e && !(e = exec_launch(b, stream, rq, pool, err)))
		return false;
	e->next = b->execs;
	b->execs = e;
	(void)buf_addc(&json, '{');
	boxjson_add_i64(&json, "pid", e->pid);
	(void)buf_addc(&json, '}');
	channel_send(b, WIRE_STARTED, stream, &json);
	return true;
}
