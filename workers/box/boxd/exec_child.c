/*
 * What happens between fork and exec: group, user, limits, descriptors. The child runs in boxd's
 * own memory while boxd stands still, as after vfork: it must not return, and leaves nothing
 * changed but what the kernel keeps for each process. A failure is written to the report pipe as
 * errno and a word, and the child is gone.
 */
#include "exec.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "boxd.h"

static const struct {
	const char *name;
	uid_t uid;
	const char *home;
} users[] = {
	{"agent", UID_AGENT, "/home/agent"},
	{"ask", UID_ASK, "/home/ask"},
	{"git", UID_GIT, "/var/lib/asb"},
	{"root", 0, "/root"},
};

bool user_find(const char *name, uid_t *uid, const char **home)
{
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		if (strcmp(users[i].name, name) == 0) {
			*uid = users[i].uid;
			*home = users[i].home;
			return true;
		}
	return false;
}

static bool caps_keep_only(uint32_t low)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = low, .permitted = low, .inheritable = low}};

	return syscall(SYS_capset, &head, data) == 0;
}

bool user_become(uid_t uid, bool switch_user)
{
	bool reads_all =
		uid == UID_GIT && prctl(PR_CAPBSET_READ, CAP_DAC_READ_SEARCH, 0, 0, 0) == 1;
	uint32_t keep = reads_all ? 1u << CAP_DAC_READ_SEARCH : 0;

	if (uid == 0)
		return true;
	if (switch_user) {
		for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
			if (!(keep && cap == CAP_DAC_READ_SEARCH))
				(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (prctl(PR_SET_KEEPCAPS, keep ? 1 : 0, 0, 0, 0) || setgroups(0, NULL) ||
			setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
			!caps_keep_only(keep))
			return false;
		if (keep && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0))
			return false;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static _Noreturn void fail(const struct exec_plan *p, const char *what)
{
	struct {
		int e;
		char what[28];
	} report = {.e = errno};

	memcpy(report.what, what, strlen(what));
	(void)!write(p->report, &report, sizeof(report));
	_exit(127);
}

static void limits_set(void)
{
	const struct {
		int resource;
		struct rlimit limit;
	} limits[] = {
		{RLIMIT_CORE, {0, 0}},
		{RLIMIT_NOFILE, {65536, 65536}},
		{RLIMIT_MEMLOCK, {64 * 1024, 64 * 1024}},
		{RLIMIT_MSGQUEUE, {819200, 819200}},
		{RLIMIT_RTPRIO, {0, 0}},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		(void)setrlimit((__rlimit_resource_t)limits[i].resource, &limits[i].limit);
}

/* boxd must be the last to be killed for want of memory; what it starts comes first. */
static void oom_score_reset(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "500", 3);
	(void)close(fd);
}

static bool group_enter(int group_fd)
{
	int fd = openat(group_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "0", 1) == 1;
}

/*
 * boxd stands still until we exec, and from the moment we are the user another process of that user
 * may stop us. A timer of the kernel's ends us then; exec takes it away.
 */
static void deadline_set(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec when = {.it_value.tv_sec = EXEC_START_MS / 1000};
	int id;

	if (!syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
		(void)syscall(SYS_timer_settime, id, 0, &when, NULL);
}

static _Noreturn void child_run(const struct exec_plan *p, bool entered)
{
	sigset_t none;

	deadline_set();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL); /* the one that boxd ignores */
	if (p->group_fd >= 0 && !entered && !group_enter(p->group_fd))
		fail(p, "enter group");
	(void)setsid();
	/* without a cgroup we are one of a thousand when it forks without end, and have to end it
	 */
	if (p->group_fd < 0)
		(void)setpriority(PRIO_PROCESS, 0, 19);
	oom_score_reset();
	limits_set();
	(void)umask(022);
	for (int i = 0; i < 3; i++)
		if (dup2(p->fds[i], i) < 0)
			fail(p, "dup");
	if (!user_become(p->uid, p->switch_user))
		fail(p, "become user");
	if (chdir(p->cwd))
		fail(p, "chdir");
	/* everything else that boxd has open is close-on-exec already; this is the second lock */
	(void)syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
	execvpe(p->argv[0], (char *const *)(uintptr_t)p->argv, (char *const *)(uintptr_t)p->env);
	fail(p, "exec");
}

/*
 * clone3 with our memory and stack shared, begun in the group. A function of its own that keeps
 * nothing across the call: the child writes over all of the stack below it.
 */
__attribute__((noinline)) static long child_clone(const struct exec_plan *p)
{
	struct clone_args args = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};
	long r = -ENOSYS;

	if (p->group_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)p->group_fd;
	}
#ifdef __x86_64__
	/* not through syscall(): the child would return over the address its parent returns to */
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"((long)SYS_clone3), "D"(&args), "S"(sizeof(args))
			 : "rcx", "r11", "memory");
	if (r == 0)
		child_run(p, true);
#endif
	return r;
}

pid_t exec_child(const struct exec_plan *p)
{
	long r = child_clone(p);
	pid_t pid;

	if (r > 0)
		return (pid_t)r;
	/* a filter that cannot look into clone3's flags refuses it whole */
	pid = fork();
	if (pid == 0)
		child_run(p, false);
	return pid;
}
