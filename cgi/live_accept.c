/*
 * The door: libfcgi accepts and reads the parameters, then the connection is taken out of its hands
 * and becomes a stream, a wait or an error. libfcgi would block in accept and in reading: the
 * listening socket is therefore non-blocking, and nginx sends all parameters at once.
 */
#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcgiapp.h>

#include "access.h"
#include "cleanup.h"
#include "config.h"
#include "live.h"
#include "live_request.h"
#include "log.h"
#include "loop.h"
#include "pool.h"

/* A full backlog of a unix socket refuses at once: 4096 took bursts without a refusal. */
#define BACKLOG 4096
/* Requests taken in before the rest of the loop gets its turn. */
#define ACCEPT_AT_ONCE 64
/* Descriptors that are not clients': databases, signals, stderr, and room. */
#define FDS_RESERVED 64

/* The same rules as in asb-web, but for what only changing requests need. Whoever waits was let in
 * by asb-web, by the action's row. */
static bool live_caller(struct live *live, struct live_request *lr, struct err *err)
{
	if (!access_host(live->cfg, &lr->rq, err) || !access_origin(live->cfg, &lr->rq, err) ||
		!access_query(&lr->rq, err) ||
		!access_caller(live->cfg, live->db, live->operator_hash, &lr->rq, &lr->caller,
			&lr->retry_s, err))
		return false;
	if (lr->caller.kind != CALLER_NOBODY)
		return access_scope(&lr->caller, SCOPE_RUN_READ, err);
	(void)err_set(err, ERR_UNAUTHENTICATED, "sign in first");
	return err_advise(
		err, "caller", "send a key or the operator's token, or sign in on the page");
}

static bool route(struct live *live, struct live_request *lr, int fd, struct err *err)
{
	const char *path = lr->rq.path;

	if (strcmp(lr->rq.method, "GET") != 0)
		return err_set(err, ERR_NOT_FOUND, "no such stream");
	if (live->nconns >= live->clients_max) {
		(void)err_set(err, ERR_BUSY, "too many streams are open");
		return err_advise(err, "streams", "try again in a moment");
	}
	if (!live_caller(live, lr, err))
		return false;
	if (!strcmp(path, "/watch.sse") || !strcmp(path, "/events.sse"))
		return stream_open(live, lr, fd, err);
	if (!strcmp(path, "/internal/wait"))
		return wait_open(live, lr, fd, err);
	return err_set(err, ERR_NOT_FOUND, "no such stream");
}

/* fd is ours from here on. */
static void take_over(struct live *live, int fd, struct live_request *lr, bool ok, struct err *err)
{
	if (ok && route(live, lr, fd, err))
		return;
	if (err->code == ERR_INTERNAL)
		log_error("live rq=%s %s: %s", lr->rq.id ? lr->rq.id : "", lr->rq.path, err->msg);
	live_refuse(live, lr, fd, err);
}

static void accept_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct live *live = arg;

	(void)loop;
	(void)events;
	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct live_request lr = {0};
		FCGX_Request req;
		struct err err = {0};
		bool ok;
		int fd;

		if (FCGX_InitRequest(&req, live->listen_fd, FCGI_FAIL_ACCEPT_ON_INTR) ||
			FCGX_Accept_r(&req))
			return;
		ok = live_request_init(&lr, pool, req.requestId, req.envp, &err);
		fd = req.ipcFd;
		FCGX_Free(&req, 0);
		take_over(live, fd, &lr, ok, &err);
	}
}

bool accept_open(struct live *live, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *path = pool_printf(pool, "%s/live.sock", live->cfg->run_dir);
	struct rlimit files;
	mode_t mask;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return err_errno(err, ERR_INTERNAL, "getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return err_errno(err, ERR_INTERNAL, "setrlimit");
	live->clients_max = files.rlim_cur - FDS_RESERVED;
	/* so long libfcgi waits for a connection that says nothing, and everybody with it; 2 s
	 * where it is not told. An nginx that gets no processor for this long loses its request. */
	if (setenv("LIBFCGI_IS_AF_UNIX_KEEPER_POLL_TIMEOUT", "500", 1) || FCGX_Init())
		return err_set(err, ERR_INTERNAL, "libfcgi does not start");
	(void)unlink(path);
	mask = umask(0117);
	live->listen_fd = FCGX_OpenSocket(path, BACKLOG);
	(void)umask(mask);
	if (live->listen_fd < 0 || fcntl(live->listen_fd, F_SETFL, O_NONBLOCK) ||
		fcntl(live->listen_fd, F_SETFD, FD_CLOEXEC))
		return err_errno(err, ERR_INTERNAL, "%s", path);
	live->accept_watch = loop_add_fd(live->loop, live->listen_fd, EPOLLIN, accept_ready, live);
	return true;
}

void accept_close(struct live *live)
{
	watch_remove(live->accept_watch);
	live->accept_watch = NULL;
	if (live->listen_fd >= 0)
		(void)close(live->listen_fd);
	live->listen_fd = -1;
}
