/*
 * Everything an exec started. With a cgroup2 that we may write: driver/<number>/{main,late} for the
 * drive lane, exec/<number>/main for others; a limit on the exec's folder holds for both parts, a
 * freeze of driver/ holds for the lane. Without one: boxd is the subreaper of all, and members are
 * found in /proc by parent, session or the ASB_EXEC variable they were started with.
 */
#include "exec.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
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
#include "boxjson.h"
#include "cleanup.h"
#include "container.h"
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
			/* all that runs then weighs as much as we do, however many they are */
			if (b->owns_machine)
				(void)file_put(mounts[i], "cgroup.subtree_control", "+cpu");
			return;
		}
	}
	b->cgroup[0] = '\0';
}

static void folder_remove(const char *parent, const char *name)
{
	char path[400];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", parent, name) < sizeof(path))
		(void)rmdir(path);
}

static void group_drop(struct exec_group *g)
{
	if (!g->path[0])
		return;
	fd_drop(&g->main_fd);
	fd_drop(&g->events_fd);
	fd_drop(&g->memory_fd);
	folder_remove(g->path, "main");
	folder_remove(g->path, "late");
	(void)rmdir(g->path);
	g->path[0] = '\0';
}

static int group_open(const struct exec_group *g, const char *name, int flags)
{
	char path[340];

	(void)snprintf(path, sizeof(path), "%s/%s", g->path, name);
	return open(path, flags | O_RDONLY | O_CLOEXEC);
}

static bool group_fill(struct boxd *b, bool driver, struct exec_group *g, struct err *err)
{
	char name[32], path[340];

	*g = (struct exec_group){.main_fd = -1, .events_fd = -1, .memory_fd = -1};
	(void)snprintf(name, sizeof(name), "%s/%u", driver ? "driver" : "exec", ++b->groups_made);
	if (!folder_make(b->cgroup, name, g->path, sizeof(g->path)) ||
		!folder_make(g->path, "main", path, sizeof(path)) ||
		(driver && !folder_make(g->path, "late", path, sizeof(path))))
		return err_errno(err, ERR_INTERNAL, "make group %s", name);
	g->main_fd = group_open(g, "main", O_DIRECTORY);
	g->events_fd = group_open(g, "cgroup.events", 0);
	g->memory_fd = group_open(g, "memory.events", 0); /* only where that controller is */
	if (g->main_fd < 0 || g->events_fd < 0)
		return err_errno(err, ERR_INTERNAL, "open group %s", name);
	return true;
}

static bool group_make(struct boxd *b, bool driver, struct exec_group *g, struct err *err)
{
	if (group_fill(b, driver, g, err))
		return true;
	group_drop(g);
	return false;
}

void group_spares(struct boxd *b)
{
	struct err ignored;

	for (int i = 0; i < 2 && b->cgroup[0]; i++)
		if (!b->spare_groups[i].path[0])
			(void)!group_make(b, i == 1, &b->spare_groups[i], &ignored);
}

void group_init(struct boxd *b)
{
	static const char *const parts[] = {"exec", "driver"};
	int64_t memory = machine_memory_bytes(b);
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
		if (!b->owns_machine)
			continue;
		(void)snprintf(text, sizeof(text), "%lld", (long long)(memory - RESERVE_BYTES));
		if (memory > 2 * RESERVE_BYTES)
			(void)file_put(part, "memory.max", text);
		(void)file_put(part, "memory.swap.max", "0");
		(void)snprintf(text, sizeof(text), "%d", BOX_PIDS);
		(void)file_put(part, "pids.max", text);
	}
	group_spares(b);
}

/* The larger of what the kernel says in the file of both parts; -1: no limit, or no such file. */
static int64_t part_limit(const struct boxd *b, const char *name)
{
	static const char *const parts[] = {"exec", "driver"};
	int64_t most = 0;

	for (size_t i = 0; i < 2; i++) {
		CLEANUP(buf) struct buf text = BUF_INIT(4096);
		char part[300];
		int64_t v;

		(void)snprintf(part, sizeof(part), "%s/%s", b->cgroup, parts[i]);
		file_get(part, name, &text);
		text.data[strcspn(text.data, "\n")] = '\0';
		if (!text_to_i64(text.data, 0, INT64_MAX, &v))
			return -1;
		most = v > most ? v : most;
	}
	return most;
}

void limits_add(struct boxd *b, struct buf *json)
{
	struct sysinfo si = {0};
	struct statvfs fs = {0};

	(void)sysinfo(&si);
	(void)statvfs("/", &fs);
	boxjson_add_key(json, "limits");
	(void)buf_addc(json, '{');
	boxjson_add_i64(json, "memory_bytes", part_limit(b, "memory.max"));
	boxjson_add_i64(json, "swap_bytes", (int64_t)(si.totalswap * si.mem_unit));
	boxjson_add_i64(json, "pids", part_limit(b, "pids.max"));
	boxjson_add_i64(json, "cpus", machine_cpus(b));
	boxjson_add_u64(json, "disk_bytes", (uint64_t)fs.f_frsize * fs.f_blocks);
	(void)buf_addc(json, '}');
}

void group_done(struct boxd *b)
{
	if (!b->cgroup[0])
		return;
	group_drop(&b->spare_groups[0]);
	group_drop(&b->spare_groups[1]);
	folder_remove(b->cgroup, "exec");
	folder_remove(b->cgroup, "driver");
	(void)rmdir(b->cgroup);
}

