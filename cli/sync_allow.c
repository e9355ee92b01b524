/*
 * The record of directories that may be synced: read with suspicion, changed under a lock by
 * writing a new file in the old one's place.
 */
#include "sync_allow.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "exclude.h"
#include "pool.h"
#include "private.h"
#include "text.h"
#include "tree.h"

#define RECORD "sync-directories"
#define RECORD_NEW "sync-directories.new"
/* Some hundred directories; a record beyond it is none of ours. */
#define RECORD_MAX (256u * 1024)

void cleanup_sync_place(struct sync_place *place)
{
	cleanup_fd(&place->dir);
	cleanup_fd(&place->root);
}

bool sync_folder(struct pool *pool, const char **folder, struct err *err)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (!pw || !pw->pw_dir || pw->pw_dir[0] != '/')
		return err_set(err, ERR_INVALID, "the system knows no home of user %u",
			(unsigned)geteuid());
	*folder = pool_printf(pool, "%s/.config/agent-sandbox", pw->pw_dir);
	return true;
}

static bool distrust(const char *folder, struct err *err)
{
	(void)err_set(err, ERR_FORBIDDEN,
		"%.150s/%s is not believed: it, or its folder, is not yours alone to write", folder,
		RECORD);
	return err_advise(err, "sync_record",
		"remove it, and run `asb init` again in the directories you want synced");
}

/* *fd -1: there is no such folder. */
static bool folder_open(const char *folder, int *fd, struct err *err)
{
	*fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return errno == ENOENT || err_errno(err, ERR_INVALID, "%.150s", folder);
	if (private_is(*fd, S_IFDIR))
		return true;
	(void)close(*fd);
	*fd = -1;
	return distrust(folder, err);
}

/* One line: inode, time, path. Cuts it up. */
static bool take_line(char *line, struct sync_dir *out)
{
	char *time = strchr(line, ' ');
	char *path = time ? strchr(time + 1, ' ') : NULL;
	int64_t inode;

	if (!path)
		return false;
	*time++ = '\0';
	*path++ = '\0';
	if (!text_to_i64(line, 0, INT64_MAX, &inode) ||
		!text_to_i64(time, 0, INT64_MAX, &out->since_ms) || *path != '/')
		return false;
	out->inode = (uint64_t)inode;
	out->path = path;
	return true;
}

static bool record_parse(
	struct pool *pool, const char *folder, char *text, struct sync_list *out, struct err *err)
{
	struct sync_list list = {0};
	size_t lines = 0;

	for (const char *s = text; (s = strchr(s, '\n')); s++)
		lines++;
	list.dirs = POOL_ARRAY(pool, struct sync_dir, lines);
	for (char *s = text, *end; *s; s = end + 1) {
		end = strchr(s, '\n');
		if (!end)
			return distrust(folder, err);
		*end = '\0';
		if (!take_line(s, &list.dirs[list.n++]))
			return distrust(folder, err);
	}
	*out = list;
	return true;
}

