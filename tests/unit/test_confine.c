/*
 * The filter that confined programs put on: each call is tried in a child without it, where it must
 * work or fail for another reason than the filter's, and in one with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"

CONFINED_PROGRAM

#define UNCONFINED 0x100u

static int do_inet(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int do_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0) < 0 ? errno : 0;
}

static int do_packet(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EAFNOSUPPORT ? errno : 0;
}

static int do_vsock(void)
{
	return socket(AF_VSOCK, SOCK_STREAM, 0) < 0 && errno == EAFNOSUPPORT ? errno : 0;
}

static int do_unix(void)
{
	int pair[2];
	char byte = 0;

	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
			       write(pair[0], "x", 1) != 1 || read(pair[1], &byte, 1) != 1
		       ? errno
		       : 0;
}

/* A program of which only the exit status is wanted: its success is exit 0 of this child. */
static int do_exec(void)
{
	char *const argv[] = {(char *)(uintptr_t) "true", NULL};

	(void)execv("/bin/true", argv);
	return errno;
}

static int do_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0;
}

static int do_unshare(void)
{
	/* nothing at all: allowed to everybody */
	return unshare(0) ? errno : 0;
}

static int do_umount(void)
{
	/* EINVAL or EPERM of a kernel that looked at it: told from the filter by the flags */
	return umount2("/nowhere", 1 << 30) && errno == EPERM ? errno : 0;
}

static int do_vm_read(void)
{
	char a = 0, b = 0;
	struct iovec to = {&a, 1}, from = {&b, 1};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 ? errno : 0;
}

static int do_keyctl(void)
{
	return syscall(SYS_keyctl, 999, 0, 0, 0, 0) < 0 && errno == EPERM ? errno : 0;
}

static void *thread_body(void *arg)
{
	return arg;
}

static int do_thread(void)
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, thread_body, NULL);

	return rc ? rc : pthread_join(t, NULL);
}

static int do_fork(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(0);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status ? 1 : 0;
}

/* The errno that fn ended with, 0 for none, in a child confined to `may`. */
static int tried(int (*fn)(void), unsigned may)
{
	pid_t pid = fork();
	int status = 0;
	struct err err;

	if (!pid) {
		if (!(may & UNCONFINED) && !confine(may, &err))
			_exit(255);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_refused_and_allowed(void **state)
{
	static const struct {
		const char *name;
		int (*fn)(void);
		int plain, none, exec, inet; /* what is met with: no filter, 0, EXEC, INET */
	} rows[] = {
		{"inet", do_inet, 0, EAFNOSUPPORT, EAFNOSUPPORT, 0},
		{"netlink", do_netlink, 0, EAFNOSUPPORT, EAFNOSUPPORT, 0},
		{"packet", do_packet, 0, EAFNOSUPPORT, EAFNOSUPPORT, EAFNOSUPPORT},
		{"vsock", do_vsock, 0, EAFNOSUPPORT, EAFNOSUPPORT, EAFNOSUPPORT},
		{"unix", do_unix, 0, 0, 0, 0},
		{"exec", do_exec, 0, EPERM, 0, EPERM},
		{"ptrace", do_ptrace, 0, EPERM, EPERM, EPERM},
		{"unshare", do_unshare, 0, EPERM, EPERM, EPERM},
		{"umount", do_umount, 0, EPERM, EPERM, EPERM},
		{"process_vm_readv", do_vm_read, 0, EPERM, EPERM, EPERM},
		{"keyctl", do_keyctl, 0, EPERM, EPERM, EPERM},
		{"thread", do_thread, 0, 0, 0, 0},
		{"fork", do_fork, 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int plain = tried(rows[i].fn, UNCONFINED), none = tried(rows[i].fn, 0),
		    exec = tried(rows[i].fn, CONFINE_EXEC), inet = tried(rows[i].fn, CONFINE_INET);

		if (plain != rows[i].plain || none != rows[i].none || exec != rows[i].exec ||
			inet != rows[i].inet)
			fail_msg("%s: plain %d, confined %d, exec %d, inet %d", rows[i].name, plain,
				none, exec, inet);
	}
}

/* What a runner does: the worker's filter, and then its own on top. */
static int narrowed(void)
{
	struct err err;

	if (!confine(0, &err))
		return 254;
	return do_exec();
}

static void test_filters_add_up(void **state)
{
	(void)state;
	assert_int_equal(tried(narrowed, CONFINE_EXEC), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_and_allowed),
		cmocka_unit_test(test_filters_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
