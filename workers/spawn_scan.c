/*
 * The process table, looked at by marker and uid together: a name alone proves nothing (anybody
 * may call a program "asb-..."), and a uid alone could be the slot's next box. Killing goes through
 * a pidfd, and the process's start and uid are compared again after it was opened, so that a number
 * that was reused in between is never hit.
 */
#include "spawn.h"
#include "spawn_site.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "killpoint.h"
#include "text.h"

/* A killed QEMU with much memory takes a while to be taken apart; past this something is wrong. */
#define GONE_MS 10000

static ssize_t file_read(pid_t pid, const char *name, char *out, size_t size)
{
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

/* The parent and the start time out of /proc/PID/stat, whose second field is a name that may hold
 * anything; false for a process that is dead but for being waited for. The state is that of its
 * first thread, which others may outlive: they are counted. */
static bool stat_read(pid_t pid, struct proc *p)
{
	unsigned long long fields[23] = {0};
	char text[1024], *at;
	char state;

	if (file_read(pid, "stat", text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')))
		return false;
	/* ") S PPID ...": the state is field 3 */
	if (at[1] != ' ' || !at[2])
		return false;
	state = at[2];
	for (int field = 3; field <= 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
		fields[field] = field > 3 ? strtoull(at, NULL, 10) : 0;
	}
	p->ppid = (pid_t)fields[4];
	p->start = (int64_t)fields[22];
	return state != 'X' && (state != 'Z' || fields[20] > 1);
}

static bool uid_read(pid_t pid, uid_t *out)
{
	char text[2048], *at;
	unsigned long v;

	if (file_read(pid, "status", text, sizeof(text)) <= 0 || !(at = strstr(text, "\nUid:\t")))
		return false;
	v = strtoul(at + 6, NULL, 10);
	*out = (uid_t)v;
	return true;
}

/* Is arg a marker, alone or as the first of a comma list (QEMU's -name)? */
static bool marker_take(const char *arg, char out[MARKER_SIZE])
{
	size_t n = strcspn(arg, ",");

	if (n >= MARKER_SIZE)
		return false;
	memcpy(out, arg, n);
	out[n] = '\0';
	return true;
}

/* Fills p->marker with the first argument that begins with prefix. */
static bool marker_read(pid_t pid, const char *prefix, struct proc *p)
{
	char text[16384];
	ssize_t n = file_read(pid, "cmdline", text, sizeof(text));

	for (ssize_t at = 0, first = 1; at < n; first = 0, at += (ssize_t)strlen(text + at) + 1) {
		if (!text_has_prefix(text + at, prefix) || !marker_take(text + at, p->marker))
			continue;
		/* the shim's arguments are the marker and its slot */
		at += (ssize_t)strlen(text + at) + 1;
		p->is_shim = first && at < n && text[at] >= '0' && text[at] <= '9';
		return true;
	}
	return false;
}

bool proc_read(pid_t pid, struct proc *out)
{
	struct proc p = {.pid = pid};

	if (!stat_read(pid, &p) || !uid_read(pid, &p.uid))
		return false;
	*out = p;
	return true;
}

static bool uid_is_box(const struct spawn_site *site, uid_t uid)
{
	int64_t base = site->cfg->uid_base;

	if (!base || test_switch("uid0"))
		return uid == geteuid();
	return uid >= base + SPAWN_BOX_UID && uid < base + 256;
}

/* Calls fn for every living process of one of the site's box uids; marker is "" where it has none.
 */
static bool scan_all(const struct spawn_site *site, const char *prefix,
	bool (*fn)(const struct proc *p, void *arg), void *arg, struct err *err)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int64_t pid;

	if (!d)
		return err_errno(err, ERR_INTERNAL, "list processes");
	while ((e = readdir(d))) {
		struct proc p = {0};

		if (!text_to_i64(e->d_name, 1, INT32_MAX, &pid))
			continue;
		p.pid = (pid_t)pid;
		/* the uid first: of most processes of a machine nothing else matters */
		if (!uid_read(p.pid, &p.uid) || !uid_is_box(site, p.uid) || !stat_read(p.pid, &p))
			continue;
		(void)marker_read(p.pid, prefix, &p);
		if (!fn(&p, arg))
			break;
	}
	(void)closedir(d);
	return true;
}

struct marked {
	bool (*fn)(const struct proc *p, void *arg);
	void *arg;
};

static bool only_marked(const struct proc *p, void *arg)
{
	struct marked *m = arg;

	return p->marker[0] ? m->fn(p, m->arg) : true;
}

bool scan_boxes(const struct spawn_site *site, bool (*fn)(const struct proc *p, void *arg),
	void *arg, struct err *err)
{
	char prefix[MARKER_SIZE];

	(void)snprintf(prefix, sizeof(prefix), "asb-%s-", site->cfg->site);
	return scan_all(site, prefix, fn, arg, err);
}

bool scan_site(const struct spawn_site *site, bool (*fn)(const struct proc *p, void *arg),
	void *arg, struct err *err)
{
	struct marked m = {fn, arg};

	return scan_boxes(site, only_marked, &m, err);
}

struct victims {
	const char *marker; /* NULL: whatever the marker */
	uid_t uid;
	struct proc found[64];
	size_t n;
};

static bool victim_add(const struct proc *p, void *arg)
{
	struct victims *v = arg;
	size_t at = v->n;

	if (p->uid != v->uid || p->pid == getpid() || (v->marker && strcmp(p->marker, v->marker)))
		return true;
	if (v->n == sizeof(v->found) / sizeof(v->found[0]))
		return false; /* the next round gets the rest */
	/* shims first: with its shim dead nobody starts anything again */
	if (p->is_shim && v->n) {
		v->found[v->n] = v->found[0];
		at = 0;
	}
	v->found[at] = *p;
	v->n++;
	return true;
}

static bool victim_kill(const struct proc *p, struct err *err)
{
	CLEANUP(fd) int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	struct proc now;

	if (fd < 0 || !proc_read(p->pid, &now) || now.start != p->start || now.uid != p->uid)
		return true; /* gone by itself */
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) && errno != ESRCH)
		return err_errno(err, ERR_INTERNAL, "kill process %d", p->pid);
	kill_point("kill_after_sigkill");
	while (poll(&poll_fd, 1, GONE_MS) < 0)
		if (errno != EINTR)
			return err_errno(err, ERR_INTERNAL, "wait for process %d", p->pid);
	if (!(poll_fd.revents & POLLIN))
		return err_set(err, ERR_TIMEOUT, "process %d does not end", p->pid);
	(void)waitpid(p->pid, NULL, WNOHANG); /* ours or not */
	return true;
}

