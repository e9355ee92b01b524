/*
 * The two directories of a box: RUN_DIR/box/NAME with its socket and STATE_DIR/box/NAME with its
 * disk. They are filled while they are still root's and given away last; from then on everything
 * inside is as hostile as the box, so it is removed only by a child that has become the slot's uid
 * first, which makes any trick with links and names the box's own problem.
 */
#include "spawn_site.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "killpoint.h"
#include "privdrop.h"
#include "template.h"

static bool root_open(const char *base, int *out, struct err *err)
{
	CLEANUP(fd) int dir = open(base, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	if (dir < 0)
		return err_errno(err, ERR_INTERNAL, "open %s", base);
	/* 0711: the slots must reach their own directory in it, but need not see the others */
	if (mkdirat(dir, "box", 0711) && errno != EEXIST)
		return err_errno(err, ERR_INTERNAL, "make %s/box", base);
	*out = openat(dir, "box", O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*out < 0)
		return err_errno(err, ERR_INTERNAL, "open %s/box", base);
	if (fchown(*out, geteuid(), getegid()) || fchmod(*out, 0711))
		return err_errno(err, ERR_INTERNAL, "own %s/box", base);
	return true;
}

bool dirs_open(struct spawn_site *site, struct err *err)
{
	return root_open(site->cfg->run_dir, &site->box_run_dir, err) &&
	       root_open(site->cfg->state_dir, &site->box_state_dir, err);
}

/* A fresh directory, opened; ERR_CONFLICT where the name is taken. */
static bool dir_make(int in, const char *name, int *out, struct err *err)
{
	if (mkdirat(in, name, 0700))
		return err_errno(err, errno == EEXIST ? ERR_CONFLICT : ERR_INTERNAL,
			"make directory of %s", name);
	*out = openat(in, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*out < 0)
		return err_errno(err, ERR_INTERNAL, "open directory of %s", name);
	return true;
}

static bool socket_make(
	struct spawn_site *site, const struct spawn_request *rq, int *out, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = snprintf(
		a.sun_path, sizeof(a.sun_path), "%s/box/%s/shim.sock", site->cfg->run_dir, rq->box);

	if (fd < 0)
		return err_errno(err, ERR_INTERNAL, "socket of %s", rq->box);
	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(err, ERR_INTERNAL,
			"socket of %s: ASB_RUN_DIR is too long for a socket", rq->box);
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) || chmod(a.sun_path, 0660) ||
		listen(fd, 64))
		return err_errno(err, ERR_INTERNAL, "socket of %s", rq->box);
	if (chown(a.sun_path, rq->uid, site->worker_uid))
		return err_errno(err, ERR_INTERNAL, "give socket of %s away", rq->box);
	*out = STEAL_FD(fd);
	return true;
}

