/*
 * How execs end where something comes between: a guest that stands still.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guest_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
