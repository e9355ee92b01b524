/*
 * Running an engine's program by argv and reading all it says, under a deadline: an engine that
 * hangs costs its caller that long and never more.
 */
#include "engine.h"

#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
/* Of what an engine says when it fails, so much is passed on. */
#define SAID_MAX 160

static const char *path_text(void)
{
	const char *path = getenv("PATH");

	return path && *path ? path : PATH_DEFAULT;
}

static const char *program_find(struct pool *pool, const char *name)
{
	for (const char *at = path_text(), *end; *at; at = *end ? end + 1 : end) {
		const char *file;

		end = strchrnul(at, ':');
		file = pool_printf(pool, "%.*s/%s", (int)(end - at), at, name);
		if (*at == '/' && !access(file, X_OK))
			return file;
	}
	return NULL;
}

const char *const *engine_environment(struct pool *pool)
{
	/* a daemon or a store elsewhere than where the engine looks by itself */
	static const char *const passed[] = {"DOCKER_HOST", "MSB_HOME"};
	const char **env = POOL_ARRAY(pool, const char *, 5);
	size_t n = 0;

	env[n++] = pool_printf(pool, "PATH=%s", path_text());
	env[n++] = "HOME=/root";
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (getenv(passed[i]))
			env[n++] = pool_printf(pool, "%s=%s", passed[i], getenv(passed[i]));
	env[n] = NULL;
	return env;
}

void argv_add(struct argv *a, const char *s)
{
	if (a->n + 1 < sizeof(a->v) / sizeof(a->v[0])) /* the last stays NULL */
		a->v[a->n++] = s;
}

void argv_add2(struct argv *a, const char *option, const char *value)
{
	argv_add(a, option);
	argv_add(a, value);
}

bool engine_argv(struct pool *pool, const struct engine *e, struct argv *a, struct err *err)
{
	const char *program = program_find(pool, e->name);

	if (!program) {
		(void)err_set(err, ERR_NOT_FOUND, "%s: not installed", e->name);
		return err_advise(err, "no_engine", e->fix);
	}
	*a = (struct argv){.pool = pool};
	argv_add(a, program);
	for (const char *const *flag = e->flags; *flag; flag++)
		argv_add(a, *flag);
	return true;
}

/* Until both outputs are closed or the time is over; false then. */
static bool output_read(int from, int64_t until, struct buf *out)
{
	struct pollfd p = {.fd = from, .events = POLLIN};

	for (;;) {
		int64_t left = until - time_boot_ms();
		char bytes[4096];
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return false;
		n = read(from, bytes, sizeof(bytes));
		if (n <= 0)
			return true;
		(void)buf_add(out, bytes, (size_t)n);
	}
}

bool engine_call(
	struct argv *a, int extra, int timeout_ms, struct buf *out, int *status, struct err *err)
{
	int64_t until = time_boot_ms() + timeout_ms;
	struct child_fd fds[3] = {{-1, 1}, {-1, 2}, {extra, 3}};
	struct child c = {.argv = a->v,
		.env = engine_environment(a->pool),
		.fds = fds,
		.nfds = extra >= 0 ? 3 : 2,
		.cwd = "/",
		.die_with_parent = true};
	int ends[2];
	bool ok;

	if (pipe2(ends, O_CLOEXEC))
		return err_errno(err, ERR_BUSY, "%s: pipe", a->v[0]);
	CLEANUP(fd) int from = ends[0];
	fds[0].from = fds[1].from = ends[1];
	ok = child_start(&c, err);
	(void)close(ends[1]);
	if (!ok)
		return false;
	if (output_read(from, until, out))
		return child_wait(&c, 5000, status, err);
	child_kill(&c);
	(void)err_set(err, ERR_TIMEOUT, "%s %s: no answer in %d ms", a->v[0], a->v[1], timeout_ms);
	return err_advise(err, "engine_not_running", "restart the engine");
}

bool engine_client(struct argv *a, int box_end, pid_t *pid, struct err *err)
{
	struct child_fd fds[] = {{box_end, 0}, {box_end, 1}};
	struct child c = {.argv = a->v,
		.env = engine_environment(a->pool),
		.fds = fds,
		.nfds = 2,
		.cwd = "/",
		.own_session = true};

	if (!child_start(&c, err))
		return false;
	(void)close(c.pidfd);
	if (pid)
		*pid = c.pid;
	return true;
}

bool engine_json(const struct buf *text, struct json_object **out, struct err *err)
{
	const char *from = strchr(text->data, '{'), *last = strrchr(text->data, '}');

	/* podman puts a list around what docker says plainly */
	if (from && last > from)
		return json_parse(from, (size_t)(last + 1 - from), out, err);
	return err_set(err, ERR_UPSTREAM, "the engine's answer is no JSON");
}

bool engine_ask(struct argv *a, int timeout_ms, struct buf *out, struct err *err)
{
	CLEANUP(buf) struct buf said = BUF_INIT(1024);
	int status = 0;

	if (!engine_call(a, -1, timeout_ms, out, &status, err))
		return false;
	if (!status)
		return true;
	text_add_sane(&said, out->data, out->len < SAID_MAX ? out->len : SAID_MAX);
	(void)err_set(err, ERR_UPSTREAM, "%s: %s", a->v[0], said.data);
	return err_advise(err, "engine_refused", NULL);
}