static bool kill_all(const struct spawn_site *site, const char *marker, uid_t uid, struct err *err)
{
	char prefix[MARKER_SIZE];
	struct victims v = {.marker = marker, .uid = uid};

	(void)snprintf(prefix, sizeof(prefix), "asb-%s-", site->cfg->site);
	/* until a scan finds nobody: one that was just being forked is found by the next */
	for (int round = 0; round < 20; round++) {
		v.n = 0;
		if (!scan_all(site, prefix, victim_add, &v, err))
			return false;
		if (!v.n)
			return true;
		for (size_t i = 0; i < v.n; i++)
			if (!victim_kill(&v.found[i], err))
				return false;
	}
	return err_set(err, ERR_TIMEOUT, "processes of uid %u come back", uid);
}

bool scan_kill(const struct spawn_site *site, const char *marker, uid_t uid, struct err *err)
{
	return kill_all(site, marker, uid, err);
}

bool scan_kill_uid(const struct spawn_site *site, uid_t uid, struct err *err)
{
	/* never a uid that others than boxes use */
	if (!site->cfg->uid_base || uid < site->cfg->uid_base + SPAWN_BOX_UID)
		return true;
	return kill_all(site, NULL, uid, err);
}

struct other {
	const char *marker;
	uid_t uid;
	bool found;
};

static bool other_find(const struct proc *p, void *arg)
{
	struct other *o = arg;

	o->found = p->uid == o->uid && p->is_shim && strcmp(p->marker, o->marker) != 0;
	return !o->found;
}

bool scan_kill_rest(const struct spawn_site *site, const char *marker, uid_t uid, struct err *err)
{
	struct other o = {.marker = marker, .uid = uid};

	if (!scan_site(site, other_find, &o, err))
		return false;
	return o.found || scan_kill_uid(site, uid, err);
}