static bool record_read(struct pool *pool, const char *folder, int folder_fd, struct sync_list *out,
	struct err *err)
{
	CLEANUP(fd)
	int fd = openat(folder_fd, RECORD, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text;
	ssize_t n;

	if (fd < 0 && errno == ENOENT) {
		*out = (struct sync_list){0};
		return true;
	}
	if (fd < 0 || !private_is(fd, S_IFREG))
		return distrust(folder, err);
	text = pool_alloc(pool, RECORD_MAX + 1);
	n = pread(fd, text, RECORD_MAX + 1, 0);
	if (n < 0)
		return err_errno(err, ERR_INTERNAL, "%.150s/%s", folder, RECORD);
	if (n > (ssize_t)RECORD_MAX || memchr(text, '\0', (size_t)n))
		return distrust(folder, err);
	text[n] = '\0';
	return record_parse(pool, folder, text, out, err);
}

bool sync_list(struct pool *pool, const char *folder, struct sync_list *out, struct err *err)
{
	CLEANUP(fd) int fd = -1;

	if (!folder_open(folder, &fd, err))
		return false;
	if (fd >= 0)
		return record_read(pool, folder, fd, out, err);
	*out = (struct sync_list){0};
	return true;
}

/* Opens a path in which there must be no link, from the root on. */
static int open_plain(const char *path)
{
	CLEANUP(fd) int top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return tree_open(top, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY);
}

static bool has_inode(int fd, uint64_t inode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == inode;
}

const char *sync_dir_state(const struct sync_dir *dir)
{
	CLEANUP(fd) int fd = open_plain(dir->path);

	if (fd < 0)
		return "gone";
	return has_inode(fd, dir->inode) ? "enabled" : "replaced";
}

/* Is path `top`, or below it? What is left of it then; else NULL. */
static const char *path_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	if (strncmp(path, top, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path + n + (path[n] == '/');
}

bool sync_may_allow(
	struct pool *pool, const char *folder, const char *dir, const char **path, struct err *err)
{
	const char *holder;
	char real[PATH_MAX], home[PATH_MAX];
	char *parts;

	if (!realpath(dir, real))
		return err_errno(err, ERR_INVALID, "%.150s", dir);
	/* the folder may not be there yet, and a part of its path may be a link */
	holder = realpath(folder, home) ? home : folder;
	if (!real[1] || path_below(holder, real)) {
		(void)err_set(err, ERR_INVALID, "%.150s holds more than a project", real);
		return err_advise(err, NULL, "choose the project's own directory");
	}
	if (strchr(real, '\n') || !text_is_utf8(real, strlen(real)))
		return err_set(err, ERR_INVALID, "a directory with such a name cannot be enabled");
	parts = pool_strdup(pool, real + 1);
	for (char *part = parts, *next; part; part = next) {
		const char *why;

		next = strchr(part, '/');
		if (next)
			*next++ = '\0';
		why = exclude_folder_reason(part);
		if (why)
			return err_set(err, ERR_INVALID, "%.150s is never copied: %s", real, why);
	}
	*path = pool_strdup(pool, real);
	return true;
}

static bool record_write(const char *folder, int fd, const struct sync_list *list, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(RECORD_MAX);
	CLEANUP(fd) int file = -1;

	for (size_t i = 0; i < list->n; i++)
		(void)buf_addf(&b, "%llu %lld %s\n", (unsigned long long)list->dirs[i].inode,
			(long long)list->dirs[i].since_ms, list->dirs[i].path);
	if (b.failed)
		return err_set(err, ERR_TOO_LARGE, "too many directories are enabled");
	(void)unlinkat(fd, RECORD_NEW, 0);
	file = openat(fd, RECORD_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 || write(file, b.data, b.len) != (ssize_t)b.len || fsync(file) ||
		renameat(fd, RECORD_NEW, fd, RECORD))
		return err_errno(err, ERR_INTERNAL, "write %.150s/%s", folder, RECORD);
	return true;
}

/* The folder, locked until it is closed: two at once would lose one's line. */
static bool folder_lock(const char *folder, int *fd, struct err *err)
{
	if (!folder_open(folder, fd, err))
		return false;
	if (*fd >= 0 && flock(*fd, LOCK_EX))
		return err_errno(err, ERR_INTERNAL, "lock %.150s", folder);
	return true;
}

bool sync_allow(struct pool *pool, const char *folder, const char *path, struct err *err)
{
	CLEANUP(fd) int fd = -1;
	CLEANUP(fd) int dir = open_plain(path);
	struct sync_list old, list = {0};
	struct stat st;

	if (dir < 0 || fstat(dir, &st))
		return err_errno(err, ERR_INVALID, "%.150s", path);
	if (!private_folder_make(pool, folder, err) || !folder_lock(folder, &fd, err) ||
		!record_read(pool, folder, fd, &old, err))
		return false;
	list.dirs = POOL_ARRAY(pool, struct sync_dir, old.n + 1);
	for (size_t i = 0; i < old.n; i++)
		if (strcmp(old.dirs[i].path, path) != 0)
			list.dirs[list.n++] = old.dirs[i];
	list.dirs[list.n++] =
		(struct sync_dir){.path = path, .inode = st.st_ino, .since_ms = time_now_ms()};
	return record_write(folder, fd, &list, err);
}

bool sync_forbid(struct pool *pool, const char *folder, const char *dir, struct err *err)
{
	CLEANUP(fd) int fd = -1;
	struct sync_list old = {0}, list = {0};
	char real[PATH_MAX];
	const char *path = realpath(dir, real) ? real : dir;

	if (!folder_lock(folder, &fd, err) ||
		(fd >= 0 && !record_read(pool, folder, fd, &old, err)))
		return false;
	list.dirs = POOL_ARRAY(pool, struct sync_dir, old.n);
	for (size_t i = 0; i < old.n; i++)
		if (strcmp(old.dirs[i].path, path) != 0)
			list.dirs[list.n++] = old.dirs[i];
	if (list.n < old.n)
		return record_write(folder, fd, &list, err);
	(void)err_set(err, ERR_NOT_FOUND, "%.150s was not enabled", path);
	return err_advise(err, NULL, "`asb init --list` says what is");
}

static bool refuse(const char *dir, struct err *err)
{
	/* the same whether it exists: an agent that asks learns nothing about other directories */
	(void)err_set(err, ERR_FORBIDDEN,
		"%.150s is no directory that syncing was enabled for, nor one below it", dir);
	return err_advise(err, "sync_not_enabled",
		"a person enables it: `asb init` in the project's directory, at a terminal");
}

bool sync_open(struct pool *pool, const char *folder, const char *dir, struct sync_place *out,
	struct err *err)
{
	CLEANUP(sync_place) struct sync_place place = SYNC_PLACE_NONE;
	const struct sync_dir *found = NULL;
	struct sync_list list;
	char real[PATH_MAX];

	if (!sync_list(pool, folder, &list, err))
		return false;
	if (!realpath(dir, real))
		return refuse(dir, err);
	for (size_t i = 0; i < list.n; i++) {
		const struct sync_dir *d = &list.dirs[i];

		if (path_below(real, d->path) && (!found || strlen(d->path) > strlen(found->path)))
			found = d;
	}
	if (!found)
		return refuse(dir, err);
	place.root = open_plain(found->path);
	if (place.root < 0 || !has_inode(place.root, found->inode)) {
		(void)err_set(err, ERR_FORBIDDEN, "%.150s is another directory than was enabled",
			found->path);
		return err_advise(err, "sync_not_enabled",
			"a person enables it anew: `asb init` there, at a terminal");
	}
	place.path = pool_strdup(pool, real);
	place.below = path_below(place.path, found->path);
	place.dir = tree_open(place.root, *place.below ? place.below : ".", O_RDONLY | O_DIRECTORY);
	if (place.dir < 0)
		return refuse(dir, err);
	*out = place;
	place.root = place.dir = -1; /* the caller's now */
	return true;
}
