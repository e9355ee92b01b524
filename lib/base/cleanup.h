#pragma once
/*
 * Freeing by scope: `CLEANUP(fd) int fd = -1;` closes at the end of the scope. Giving the thing
 * away is written STEAL(fd), which leaves the variable empty. Declare inside the loop body, never
 * across its `continue`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(kind) __attribute__((cleanup(cleanup_##kind)))

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* Closes it before the end of its scope; there is none then. */
static inline void fd_drop(int *fd)
{
	cleanup_fd(fd);
	*fd = -1;
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_file(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

static inline int cleanup_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define STEAL_FD(fd) cleanup_steal_fd(&(fd))
#define STEAL(p)                            \
	__extension__({                     \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})
