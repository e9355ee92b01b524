/*
 * Whom the asking side of asb-spawn believes: root, or who runs as we do. Whoever else listens at
 * its place gets not a byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "spawn.h"

/* Listens as uid, says ok to one request; its status: 0 it got one, 1 it did not. */
static _Noreturn void serve(const char *path, uid_t uid, int ready)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), peer;
	char text[4096];

	alarm(10);
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if ((uid && setuid(uid)) || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 8) ||
		chmod(path, 0777) || write(ready, "r", 1) != 1)
		_exit(9);
	peer = accept(fd, NULL, NULL);
	if (recv(peer, text, sizeof(text), 0) <= 0)
		_exit(1);
	(void)!send(peer, "{\"ok\":true}", 11, 0);
	_exit(0);
}

/* Asks for a box's end of a server that is uid, as uid `asks`. */
static bool killed_by(uid_t uid, uid_t asks, int *served)
{
	char dir[] = "/tmp/asb-spawnclient.XXXXXX", path[64], byte;
	struct config cfg = {.run_dir = dir};
	int ready[2], status = 0;
	pid_t server, client;
	struct err err;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(pipe(ready), 0);
	(void)snprintf(path, sizeof(path), "%s/spawn.sock", dir);
	server = fork();
	if (!server)
		serve(path, uid, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	client = fork();
	if (!client)
		_exit((asks && setuid(asks)) || !spawn_kill(&cfg, NULL, "box-x", 0, &err));
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_int_equal(waitpid(server, served, 0), server);
	(void)close(ready[0]);
	(void)close(ready[1]);
	(void)unlink(path);
	(void)rmdir(dir);
	return status == 0;
}

static void test_peer(void **state)
{
	int served;

	(void)state;
	assert_true(killed_by(0, 0, &served));
	assert_int_equal(WEXITSTATUS(served), 0);
	if (geteuid())
		skip();
	/* the worker's own case: root's spawn, asked by another */
	assert_true(killed_by(0, 12345, &served));
	assert_int_equal(WEXITSTATUS(served), 0);
	assert_false(killed_by(12345, 0, &served));
	assert_int_equal(WEXITSTATUS(served), 1);
	assert_false(killed_by(12345, 12346, &served));
	assert_int_equal(WEXITSTATUS(served), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_peer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