static bool disk_make(int dir, const struct spawn_request *rq, const char *from, struct err *err)
{
	CLEANUP(fd) int fd = openat(dir, "disk.img", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(err, ERR_INTERNAL, "make disk of %s", rq->box);
	if (!disk_copy(from, fd, err))
		return err_wrap(err, "disk of %s", rq->box);
	if (fchown(fd, rq->uid, rq->uid))
		return err_errno(err, ERR_INTERNAL, "give disk of %s away", rq->box);
	return true;
}

static bool dirs_fill(struct spawn_site *site, const struct spawn_request *rq,
	const char *disk_from, int *listener, struct err *err)
{
	CLEANUP(fd) int run = -1;
	CLEANUP(fd) int state = -1;
	CLEANUP(fd) int sock = -1;

	if (!dir_make(site->box_run_dir, rq->box, &run, err) ||
		!dir_make(site->box_state_dir, rq->box, &state, err))
		return false;
	if (disk_from && !disk_make(state, rq, disk_from, err))
		return false;
	if (!socket_make(site, rq, &sock, err))
		return false;
	/* the worker's group may pass through to the socket */
	if (fchmod(run, 0710) || fchown(run, rq->uid, site->worker_uid) ||
		fchown(state, rq->uid, rq->uid))
		return err_errno(err, ERR_INTERNAL, "give directories of %s away", rq->box);
	*listener = STEAL_FD(sock);
	return true;
}

bool dirs_make(struct spawn_site *site, const struct spawn_request *rq, const char *disk_from,
	int *listener, struct err *err)
{
	struct err ignored;

	if (!dirs_fill(site, rq, disk_from, listener, err)) {
		if (err->code != ERR_CONFLICT)
			(void)!dirs_remove(site, rq->box, rq->uid, &ignored);
		return false;
	}
	kill_point("spawn_after_dirs");
	return true;
}

/* Past names that are there already: whoever filled the directory may know ours. */
static bool move_up(int from, const char *name, int top, unsigned *counter)
{
	char up[48];

	do {
		(void)snprintf(up, sizeof(up), ".removed-%u", (*counter)++);
		if (!renameat(from, name, top, up))
			return true;
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return false;
}

/* Empties the directory without recursion: what a subdirectory holds is moved up beside it and
 * falls to a later pass, so that no depth of nesting costs more than one descriptor. */
static bool sub_flatten(int top, const char *name, unsigned *counter)
{
	CLEANUP(fd) int sub = -1;
	struct dirent *e;
	DIR *d;

	(void)!fchmodat(top, name, 0700, 0);
	sub = openat(top, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (sub < 0)
		return false;
	d = fdopendir(sub);
	if (!d)
		return false;
	(void)STEAL_FD(sub);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			!unlinkat(dirfd(d), e->d_name, 0))
			continue;
		(void)!fchmodat(dirfd(d), e->d_name, 0700, 0);
		if (!move_up(dirfd(d), e->d_name, top, counter))
			break;
	}
	(void)closedir(d);
	return !unlinkat(top, name, AT_REMOVEDIR);
}

static bool dir_empty(int top)
{
	unsigned counter = 0;

	for (bool again = true; again;) {
		int copy = openat(top, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		struct dirent *e;
		DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

		if (!d)
			return false;
		again = false;
		while ((e = readdir(d))) {
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
				!unlinkat(top, e->d_name, 0) ||
				!unlinkat(top, e->d_name, AT_REMOVEDIR))
				continue;
			again = true;
			if (!sub_flatten(top, e->d_name, &counter)) {
				(void)closedir(d);
				return false;
			}
		}
		(void)closedir(d);
	}
	return true;
}

/* In the child: becomes the owner, empties what it owns, says by its exit status how that went. */
static _Noreturn void emptier(int in, const char *name, uid_t uid)
{
	struct err err;
	int dir;

	if (!privdrop_become(uid, uid, &err))
		_exit(3);
	/* longer than this on a handful of files means that somebody makes them faster than we
	 * remove */
	(void)alarm(20);
	dir = openat(in, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	_exit(dir >= 0 && dir_empty(dir) ? 0 : 4);
}

static bool dir_remove(int in, const char *name, uid_t uid, struct err *err)
{
	struct stat st;
	int status;
	pid_t pid;

	if (fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return true;
		return err_errno(err, ERR_INTERNAL, "look at directory of %s", name);
	}
	if (!S_ISDIR(st.st_mode) || (st.st_uid != uid && st.st_uid != geteuid()))
		return err_set(err, ERR_CONFLICT, "directory of %s belongs to uid %u, not to %u",
			name, st.st_uid, uid);
	/* never given away: then all in it is ours, but for what the slot got already, which we may
	 * unlink as the directory's owner */
	pid = fork();
	if (pid < 0)
		return err_errno(err, ERR_BUSY, "remove directory of %s: fork", name);
	if (!pid)
		emptier(in, name, st.st_uid);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(err, ERR_INTERNAL, "remove directory of %s: wait", name);
	if (status)
		return err_set(
			err, ERR_INTERNAL, "remove directory of %s: status %d", name, status);
	if (unlinkat(in, name, AT_REMOVEDIR) && errno != ENOENT)
		return err_errno(err, ERR_INTERNAL, "remove directory of %s", name);
	kill_point("kill_after_rmdir");
	return true;
}

bool dirs_remove(struct spawn_site *site, const char *box, uid_t uid, struct err *err)
{
	return dir_remove(site->box_run_dir, box, uid, err) &&
	       dir_remove(site->box_state_dir, box, uid, err);
}

static bool slot_clean(int in, uid_t uid, struct err *err)
{
	int copy = openat(in, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *e;
	struct stat st;
	bool done = true;

	if (!d)
		return err_errno(err, ERR_INTERNAL, "list box directories");
	while (done && (e = readdir(d))) {
		if (e->d_name[0] == '.' || fstatat(in, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			st.st_uid != uid)
			continue;
		done = dir_remove(in, e->d_name, uid, err);
	}
	(void)closedir(d);
	return done;
}

bool dirs_clean_slot(struct spawn_site *site, uid_t uid, struct err *err)
{
	return slot_clean(site->box_run_dir, uid, err) && slot_clean(site->box_state_dir, uid, err);
}
