/*
 * Members of an exec by walking /proc. A member is the exec's main process, a descendant of it, a
 * process in its session, or an orphan whose start environment names the exec. A process that
 * leaves all three behind escapes this: that is why cgroups are the rule and this the fallback for
 * containers and the process runtime of tests. In a container, where every process is ours, one
 * that belongs to no exec goes with the first exec that ends.
 */
#include "group_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "cleanup.h"
#include "exec.h"
#include "proc_stat.h"
#include "text.h"
#include "worker.h"

/* More processes than this in a box without cgroups are not looked at. */
#define PROCS_MAX 4096

pid_t proc_parent(pid_t pid)
{
	struct proc_stat p;

	return proc_stat_read(pid, &p) ? p.parent : 0;
}

/*
 * The stream number in the environment the process was started with, or 0. now is what it was a
 * moment ago. *unread: it gave nothing as it is in the middle of an exec, where its environment is
 * not there yet; one that has none at all is the same before and after.
 */
static uint32_t proc_stream(pid_t pid, const struct proc_stat *now, bool *unread)
{
	CLEANUP(buf) struct buf env = BUF_INIT(1 << 18);
	struct proc_stat then;
	char path[40], *to;
	CLEANUP(fd) int fd = -1;
	ssize_t n = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (to = buf_room(&env, 4096)) && (n = read(fd, to, 4096)) > 0)
		buf_grew(&env, (size_t)n);
	for (size_t i = 0; i < env.len; i += strlen(env.data + i) + 1)
		if (text_has_prefix(env.data + i, "ASB_EXEC="))
			return (uint32_t)strtoul(env.data + i + 9, NULL, 10);
	/* a first thread that has ended has none, whatever the others do */
	*unread |= !n && !env.len && now->state != 'Z' && proc_stat_read(pid, &then) &&
		   (!then.env_end || then.env_end != now->env_end);
	return 0;
}

/* The exec a process belongs to, NULL: none. *unread: none that can be told now. */
static struct exec *owner_of(struct boxd *b, pid_t pid, bool *unread)
{
	struct exec *found = NULL;
	pid_t self = getpid();
	struct proc_stat p;
	bool in_exec = false;

	*unread = false;
	/* 64 is deeper than any real chain, and ends a loop made of races */
	for (int i = 0; i < 64 && pid > 1 && proc_stat_read(pid, &p); i++) {
		for (struct exec *e = b->execs; e && !found; e = e->next)
			if (e->pid == pid || (e->leader > 0 && p.session == e->leader))
				found = e;
		if (!found)
			found = exec_find(b, proc_stream(pid, &p, &in_exec));
		pid = p.parent;
		/* only what descends from us is ours: other boxes number their execs alike */
		if (pid == self) {
			*unread = in_exec && !found;
			return found;
		}
	}
	return NULL;
}

struct exec *proc_exec_of(struct boxd *b, pid_t pid)
{
	bool unread;

	return owner_of(b, pid, &unread);
}

/* Goes on while the rest of its exec is stopped. */
static bool is_late(const struct exec *e, pid_t pid)
{
	for (size_t i = 0; i < e->nlate; i++)
		if (e->late_pids[i] == pid)
			return true;
	return false;
}

/* A child of boxd that is part of itself. */
static bool is_own(const struct boxd *b, pid_t pid)
{
	for (const struct worker *w = b->workers; w; w = w->next)
		if (w->pid == pid)
			return true;
	return pid == b->relay;
}

/* *unread: it may be another's. */
static bool is_member(const struct exec *e, pid_t pid, bool *unread)
{
	struct exec *owner = owner_of(e->boxd, pid, unread);

	return owner == e ||
	       (!owner && (*unread || e->boxd->in_container) && !is_own(e->boxd, pid));
}

/* proc_signal; *unread: so many of them got none, as they may be another's. */
static int members_signal(struct exec *e, int signo, int *unread)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	struct proc_stat p;
	int n = 0;

	*unread = 0;
	while (dir && n < PROCS_MAX && (d = readdir(dir))) {
		bool is_unread;
		int64_t pid;

		if (!text_to_i64(d->d_name, 2, INT32_MAX, &pid) ||
			!proc_stat_read((pid_t)pid, &p) || proc_stat_is_dead(&p) ||
			!is_member(e, (pid_t)pid, &is_unread))
			continue;
		n++;
		*unread += is_unread;
		if (signo && !is_unread && !(signo == SIGSTOP && is_late(e, (pid_t)pid)))
			(void)kill((pid_t)pid, signo);
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

int proc_signal(struct exec *e, int signo)
{
	int unread;

	return members_signal(e, signo, &unread);
}

void proc_freeze(struct exec *e, bool frozen)
{
	int before = -1, now = 0, unread = 0;

	/* a fork between two looks shows as a larger count; ten rounds end a fork bomb's chase */
	for (int i = 0; i < 10 && (now != before || unread); i++) {
		before = now;
		now = members_signal(e, frozen ? SIGSTOP : SIGCONT, &unread);
	}
}
