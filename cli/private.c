/*
 * Private files: opened without following links, believed by owner and mode, replaced by renaming.
 */
#include "private.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "pool.h"

bool private_is(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

bool private_folder_make(struct pool *pool, const char *folder, struct err *err)
{
	char *above = pool_strdup(pool, folder);
	char *slash = strrchr(above, '/');

	*slash = '\0';
	if ((mkdir(above, 0700) && errno != EEXIST) || (mkdir(folder, 0700) && errno != EEXIST))
		return err_errno(err, ERR_INVALID, "make %.150s", folder);
	return true;
}

static bool distrust(const char *folder, const char *name, struct err *err)
{
	(void)err_set(err, ERR_FORBIDDEN,
		"%.150s/%s is not believed: it must be a file of yours that nobody else may read, "
		"in "
		"a folder that nobody else may write",
		folder, name);
	return err_advise(err, "not_private", "chmod 600 it, or remove it");
}

/* *fd -1: there is none. */
static bool folder_open(const char *folder, const char *name, int *fd, struct err *err)
{
	*fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return errno == ENOENT || err_errno(err, ERR_INVALID, "%.150s", folder);
	return private_is(*fd, S_IFDIR) || distrust(folder, name, err);
}

static bool is_secret(int fd)
{
	struct stat st;

	return private_is(fd, S_IFREG) && fstat(fd, &st) == 0 && !(st.st_mode & 077);
}

bool private_read(struct pool *pool, const char *folder, const char *name, size_t max, char **text,
	struct err *err)
{
	CLEANUP(fd) int dir = -1;
	CLEANUP(fd) int fd = -1;
	ssize_t n;

	*text = NULL;
	if (!folder_open(folder, name, &dir, err))
		return false;
	if (dir < 0)
		return true;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0 || !is_secret(fd))
		return distrust(folder, name, err);
	*text = pool_alloc(pool, max + 1);
	n = pread(fd, *text, max + 1, 0);
	if (n < 0)
		return err_errno(err, ERR_INTERNAL, "%.150s/%s", folder, name);
	if ((size_t)n > max)
		return err_set(err, ERR_TOO_LARGE, "%.150s/%s is none of ours", folder, name);
	(*text)[n] = '\0';
	return true;
}

bool private_write(
	struct pool *pool, const char *folder, const char *name, const char *text, struct err *err)
{
	const char *fresh = pool_printf(pool, "%s.new", name);
	CLEANUP(fd) int dir = -1;
	CLEANUP(fd) int fd = -1;
	size_t n = strlen(text);

	if (!private_folder_make(pool, folder, err) || !folder_open(folder, name, &dir, err))
		return false;
	(void)unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) || write(fd, text, n) != (ssize_t)n || fsync(fd) ||
		renameat(dir, fresh, dir, name))
		return err_errno(err, ERR_INTERNAL, "write %.150s/%s", folder, name);
	return true;
}
