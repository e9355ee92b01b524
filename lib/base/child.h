#pragma once
/*
 * The only way to start a program: by argv (never a shell), with an environment built from nothing
 * and only the descriptors that are named. A row to fill, then start.
 */
#include <sys/types.h>

#include "err.h"

struct pool;

/* Descriptor `from` of ours becomes `to` in the child. */
struct child_fd {
	int from;
	int to;
};

struct child {
	const char *path; /* NULL: argv[0] is the path */
	const char *const *argv;
	const char *const *env; /* NULL: empty */
	const struct child_fd
		*fds; /* 0, 1 and 2 not named here become /dev/null, /dev/null, ours */
	size_t nfds;
	const char *cwd;      /* NULL: ours */
	bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL, re-checked after fork */
	bool own_session;     /* setsid */
	uid_t uid;	      /* not 0: becomes this uid and the gid of the same number */
	/* filled by child_start */
	pid_t pid;
	int pidfd; /* readable when the child has ended; the caller closes it */
};

bool child_start(struct child *c, struct err *err) NODISCARD;
/* Waits for the end, at most timeout_ms (-1: for ever; past it the child is killed and waited for,
 * and ERR_TIMEOUT returned). status is as waitpid gives it. Closes pidfd. */
bool child_wait(struct child *c, int timeout_ms, int *status, struct err *err) NODISCARD;
/* SIGKILL and wait; safe on a child that has ended or was never started. */
void child_kill(struct child *c);
