/*
 * Starting programs. fork + exec with a pipe that carries errno back, so that "no such program" is
 * an error of child_start and not an exit code.
 */
#include "child.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "privdrop.h"

/* Moves every source descriptor above all targets first, so that no dup2 overwrites one that is
 * still needed, then into place; the copies keep no close-on-exec flag. */
static int fds_place(const struct child *c, int *report)
{
	int high[32];

	if (c->nfds > sizeof(high) / sizeof(high[0]))
		return E2BIG;
	*report = fcntl(*report, F_DUPFD_CLOEXEC, 200);
	if (*report < 0)
		return errno;
	for (size_t i = 0; i < c->nfds; i++) {
		high[i] = fcntl(c->fds[i].from, F_DUPFD_CLOEXEC, 100);
		if (high[i] < 0)
			return errno;
	}
	for (int std = 0; std <= 1; std++) {
		int null = open("/dev/null", O_RDWR);

		if (null < 0 || (null != std && dup2(null, std) < 0))
			return errno;
		if (null > 1)
			(void)close(null);
	}
	for (size_t i = 0; i < c->nfds; i++)
		if (dup2(high[i], c->fds[i].to) < 0)
			return errno;
	return 0;
}

/* Marks every descriptor that the caller did not name close-on-exec. */
static void fds_close_rest(const struct child *c)
{
	int top = 2;

	for (size_t i = 0; i < c->nfds; i++)
		if (c->fds[i].to > top)
			top = c->fds[i].to;
	for (int fd = 3; fd <= top; fd++) {
		bool named = false;

		for (size_t i = 0; i < c->nfds; i++)
			named |= c->fds[i].to == fd;
		if (!named)
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	(void)syscall(SYS_close_range, (unsigned)top + 1, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
}

static _Noreturn void child_exec(const struct child *c, int report, pid_t parent)
{
	static const char *const no_env[] = {NULL};
	sigset_t none;
	struct err err;
	int e = 0;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < 32; s++)
		(void)signal(s, SIG_DFL);
	if (c->own_session)
		(void)setsid();
	if (c->uid && !privdrop_become(c->uid, c->uid, &err))
		e = EPERM;
	/* after the change of uid, which clears it */
	if (c->die_with_parent) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
	}
	if (!e)
		e = fds_place(c, &report);
	if (!e && c->cwd && chdir(c->cwd))
		e = errno;
	if (!e) {
		fds_close_rest(c);
		/* execve takes char *const [] for history's sake and writes nothing */
		union {
			const char *const *in;
			char *const *out;
		} argv = {.in = c->argv}, env = {.in = c->env ? c->env : no_env};

		(void)execve(c->path ? c->path : c->argv[0], argv.out, env.out);
		e = errno;
	}
	(void)!write(report, &e, sizeof(e));
	_exit(127);
}

bool child_start(struct child *c, struct err *err)
{
	pid_t parent = getpid();
	int pipefd[2], e = 0;
	ssize_t n;

	c->pid = -1;
	c->pidfd = -1;
	if (pipe2(pipefd, O_CLOEXEC))
		return err_errno(err, ERR_INTERNAL, "start %s: pipe", c->argv[0]);
	c->pid = fork();
	if (c->pid == 0)
		child_exec(c, pipefd[1], parent);
	(void)close(pipefd[1]);
	CLEANUP(fd) int report = pipefd[0];
	if (c->pid < 0)
		return err_errno(err, ERR_BUSY, "start %s: fork", c->argv[0]);
	do
		n = read(report, &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	if (n != 0) {
		(void)waitpid(c->pid, NULL, 0);
		c->pid = -1;
		errno = n == (ssize_t)sizeof(e) ? e : EIO;
		return err_errno(err, ERR_INTERNAL, "start %s", c->argv[0]);
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0) {
		child_kill(c);
		return err_errno(err, ERR_INTERNAL, "start %s: pidfd", c->argv[0]);
	}
	return true;
}

void child_kill(struct child *c)
{
	if (c->pid <= 0)
		return;
	(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->pid = -1;
	if (c->pidfd >= 0)
		(void)close(c->pidfd);
	c->pidfd = -1;
}

bool child_wait(struct child *c, int timeout_ms, int *status, struct err *err)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n == 0) {
		child_kill(c);
		return err_set(
			err, ERR_TIMEOUT, "%s: still running after %d ms", c->argv[0], timeout_ms);
	}
	while (waitpid(c->pid, status, 0) < 0)
		if (errno != EINTR)
			return err_errno(err, ERR_INTERNAL, "%s: wait", c->argv[0]);
	(void)close(c->pidfd);
	c->pidfd = -1;
	c->pid = -1;
	return true;
}
