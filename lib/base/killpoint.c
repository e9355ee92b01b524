/*
 * Kill-points and test switches; empty outside test builds.
 */
#include "killpoint.h"

#ifdef ASB_TEST
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* DIR/prefixNAME; false where no folder is named. */
static int path_of(const char *prefix, const char *name, char path[PATH_MAX])
{
	const char *dir = getenv("ASB_FAULT_DIR");

	return dir && snprintf(path, PATH_MAX, "%s/%s%s", dir, prefix, name) < PATH_MAX;
}

void kill_point(const char *name)
{
	char path[PATH_MAX];

	if (path_of("", name, path) && !unlink(path))
		(void)kill(getpid(), SIGKILL);
}

int test_switch(const char *name)
{
	char path[PATH_MAX];

	return path_of("switch-", name, path) && !access(path, F_OK);
}
#else
typedef int killpoint_is_empty; /* ISO C wants something in every file */
#endif
