/*
 * File requests. STAT and LIST are answered at once, following no symbolic link; tars are the work
 * of a child that has become the user, so that the box's own permissions hold.
 */
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "files.h"
#include "worker.h"

#define LIST_MAX 1000
/* What LIST's answer may take of a frame, with one more entry's room left. */
#define LIST_BYTES (WIRE_PAYLOAD_MAX - 2048)

int files_open(int at, const char *path, int flags, unsigned mode)
{
	struct open_how how = {.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	if (at != AT_FDCWD)
		how.resolve |= RESOLVE_BENEATH;
	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

static bool path_check(const char *path, struct err *err)
{
	if (!path || path[0] != '/' || strlen(path) > FILES_PATH_MAX)
		return err_set(err, ERR_INVALID, "path: an absolute path is wanted");
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return err_set(err, ERR_INVALID, "path: \"..\" is not taken");
	return true;
}

static bool path_get(const struct boxjson *in, const char **path, struct err *err)
{
	return boxjson_text(in, "path", NULL, path, err) && path_check(*path, err);
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

static const char *kind_name(mode_t mode)
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

	if (!path_get(in, &path, err))
		return false;
	fd = files_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &st))
		return files_fail(path, err);
	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "kind", kind_name(st.st_mode));
	boxjson_add_i64(&json, "size", st.st_size);
	boxjson_add_i64(&json, "mode", st.st_mode & 07777);
	boxjson_add_i64(&json, "mtime_ms",
		(int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
	(void)buf_addc(&json, '}');
	channel_done(b, stream, &json);
	return true;
}

bool files_list(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(WIRE_PAYLOAD_MAX);
	const char *path;
	bool truncated = false;
	struct dirent *d;
	struct stat st;
	int fd, n = 0;
	DIR *dir;

	if (!path_get(in, &path, err))
		return false;
	fd = files_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return files_fail(path, err);
	dir = fdopendir(fd);
	(void)buf_adds(&json, "{\"entries\":[");
	while (dir && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
			fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		truncated = n++ == LIST_MAX || json.len > LIST_BYTES;
		if (truncated)
			break;
		boxjson_add_key(&json, NULL);
		(void)buf_addc(&json, '{');
		boxjson_add_text(&json, "name", d->d_name);
		boxjson_add_text(&json, "kind", kind_name(st.st_mode));
		boxjson_add_i64(&json, "size", st.st_size);
		(void)buf_addc(&json, '}');
	}
	if (dir)
		(void)closedir(dir);
	(void)buf_addf(&json, "],\"truncated\":%s}", truncated ? "true" : "false");
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

/*
 * One small file, written by us: a child for it costs a fresh clone more than the task it brings.
 * Only into a folder that is ours or root's and was reached over no link, where what the user has
 * put under the name is removed and never followed.
 */
static bool file_write(struct boxd *b, const char *path, const char *user, const char *text,
	const struct boxjson *in, struct err *err)
{
	CLEANUP(fd) int dir = -1;
	CLEANUP(fd) int fd = -1;
	const char *name, *home;
	struct stat st;
	int64_t mode;
	uid_t uid;

	if (!boxjson_text(in, "name", "", &name, err) ||
		!boxjson_i64(in, "mode", 0, 0777, 0600, &mode, err))
		return false;
	if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_set(err, ERR_INVALID, "name: the name of a file is wanted");
	if (!user_find(user, &uid, &home))
		return err_set(err, ERR_INVALID, "user: no user %.32s", user);
	dir = files_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0 || fstat(dir, &st))
		return files_fail(path, err);
	if (st.st_uid && st.st_uid != geteuid())
		return err_set(err, ERR_FORBIDDEN, "%.200s: not a folder of boxd's", path);
	(void)unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || !text_write(fd, text) || (b->is_root && fchown(fd, uid, uid)) ||
		fchmod(fd, (mode_t)mode))
		return files_fail(name, err);
	return true;
}

bool files_tar_in(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {"path", "user", "name", "mode", "text", NULL};
	CLEANUP(buf) struct buf json = BUF_INIT(16);
	const char *path, *user, *text;

	if (!boxjson_only(in, known, err) || !path_get(in, &path, err) ||
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

	return boxjson_only(in, known, err) && path_get(in, &rq.path, err) &&
	       boxjson_text(in, "user", "agent", &user, err) &&
	       boxjson_i64(in, "max_bytes", 0, INT64_MAX, INT64_MAX, &rq.max_bytes, err) &&
	       worker_start(b, WORKER_TAR_OUT, stream, user, pack_child, &rq, err);
}
