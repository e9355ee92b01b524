/*
 * Everything an exec started. With a cgroup2 that we may write: driver/<stream>/{main,late} for the
 * drive lane, exec/<stream>/main for others; a limit on the exec's folder holds for both parts, a
 * freeze of driver/ holds for the lane. Without one: boxd is the subreaper of all, and members are
 * found in /proc by parent, session or the ASB_EXEC variable they were started with.
 */
#include "exec.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "cleanup.h"
#include "group_proc.h"
#include "text.h"

/* Kept free for boxd and the kernel when the limits of exec/ and driver/ are set. */
#define RESERVE_BYTES (INT64_C(48) << 20)

static bool file_put(const char *folder, const char *name, const char *text)
{
	CLEANUP(buf) struct buf path = BUF_INIT(512);
	CLEANUP(fd) int fd = -1;

	(void)buf_addf(&path, "%s/%s", folder, name);
	fd = open(path.data, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Text of a small file, "" where it cannot be read. */
static void file_get(const char *folder, const char *name, struct buf *out)
{
	CLEANUP(buf) struct buf path = BUF_INIT(512);
	CLEANUP(fd) int fd = -1;
	ssize_t n;
	char *to;

	(void)buf_addf(&path, "%s/%s", folder, name);
	fd = open(path.data, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (to = buf_room(out, 4096)) && (n = read(fd, to, 4096)) > 0)
		buf_grew(out, (size_t)n);
}

static bool folder_make(const char *parent, const char *name, char *out, size_t size)
{
	if ((size_t)snprintf(out, size, "%s/%s", parent, name) >= size)
		return false;
	return mkdir(out, 0755) == 0 || errno == EEXIST;
}

/* The mount point of a cgroup2 that we can make folders in; "" where there is none. */
static void base_find(struct boxd *b)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char name[32];
	struct statfs fs;

	(void)snprintf(name, sizeof(name), "asb-%d", (int)getpid());
	for (size_t i = 0; i < 2; i++) {
		if (statfs(mounts[i], &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		if (folder_make(mounts[i], name, b->cgroup, sizeof(b->cgroup))) {
			(void)file_put(mounts[i], "cgroup.subtree_control", "+memory");
			(void)file_put(mounts[i], "cgroup.subtree_control", "+pids");
			return;
		}
	}
	b->cgroup[0] = '\0';
}

void group_init(struct boxd *b)
{
	static const char *const parts[] = {"exec", "driver"};
	int64_t memory = machine_memory_bytes();
	char part[300], text[32];

	if (!b->no_cgroup)
		base_find(b);
	if (!b->cgroup[0])
		return;
	(void)file_put(b->cgroup, "cgroup.subtree_control", "+memory");
	(void)file_put(b->cgroup, "cgroup.subtree_control", "+pids");
	for (size_t i = 0; i < 2; i++) {
		if (!folder_make(b->cgroup, parts[i], part, sizeof(part))) {
			b->cgroup[0] = '\0';
			return;
		}
		(void)file_put(part, "cgroup.subtree_control", "+memory");
		(void)file_put(part, "cgroup.subtree_control", "+pids");
		(void)snprintf(text, sizeof(text), "%lld", (long long)(memory - RESERVE_BYTES));
		if (b->owns_machine && memory > 2 * RESERVE_BYTES)
			(void)file_put(part, "memory.max", text);
	}
}

static void folder_remove(const char *parent, const char *name)
{
	char path[400];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", parent, name) < sizeof(path))
		(void)rmdir(path);
}

void group_done(struct boxd *b)
{
	if (!b->cgroup[0])
		return;
	folder_remove(b->cgroup, "exec");
	folder_remove(b->cgroup, "driver");
	(void)rmdir(b->cgroup);
}

bool group_create(
	struct exec *e, int64_t memory_bytes, int64_t pids, int *procs_fd, struct err *err)
{
	struct boxd *b = e->boxd;
	char name[32], path[340], text[32];

	if (!b->cgroup[0])
		return true;
	(void)snprintf(name, sizeof(name), "%s/%u", e->driver ? "driver" : "exec", e->stream);
	if (!folder_make(b->cgroup, name, e->cgroup, sizeof(e->cgroup)) ||
		!folder_make(e->cgroup, "main", path, sizeof(path)) ||
		(e->driver && !folder_make(e->cgroup, "late", path, sizeof(path))))
		return err_errno(err, ERR_INTERNAL, "make group of stream %u", e->stream);
	(void)snprintf(text, sizeof(text), "%lld", (long long)memory_bytes);
	if (memory_bytes) {
		(void)file_put(e->cgroup, "memory.max", text);
		(void)file_put(e->cgroup, "memory.swap.max", "0");
	}
	(void)snprintf(text, sizeof(text), "%lld", (long long)pids);
	if (pids)
		(void)file_put(e->cgroup, "pids.max", text);
	(void)snprintf(path, sizeof(path), "%s/main/cgroup.procs", e->cgroup);
	*procs_fd = open(path, O_WRONLY | O_CLOEXEC);
	return *procs_fd >= 0 ? true : err_errno(err, ERR_INTERNAL, "open %s", path);
}

void group_remove(struct exec *e)
{
	if (!e->cgroup[0])
		return;
	folder_remove(e->cgroup, "main");
	folder_remove(e->cgroup, "late");
	(void)rmdir(e->cgroup);
	e->cgroup[0] = '\0';
}

/* Calls kill for each process of one part; counts those that are there. */
static int part_signal(const struct exec *e, const char *part, int signo)
{
	CLEANUP(buf) struct buf procs = BUF_INIT(1 << 20);
	int n = 0;

	file_get(e->cgroup, part, &procs);
	for (char *p = procs.data, *end; *p; p = *end ? end + 1 : end) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			break;
		/* 0 is a process outside our pid namespace: not ours to signal */
		if (pid <= 0)
			continue;
		n++;
		if (signo)
			(void)kill((pid_t)pid, signo);
	}
	return n;
}

int group_signal(struct exec *e, int signo)
{
	int n;

	if (!e->cgroup[0])
		return proc_signal(e, signo);
	n = part_signal(e, "main/cgroup.procs", signo) + part_signal(e, "late/cgroup.procs", signo);
	/* the kernel's own killing cannot be outrun by forks, and reaches frozen processes */
	if (signo == SIGKILL)
		(void)file_put(e->cgroup, "cgroup.kill", "1");
	return n;
}

int group_count(struct exec *e)
{
	CLEANUP(buf) struct buf events = BUF_INIT(4096);

	if (!e->cgroup[0])
		return proc_signal(e, 0);
	file_get(e->cgroup, "cgroup.events", &events);
	if (strstr(events.data, "populated 0"))
		return 0;
	return part_signal(e, "main/cgroup.procs", 0) + part_signal(e, "late/cgroup.procs", 0);
}

bool group_had_oom(const struct exec *e)
{
	CLEANUP(buf) struct buf events = BUF_INIT(4096);
	const char *at;

	if (!e->cgroup[0])
		return false;
	file_get(e->cgroup, "memory.events", &events);
	at = strstr(events.data, "oom_kill ");
	return at && strtol(at + strlen("oom_kill "), NULL, 10) > 0;
}

struct exec *group_exec_of(struct boxd *b, pid_t pid)
{
	CLEANUP(buf) struct buf text = BUF_INIT(4096);
	char folder[32], want[64];

	if (!b->cgroup[0])
		return proc_exec_of(b, pid);
	(void)snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
	file_get(folder, "cgroup", &text);
	for (struct exec *e = b->execs; e; e = e->next) {
		(void)snprintf(
			want, sizeof(want), "/%s/%u/", e->driver ? "driver" : "exec", e->stream);
		if (e->cgroup[0] && strstr(text.data, want))
			return e;
	}
	return NULL;
}

static void part_freeze(struct exec *e, const char *name, bool frozen)
{
	if (e->cgroup[0])
		(void)file_put(e->cgroup, name, frozen ? "1" : "0");
	else
		proc_freeze(e, frozen);
}

void group_freeze(struct exec *e, bool frozen)
{
	part_freeze(e, "main/cgroup.freeze", frozen);
}

void group_freeze_late(struct exec *e, bool frozen)
{
	part_freeze(e, "late/cgroup.freeze", frozen);
}

void group_move_late(struct exec *e, pid_t pid)
{
	char text[16];

	/* up to the main process; 64 is deeper than any real chain, and ends a loop made of races
	 */
	for (int i = 0; e->cgroup[0] && i < 64 && pid > 1; i++) {
		(void)snprintf(text, sizeof(text), "%d", (int)pid);
		if (group_exec_of(e->boxd, pid) != e)
			break;
		(void)file_put(e->cgroup, "late/cgroup.procs", text);
		if (pid == e->pid)
			break;
		pid = proc_parent(pid);
	}
}
