/*
 * File requests. STAT is answered at once, following no symbolic link; tars are the work of a child
 * that has become the user, so that the box's own permissions hold.
 */
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "exec_ahead.h"
#include "files.h"
#include "worker.h"

int files_open(int at, const char *path, int flags, unsigned mode)
{
	struct open_how how = {.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	if (at != AT_FDCWD)
		how.resolve |= RESOLVE_BENEATH;
	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

int files_open_inside(int at, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH |
			   RESOLVE_NO_XDEV};

	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

bool files_path_check(const char *path, struct err *err)
{
	if (!path || path[0] != '/' || strlen(path) > FILES_PATH_MAX)
		return err_set(err, ERR_INVALID, "path: an absolute path is wanted");
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return err_set(err, ERR_INVALID, "path: \"..\" is not taken");
	return true;
}

bool files_path(const struct boxjson *in, const char *key, const char **path, struct err *err)
{
	return boxjson_text(in, key, NULL, path, err) && files_path_check(*path, err);
}

static enum err_code code_of_errno(void)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return ERR_NOT_FOUND;
	return errno == EACCES || errno == EPERM ? ERR_FORBIDDEN : ERR_INVALID;
}

bool files_fail(const char *path, struct err *err)
{
	enum err_code code = code_of_errno();

	return err_errno(err, code, "%.200s", path);
}

const char *files_kind(mode_t mode)
{
	if (S_ISREG(mode))
		return "file";
	if (S_ISDIR(mode))
		return "dir";
	return S_ISLNK(mode) ? "symlink" : "other";
}

bool files_stat(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(512);
	CLEANUP(fd) int fd = -1;
	const char *path;
	struct stat st;

	if (!files_path(in, "path", &path, err))
		return false;
	fd = files_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &st))
		return files_fail(path, err);
	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "kind", files_kind(st.st_mode));
	boxjson_add_i64(&json, "size", st.st_size);
	boxjson_add_i64(&json, "mode", st.st_mode & 07777);
	boxjson_add_i64(&json, "mtime_ms",
		(int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
	(void)buf_addc(&json, '}');
	channel_done(b, stream, &json);
	return true;
}

static bool text_write(int fd, const char *text)
{
	for (size_t n = strlen(text); n;) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno != EINTR)
			return false;
		text += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* The folder of a file of ours: reached over no link, and ours, root's or the user's own. */
static int folder_of(const char *path, uid_t uid, struct err *err)
{
	CLEANUP(fd) int dir = files_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (dir < 0 || fstat(dir, &st)) {
		(void)files_fail(path, err);
		return -1;
	}
	if (st.st_uid && st.st_uid != geteuid() && st.st_uid != uid) {
		(void)err_set(err, ERR_FORBIDDEN, "%.200s: another's folder", path);
		return -1;
	}
	return STEAL_FD(dir);
}

/*
 * By us: a child for it costs a fresh clone more than the task it brings. What is there under the
 * name is removed and never followed, so that nothing is written which the user could not write.
 */
bool files_write(struct boxd *b, const char *path, const char *name, const char *user,
	unsigned mode, const char *text, struct err *err)
{
	CLEANUP(fd) int dir = -1;
	CLEANUP(fd) int fd = -1;
	const char *home;
	uid_t uid;

	if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_set(err, ERR_INVALID, "name: the name of a file is wanted");
	if (!user_find(user, &uid, &home))
		return err_set(err, ERR_INVALID, "user: no user %.32s", user);
	dir = folder_of(path, uid, err);
	if (dir < 0)
		return false;
	(void)unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || !text_write(fd, text) || (b->is_root && fchown(fd, uid, uid)) ||
		fchmod(fd, (mode_t)mode))
		return files_fail(name, err);
	return true;
}

/* The folder of an absolute path, and its last name; NULL: it lies in none of ours. */
static const char *path_split(const char *path, char folder[FILES_PATH_MAX + 1])
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path || strlen(path) > FILES_PATH_MAX)
		return NULL;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	return slash + 1;
}

bool files_put(
	struct boxd *b, const char *path, const char *user, const char *text, struct err *err)
{
	char folder[FILES_PATH_MAX + 1];
	const char *name = path_split(path, folder);

	return name ? files_write(b, folder, name, user, 0600, text, err)
		    : err_set(err, ERR_INVALID, "%.200s: no path of a file", path);
}

void files_remove(const char *path)
{
	char folder[FILES_PATH_MAX + 1];
	const char *name = path_split(path, folder);
	CLEANUP(fd) int dir = -1;

	if (!name)
		return;
	dir = files_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
	if (dir >= 0)
		(void)unlinkat(dir, name, 0);
}

static bool file_write(struct boxd *b, const char *path, const char *user, const char *text,
	const struct boxjson *in, struct err *err)
{
	const char *name;
	int64_t mode;

	return boxjson_text(in, "name", "", &name, err) &&
	       boxjson_i64(in, "mode", 0, 0777, 0600, &mode, err) &&
	       files_write(b, path, name, user, (unsigned)mode, text, err);
}

bool files_tar_in(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {"path", "user", "name", "mode", "text", NULL};
	CLEANUP(buf) struct buf json = BUF_INIT(16);
	const char *path, *user, *text;

	if (!boxjson_only(in, known, err) || !files_path(in, "path", &path, err) ||
		!boxjson_text(in, "user", "agent", &user, err) ||
		!boxjson_text(in, "text", NULL, &text, err))
		return false;
	if (!text)
		return worker_start(b, WORKER_TAR_IN, stream, user, unpack_child, path, err);
	if (!file_write(b, path, user, text, in, err))
		return false;
	(void)buf_adds(&json, "{}");
	channel_done(b, stream, &json);
	return true;
}

bool files_tar_out(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {"path", "user", "max_bytes", NULL};
	struct pack_request rq = {0};
	const char *user;

	ahead_drop(b);
	return boxjson_only(in, known, err) && files_path(in, "path", &rq.path, err) &&
	       boxjson_text(in, "user", "agent", &user, err) &&
	       boxjson_i64(in, "max_bytes", 0, INT64_MAX, INT64_MAX, &rq.max_bytes, err) &&
	       worker_start(b, WORKER_TAR_OUT, stream, user, pack_child, &rq, err);
}
