/*
 * Finds programs beside the running test, so that a test of an asan build drives asan programs.
 */
#include "testprogram.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *testprogram(const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char self[256];
	char *path = paths[next++ % 8], *tests;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		exit(1);
	self[n] = '\0';
	tests = strstr(self, "/tests/"); /* BUILD/MODE/tests/KIND/test_x */
	if (!tests) {
		(void)fprintf(stderr, "%s: not in a build folder\n", self);
		exit(1);
	}
	*tests = '\0';
	(void)snprintf(path, sizeof(paths[0]), "%s/bin/%s", self, name);
	if (access(path, X_OK))
		(void)snprintf(path, sizeof(paths[0]), "%s/../box/%s", self, name);
	if (access(path, X_OK)) {
		(void)fprintf(stderr, "%s is not built: make\n", name);
		exit(1);
	}
	return path;
}

static bool can_connect(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool ok;

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	ok = fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to));
	if (fd >= 0)
		(void)close(fd);
	return ok;
}

bool testprogram_listens(const char *path)
{
	for (int i = 0; i < 6000; i++) {
		if (can_connect(path))
			return true;
		(void)usleep(10000);
	}
	return false;
}
