/*
 * TAR_IN's child: unpacks a checked stream of entries beneath one folder, as the user it has
 * become. Every name is resolved by the kernel beneath that folder and through no symbolic link,
 * whatever was there before.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxjson.h"
#include "buf.h"
#include "cleanup.h"
#include "files.h"
#include "tar.h"
#include "worker.h"

struct unpack {
	int top;
	int file; /* being written, -1: none */
	/* the folder of the last entry: most lie where the one before them does */
	int parent;
	char parent_name[FILES_PATH_MAX + 1];
	int64_t mtime_s;
	uint64_t entries, bytes;
};

/* Makes each missing folder of path beneath at (the first `n` bytes of it) and opens the last. */
static int folder_open(int at, const char *path, size_t n)
{
	char part[FILES_PATH_MAX + 1];
	int fd;

	if (n == 0)
		return files_open(at, ".", O_PATH | O_DIRECTORY, 0);
	memcpy(part, path, n);
	part[n] = '\0';
	fd = files_open(at, part, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	for (size_t i = 1; i <= n; i++) {
		CLEANUP(fd) int parent = -1;
		char *slash;

		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		slash = strrchr(part, '/');
		if (slash)
			*slash = '\0';
		/* "/x" of an absolute path lies in "/" */
		parent = files_open(at, !slash ? "." : *part ? part : "/", O_PATH | O_DIRECTORY, 0);
		if (slash)
			*slash = '/';
		if (parent < 0 ||
			(mkdirat(parent, slash ? slash + 1 : part, 0755) && errno != EEXIST))
			return -1;
		part[i] = i < n ? '/' : '\0';
	}
	return files_open(at, part, O_PATH | O_DIRECTORY, 0);
}

/* The folder that name lies in, and its last part. Kept open, u's. */
static int parent_open(struct unpack *u, const char *name, const char **last)
{
	const char *slash = strrchr(name, '/');
	size_t n = slash ? (size_t)(slash - name) : 0;

	*last = slash ? slash + 1 : name;
	if (u->parent >= 0 && strlen(u->parent_name) == n && !memcmp(u->parent_name, name, n))
		return u->parent;
	if (u->parent >= 0)
		(void)close(u->parent);
	u->parent = folder_open(u->top, name, n);
	memcpy(u->parent_name, name, n);
	u->parent_name[n] = '\0';
	return u->parent;
}

static bool folder_make(int parent, const char *name, unsigned mode)
{
	CLEANUP(fd) int fd = -1;

	if (mkdirat(parent, name, 0700) && errno != EEXIST)
		return false;
	fd = files_open(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	/* what comes into it is written by the same user: it must stay writable */
	return fd >= 0 && fchmod(fd, mode | 0700) == 0;
}

/* What could not be made because something is in its place may be tried again: that is gone. */
static bool make_way(int parent, const char *name)
{
	return errno == EEXIST && unlinkat(parent, name, 0) == 0;
}

static bool symlink_make(const struct tar_entry *e, int parent, const char *last)
{
	return symlinkat(e->link, parent, last) == 0 ||
	       (make_way(parent, last) && symlinkat(e->link, parent, last) == 0);
}

static bool hardlink_make(struct unpack *u, const struct tar_entry *e, int parent, const char *last)
{
	CLEANUP(fd) int to = fcntl(parent, F_DUPFD_CLOEXEC, 0); /* parent_open keeps one only */
	const char *from_last;
	int from = to < 0 ? -1 : parent_open(u, e->link, &from_last);

	return from >= 0 &&
	       (linkat(from, from_last, to, last, 0) == 0 ||
		       (make_way(to, last) && linkat(from, from_last, to, last, 0) == 0));
}

static bool entry_make(struct unpack *u, const struct tar_entry *e)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const char *last;
	int parent = parent_open(u, e->name, &last);

	if (parent < 0)
		return false;
	if (e->kind == TAR_DIR)
		return folder_make(parent, last, e->mode);
	if (e->kind == TAR_SYMLINK)
		return symlink_make(e, parent, last);
	if (e->kind == TAR_HARDLINK)
		return hardlink_make(u, e, parent, last);
	u->file = openat(parent, last, flags, e->mode);
	if (u->file < 0 && make_way(parent, last))
		u->file = openat(parent, last, flags, e->mode);
	u->mtime_s = e->mtime_s;
	return u->file >= 0;
}

static bool on_entry(void *arg, const struct tar_entry *e, struct err *err)
{
	struct unpack *u = arg;

	u->entries++;
	if (strcmp(e->name, ".") == 0)
		return true;
	if (!entry_make(u, e)) {
		(void)err_errno(err, ERR_INVALID, "tar entry \"%.120s\"", e->name);
		return err_advise(err, "tree", NULL);
	}
	return true;
}

static bool on_data(void *arg, const void *data, size_t n, struct err *err)
{
	struct unpack *u = arg;
	const char *p = data;

	u->bytes += n;
	while (n) {
		ssize_t wrote = write(u->file, p, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0) {
			(void)err_errno(err, ERR_TOO_LARGE, "write");
			return err_advise(err, "tree", NULL);
		}
		p += wrote;
		n -= (size_t)wrote;
	}
	return true;
}

static bool on_end(void *arg, struct err *err)
{
	struct unpack *u = arg;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = u->mtime_s}};
	bool ok = futimens(u->file, times) == 0;

	(void)close(u->file);
	u->file = -1;
	return ok ? true : err_errno(err, ERR_INTERNAL, "finish file");
}

static bool stream_unpack(struct tar_reader *r, int data, struct err *err)
{
	char bytes[64 * 1024];
	ssize_t n;

	while ((n = read(data, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, ERR_INTERNAL, "read");
		if (!tar_reader_push(r, bytes, (size_t)n, err))
			return false;
	}
	return tar_reader_finish(r, err);
}

int unpack_child(int data, int answer, const void *arg)
{
	struct unpack u = {.file = -1, .parent = -1};
	const struct tar_sink sink = {on_entry, on_data, on_end, &u};
	struct tar_reader *r = tar_reader_new(&tar_limits_default, &sink);
	CLEANUP(buf) struct buf json = BUF_INIT(256);
	const char *path = arg;
	size_t n = strlen(path);
	struct err err = {0};
	bool ok;

	while (n > 1 && path[n - 1] == '/')
		n--;
	(void)umask(0); /* an entry has its own mode */
	u.top = n == 1 ? files_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0)
		       : folder_open(AT_FDCWD, path, n);
	ok = u.top >= 0 ? stream_unpack(r, data, &err) : files_fail(path, &err);
	(void)buf_addc(&json, '{');
	boxjson_add_u64(&json, "entries", u.entries);
	boxjson_add_u64(&json, "bytes", u.bytes);
	(void)buf_addc(&json, '}');
	if (ok)
		answer_done(answer, &json);
	else
		answer_error(answer, &err, *tar_reader_entry(r) ? tar_reader_entry(r) : NULL);
	tar_reader_free(r);
	return ok ? 0 : 1;
}