bool group_create(struct exec *e, int64_t memory_bytes, int64_t pids, struct err *err)
{
	struct boxd *b = e->boxd;
	struct exec_group *spare = &b->spare_groups[e->driver ? 1 : 0];
	char text[32];

	e->group.ooms = b->in_container ? container_oom_kills() : 0;
	if (!b->cgroup[0])
		return true;
	if (spare->path[0]) {
		e->group = *spare;
		spare->path[0] = '\0';
	} else if (!group_make(b, e->driver, &e->group, err)) {
		return false;
	}
	e->group.altered = memory_bytes || pids;
	(void)snprintf(text, sizeof(text), "%lld", (long long)memory_bytes);
	if (memory_bytes) {
		(void)file_put(e->group.path, "memory.max", text);
		(void)file_put(e->group.path, "memory.swap.max", "0");
	}
	(void)snprintf(text, sizeof(text), "%lld", (long long)pids);
	if (pids)
		(void)file_put(e->group.path, "pids.max", text);
	return true;
}

void group_remove(struct exec *e)
{
	struct exec_group *spare = &e->boxd->spare_groups[e->driver ? 1 : 0];

	if (!e->group.path[0])
		return;
	/* to make a group anew costs the kernel more than a process does */
	if (!spare->path[0] && !e->group.altered && !group_count(e)) {
		*spare = e->group;
		e->group.path[0] = '\0';
		return;
	}
	group_drop(&e->group);
}

/* Calls kill for each process of one part; counts those that are there. */
static int part_signal(const struct exec *e, const char *part, int signo)
{
	CLEANUP(buf) struct buf procs = BUF_INIT(1 << 20);
	int n = 0;

	file_get(e->group.path, part, &procs);
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

	if (!e->group.path[0])
		return proc_signal(e, signo);
	n = part_signal(e, "main/cgroup.procs", signo) + part_signal(e, "late/cgroup.procs", signo);
	/* the kernel's own killing cannot be outrun by forks, and reaches frozen processes; what
	 * is begun in a group that was killed once, some kernels kill too */
	if (signo == SIGKILL) {
		e->group.altered = true;
		(void)file_put(e->group.path, "cgroup.kill", "1");
	}
	return n;
}

/* What a file that is held open says now, "" where it cannot be read. */
static void text_again(int fd, char *out, size_t size)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, out, size - 1, 0);

	out[n > 0 ? n : 0] = '\0';
}

int group_count(struct exec *e)
{
	char events[256];

	if (!e->group.path[0])
		return proc_signal(e, 0);
	text_again(e->group.events_fd, events, sizeof(events));
	if (strstr(events, "populated 0"))
		return 0;
	return part_signal(e, "main/cgroup.procs", 0) + part_signal(e, "late/cgroup.procs", 0);
}

bool group_had_oom(struct exec *e)
{
	char events[512];
	const char *at;

	/* the container's count: what another exec did at the same time is not told apart */
	if (!e->group.path[0])
		return e->boxd->in_container && container_oom_kills() > e->group.ooms;
	text_again(e->group.memory_fd, events, sizeof(events));
	at = strstr(events, "oom_kill ");
	if (!at || strtol(at + strlen("oom_kill "), NULL, 10) <= 0)
		return false;
	e->group.altered = true;
	return true;
}

struct exec *group_exec_of(struct boxd *b, pid_t pid)
{
	CLEANUP(buf) struct buf text = BUF_INIT(4096);
	char folder[32], want[320];

	if (!b->cgroup[0])
		return proc_exec_of(b, pid);
	(void)snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
	file_get(folder, "cgroup", &text);
	for (struct exec *e = b->execs; e; e = e->next) {
		/* "/driver/N/": where the tree is mounted does not matter */
		(void)snprintf(want, sizeof(want), "%s/", e->group.path + strlen(b->cgroup));
		if (e->group.path[0] && strstr(text.data, want))
			return e;
	}
	return NULL;
}

static void part_freeze(struct exec *e, const char *name, bool frozen)
{
	e->group.altered = true;
	if (e->group.path[0])
		(void)file_put(e->group.path, name, frozen ? "1" : "0");
	else
		proc_freeze(e, frozen);
}

void group_freeze(struct exec *e, bool frozen)
{
	part_freeze(e, "main/cgroup.freeze", frozen);
}

void group_freeze_late(struct exec *e, bool frozen)
{
	e->nlate = 0;
	part_freeze(e, "late/cgroup.freeze", frozen);
}

static void process_move(struct exec *e, const char *part, pid_t pid)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	(void)file_put(e->group.path, part, text);
}

void group_move_late(struct exec *e, pid_t pid)
{
	e->nlate = 0;
	if (e->pid > 1)
		e->late_pids[e->nlate++] = e->pid;
	/* the caller may have left its parents behind: then the chain is short */
	while (pid > 1 && pid != e->pid && e->nlate < EXEC_LATE_MAX &&
		group_exec_of(e->boxd, pid) == e) {
		e->late_pids[e->nlate++] = pid;
		pid = proc_parent(pid);
	}
	for (size_t i = 0; e->group.path[0] && i < e->nlate; i++)
		process_move(e, "late/cgroup.procs", e->late_pids[i]);
}

void group_move_back(struct exec *e)
{
	/* a fork between two looks shows in the next; ten end a fork bomb's chase */
	for (int i = 0; e->group.path[0] && i < 10; i++) {
		CLEANUP(buf) struct buf procs = BUF_INIT(1 << 20);

		file_get(e->group.path, "late/cgroup.procs", &procs);
		if (!procs.len)
			break;
		for (char *p = procs.data, *end; *p; p = *end ? end + 1 : end) {
			long pid = strtol(p, &end, 10);

			if (end == p)
				break;
			process_move(e, "main/cgroup.procs", (pid_t)pid);
		}
	}
}
