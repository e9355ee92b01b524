/*
 * How execs end where something comes between: a guest that stands still, a child that is killed
 * before it is the program, a process that is looked at in the middle of its exec.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"

/* Each may end well by chance, as one is seldom looked at just then. */
#define ROUNDS 40

static bool gone_soon(pid_t pid)
{
	for (int i = 0; i < 1000 && !kill(pid, 0); i++)
		(void)usleep(10000);
	return kill(pid, 0) && errno == ESRCH;
}

/* Who writes on after the main process has its time to do so, although the guest's clock jumps by
 * more than that. */
static void test_guest_stands_still(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(4096);
	struct boxd_peer p;
	char path[128];
	int fd;

	(void)state;
	boxd_open(&p, "cgroup");
	(void)snprintf(path, sizeof(path), "%s/go", p.dir);
	assert_int_equal(mkfifo(path, 0666), 0);
	boxd_say(&p, WIRE_EXEC, 1,
		"{\"argv\":[\"/bin/sh\",\"-c\",\"(read go < %s; echo late) & echo $$ > %s/pid\"],"
		"\"cwd\":\"/\"}",
		path, p.dir);
	/* boxd has waited for it: its time runs */
	assert_true(gone_soon(boxd_pid(&p, "pid")));
	assert_int_equal(kill(p.pid, SIGSTOP), 0);
	(void)usleep(2300000);
	assert_int_equal(kill(p.pid, SIGCONT), 0);
	(void)usleep(100000);
	/* who reads it may have been killed */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(write(fd, "\n", 1), 1);
	do {
		assert_true(boxd_next(&p));
		if (p.frame.type == WIRE_STDOUT)
			(void)buf_add(
				&out, p.frame.payload + WIRE_OFFSET, p.frame.length - WIRE_OFFSET);
	} while (p.frame.type != WIRE_EXIT);
	(void)close(fd);
	assert_string_equal(out.data, "late\n");
	boxd_close(&p);
}

static void script_make(const struct boxd_peer *p, const char *name, const char *text)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

/* The one child of a process, once there is one. */
static pid_t child_of(pid_t pid)
{
	char path[64], text[32] = "";
	int64_t child;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	for (int i = 0; i < 500; i++) {
		CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		text[strcspn(text, " ")] = '\0';
		if (text_to_i64(text, 2, INT32_MAX, &child))
			return (pid_t)child;
		(void)usleep(10000);
	}
	fail_msg("no child of %d", (int)pid);
	return 0;
}

/* A copy of a program below dir; it cannot be opened, and so not begun, until the descriptor is
 * closed. */
static int program_held(const struct boxd_peer *p, const char *program, const char *name)
{
	CLEANUP(fd) int from = open(program, O_RDONLY | O_CLOEXEC);
	static char bytes[1 << 20];
	char path[128];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(fd, bytes, (size_t)n), n);
	assert_int_equal(close(fd), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)signal(SIGIO, SIG_IGN); /* the kernel asks for the lease back: not yet */
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	return fd;
}

/* A child that never came to its program is no result of it; one that is killed in it is. */
static void test_killed_before_it_began(void **state)
{
	static const char *const both[] = {"cgroup", "proc"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct boxd_peer p;
		int held;

		boxd_open(&p, both[i]);
		held = program_held(&p, "/bin/true", "held");
		boxd_say(&p, WIRE_EXEC, 1, "{\"argv\":[\"%s/held\"],\"cwd\":\"/\"}", p.dir);
		assert_int_equal(kill(child_of(p.pid), SIGKILL), 0);
		assert_true(boxd_next(&p));
		if (p.frame.type != WIRE_ERROR)
			fail_msg("%s %s", wire_type_name(p.frame.type), boxd_text(&p));
		assert_non_null(strstr(boxd_text(&p), "killed before it began"));
		(void)close(held);
		boxd_say(&p, WIRE_EXEC, 2, "{\"argv\":[\"%s/held\"],\"cwd\":\"/\"}", p.dir);
		assert_non_null(strstr(boxd_expect(&p, WIRE_EXIT, 2), "\"code\":0"));
		assert_non_null(strstr(boxd_script(&p, 3, "", "kill -9 $$", NULL), "\"signal\":9"));
		boxd_close(&p);
	}
}

/* A daemon is told by its environment alone, which is not there in the middle of an exec: one that
 * execs without end is killed with its own exec all the same. */
static void test_looked_at_in_its_exec(void **state)
{
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "proc");
	script_make(&p, "again", "#!/bin/sh\nexec \"$0\"\n");
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		char script[512], name[16];
		pid_t pid;

		(void)snprintf(name, sizeof(name), "pid%u", i);
		(void)snprintf(script, sizeof(script),
			"setsid sh -c 'echo $$ > %s/%s; exec %s/again' > /dev/null 2>&1 < "
			"/dev/null "
			"& while [ ! -s %s/%s ]; do sleep 0.01; done",
			p.dir, name, p.dir, p.dir, name);
		(void)boxd_script(&p, i, "", script, NULL);
		pid = boxd_pid(&p, name);
		if (gone_soon(pid))
			continue;
		(void)kill(pid, SIGKILL);
		fail_msg("round %u: %d lives", i, (int)pid);
	}
	boxd_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guest_stands_still),
		cmocka_unit_test(test_killed_before_it_began),
		cmocka_unit_test(test_looked_at_in_its_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
