/*
 * EXEC: reads the request, builds the environment from nothing, makes the group, forks, and learns
 * from the report pipe whether the program started at all. That one is an ERROR of the stream, not
 * an exit code.
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
#include "files.h"
#include "loop.h"
#include "pool.h"
#include "text.h"

#define ENV_MAX 256
/* Each costs boxd up to one window of output. */
#define EXECS_MAX 128
/* Room in a stdin's pipe for the longest answer, beside what is not read yet. */
#define STDIN_PIPE (4 * (int)WIRE_PAYLOAD_MAX)

struct request {
	const char *argv[BOXJSON_VALUES];
	const char *env[ENV_MAX + 1];
	size_t nenv;
	const char *cwd, *user, *lane, *home, *code, *code_text;
	uid_t uid;
	bool wants_stdin, ask_returns;
	int64_t timeout_ms, memory_bytes, pids;
};

struct exec *exec_find(struct boxd *b, uint32_t stream)
{
	struct exec *e;

	for (e = b->execs; e; e = e->next)
		if (e->stream == stream)
			break;
	return e;
}

static void env_set(struct pool *pool, struct request *rq, const char *key, const char *value)
{
	size_t n = strlen(key), i = 0;

	while (i < rq->nenv && (strncmp(rq->env[i], key, n) != 0 || rq->env[i][n] != '='))
		i++;
	if (i == ENV_MAX)
		return;
	rq->env[i] = pool_printf(pool, "%s=%s", key, value);
	if (i == rq->nenv)
		rq->nenv++;
}

static void env_defaults(struct boxd *b, struct pool *pool, struct request *rq)
{
	static const char *const proxied[] = {
		"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"};
	const char *const fixed[][2] = {
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"HOME", rq->home},
		{"USER", rq->user},
		{"LOGNAME", rq->user},
		{"SHELL", "/bin/bash"},
		{"LANG", "C.UTF-8"},
		{"TERM", "dumb"},
		{"ASB_ARTIFACTS", "/artifacts"},
		{"ASB_ASK_SOCK", pool_printf(pool, "%s/ask.sock", b->run_dir)},
		{"NO_PROXY", "127.0.0.1,localhost,::1"},
		{"no_proxy", "127.0.0.1,localhost,::1"},
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		env_set(pool, rq, fixed[i][0], fixed[i][1]);
	for (size_t i = 0; b->proxy_port && i < sizeof(proxied) / sizeof(proxied[0]); i++)
		env_set(pool, rq, proxied[i],
			pool_printf(pool, "http://127.0.0.1:%d", b->proxy_port));
}

static bool env_read(
	struct pool *pool, struct request *rq, const struct boxjson *env, struct err *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	if (!env || env->type == BOXJSON_NULL)
		return true;
	if (env->type != BOXJSON_OBJECT)
		return err_set(err, ERR_INVALID, "env: an object is wanted");
	for (const struct boxjson *v = env->first; v; v = v->next) {
		if (v->type != BOXJSON_TEXT || !v->key[0] ||
			(v->key[0] >= '0' && v->key[0] <= '9') || v->key[strspn(v->key, allowed)])
			return err_set(err, ERR_INVALID, "env: bad variable %.64s", v->key);
		if (rq->nenv == ENV_MAX)
			return err_set(err, ERR_TOO_LARGE, "env: too many variables");
		env_set(pool, rq, v->key, v->text);
	}
	return true;
}

static bool argv_read(struct request *rq, const struct boxjson *argv, struct err *err)
{
	size_t n = 0;

	if (!argv || argv->type != BOXJSON_ARRAY || !argv->first)
		return err_set(err, ERR_INVALID, "argv: an array with a program is wanted");
	for (const struct boxjson *v = argv->first; v; v = v->next) {
		if (v->type != BOXJSON_TEXT)
			return err_set(err, ERR_INVALID, "argv: texts are wanted");
		rq->argv[n++] = v->text;
	}
	rq->argv[n] = NULL;
	return rq->argv[0][0] ? true : err_set(err, ERR_INVALID, "argv: the program is empty");
}

static bool request_read(struct boxd *b, struct pool *pool, const struct boxjson *in,
	struct request *rq, struct err *err)
{
	static const char *const known[] = {"argv", "env", "cwd", "user", "lane", "stdin",
		"timeout_ms", "memory_bytes", "pids", "ask", "code", "code_text", NULL};
	const char *ask;

	if (!boxjson_only(in, known, err) || !argv_read(rq, boxjson_find(in, "argv"), err) ||
		!boxjson_text(in, "cwd", NULL, &rq->cwd, err) ||
		!boxjson_text(in, "user", "agent", &rq->user, err) ||
		!boxjson_text(in, "lane", "drive", &rq->lane, err) ||
		!boxjson_bool(in, "stdin", false, &rq->wants_stdin, err) ||
		!boxjson_i64(in, "timeout_ms", 0, INT64_C(1) << 40, 0, &rq->timeout_ms, err) ||
		!boxjson_i64(in, "memory_bytes", 0, INT64_MAX, 0, &rq->memory_bytes, err) ||
		!boxjson_i64(in, "pids", 0, 1 << 22, 0, &rq->pids, err) ||
		!boxjson_text(in, "ask", "block", &ask, err) ||
		!boxjson_text(in, "code", NULL, &rq->code, err) ||
		!boxjson_text(in, "code_text", NULL, &rq->code_text, err) ||
		(rq->code && !files_path_check(rq->code, err)))
		return false;
	rq->ask_returns = strcmp(ask, "return") == 0;
	if (!rq->ask_returns && strcmp(ask, "block") != 0)
		return err_set(err, ERR_INVALID, "ask: block or return");
	if (!user_find(rq->user, &rq->uid, &rq->home))
		return err_set(err, ERR_INVALID, "user: no user %.32s", rq->user);
	if (access(rq->home, F_OK))
		rq->home = access("/workspace", F_OK) ? "/" : "/workspace";
	if (!rq->cwd)
		rq->cwd = rq->home;
	if (strlen(rq->lane) >= sizeof(((struct exec *)NULL)->lane))
		return err_set(err, ERR_INVALID, "lane: too long");
	env_defaults(b, pool, rq);
	return env_read(pool, rq, boxjson_find(in, "env"), err);
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
			(void)waitpid(e->pid, NULL, 0);
			return err_set(err, ERR_TIMEOUT, "start %.64s: took too long", program);
		}
		n = read(report, &said, sizeof(said));
	}
	if (n != (ssize_t)sizeof(said))
		return true;
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

static struct exec *exec_new(struct boxd *b, uint32_t stream, const struct request *rq)
{
	struct exec *e = mem_alloc(sizeof(*e));

	e->boxd = b;
	e->stream = stream;
	memcpy(e->lane, rq->lane, strlen(rq->lane) + 1);
	e->driver = strcmp(rq->lane, "drive") == 0;
	e->ask_returns = rq->ask_returns;
	e->out[0].fd = e->out[1].fd = e->in_fd = -1;
	buf_init(&e->ring, WIRE_WINDOW);
	/* twice the window: whoever counts from the last CREDIT and whoever counts from zero fit */
	buf_init(&e->in, 2 * WIRE_WINDOW + WIRE_PAYLOAD_MAX);
	e->started_ms = time_boot_ms();
	e->deadline_ms = rq->timeout_ms ? e->started_ms + rq->timeout_ms : 0;
	return e;
}

/* Its code as a file, before it starts. */
static bool code_write(struct exec *e, const struct request *rq, struct pool *pool, struct err *err)
{
	const char *slash = rq->code ? strrchr(rq->code, '/') : NULL;

	if (!slash)
		return true;
	e->code = mem_strdup(rq->code);
	return !rq->code_text ||
	       files_write(e->boxd, pool_memdup(pool, rq->code, (size_t)(slash - rq->code)),
		       slash + 1, rq->user, 0600, rq->code_text, err);
}

/* Starts the child; everything in *p that the child needs is closed here afterwards. */
static bool exec_fork(
	struct exec *e, struct request *rq, struct pipes *p, struct pool *pool, struct err *err)
{
	struct exec_plan plan = {.argv = rq->argv,
		.env = rq->env,
		.cwd = rq->cwd,
		.uid = rq->uid,
		.switch_user = e->boxd->is_root,
		.user = rq->user,
		.group_fd = e->group.path[0] ? e->group.main_fd : -1};

	env_set(pool, rq, "ASB_EXEC", pool_printf(pool, "%u", e->stream));
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

bool exec_start(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf json = BUF_INIT(256);
	struct request *rq = POOL_NEW(pool, struct request);
	struct pipes p = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1}};
	struct exec *e;
	size_t n = 0;

	if (!request_read(b, pool, in, rq, err))
		return false;
	if (exec_find(b, stream))
		return err_set(err, ERR_CONFLICT, "stream %u is in use", stream);
	for (e = b->execs; e; e = e->next)
		n++;
	if (n >= EXECS_MAX)
		return err_set(err, ERR_BUSY, "%zu execs are there already", n);
	if ((b->lane_frozen || question_is_open(b)) && strcmp(rq->lane, "drive") == 0)
		return err_set(err, ERR_CONFLICT, "lane drive is frozen");
	e = exec_new(b, stream, rq);
	if (!code_write(e, rq, pool, err) || !group_create(e, rq->memory_bytes, rq->pids, err) ||
		!pipes_make(&p, rq->wants_stdin, err) || !exec_fork(e, rq, &p, pool, err)) {
		pipes_close(&p);
		exec_forget(e);
		return false;
	}
	e->leader = e->pid;
	e->next = b->execs;
	b->execs = e;
	exec_pipes_open(e, p.ours[1], p.ours[2], p.ours[0]);
	p.ours[0] = p.ours[1] = p.ours[2] = -1;
	pipes_close(&p);
	exec_end_init(e);
	(void)buf_addc(&json, '{');
	boxjson_add_i64(&json, "pid", e->pid);
	(void)buf_addc(&json, '}');
	channel_send(b, WIRE_STARTED, stream, &json);
	return true;
}
