/*
 * asb-boxd: the box's end of the byte stream. As PID 1 of a VM's initramfs it makes the machine
 * first; with `--fd N` it speaks on a descriptor (`--fd -`: standard input and output) and is PID 1
 * of a container or, in tests, a plain process. It does nothing by itself: the host speaks first.
 */
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot.h"
#include "boxd.h"
#include "cleanup.h"
#include "container.h"
#include "exec.h"
#include "exec_ahead.h"
#include "text.h"
#include "worker.h"

#define PROXY_PORT 8377
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void children_reap(struct loop *loop, uint32_t events, void *arg)
{
	struct boxd *b = arg;
	struct rusage usage;
	int status;
	bool orphans = false;
	pid_t pid;

	(void)loop;
	(void)events;
	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		worker_reaped(b, pid);
		orphans |= !ahead_reaped(b, pid) && !exec_reaped(b, pid, status, &usage);
	}
	/* once for all of them: a look at a group without a cgroup reads all of /proc, and a fork
	 * bomb leaves a thousand */
	if (orphans)
		exec_orphans_reaped(b);
}

static void oom_protect(void)
{
	CLEANUP(fd) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "-1000", 5);
}

static void boot_id_read(struct boxd *b)
{
	CLEANUP(fd) int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, b->boot_id, 36);

	b->boot_id[n > 0 ? n : 0] = '\0';
}

/* /run/asb: root's, but the group of the agent may add its files; the sticky bit keeps ours ours.
 */
static void run_dir_make(const struct boxd *b)
{
	(void)mkdir(b->run_dir, 01775);
	if (!b->is_root)
		return;
	(void)!chown(b->run_dir, 0, UID_AGENT);
	(void)chmod(b->run_dir, 01775);
}

static _Noreturn void usage(void)
{
	(void)fprintf(stderr,
		"usage: asb-boxd --fd N|- [--run DIR] [--proxy PORT] [--groups cgroup|proc] "
		"[--marker NAME]\n");
	exit(2);
}

static void args_read(struct boxd *b, int argc, char **argv, int64_t *fd)
{
	int64_t port;

	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			usage();
		if (strcmp(argv[i], "--run") == 0) {
			b->run_dir = argv[i + 1];
		} else if (strcmp(argv[i], "--groups") == 0) {
			b->no_cgroup = strcmp(argv[i + 1], "proc") == 0;
		} else if (strcmp(argv[i], "--fd") == 0) {
			if (strcmp(argv[i + 1], "-") == 0)
				*fd = container_relay(&b->relay);
			else if (!text_to_i64(argv[i + 1], 0, 1 << 20, fd))
				usage();
		} else if (strcmp(argv[i], "--marker") == 0) {
			; /* for who looks at the host's processes */
		} else if (strcmp(argv[i], "--proxy") == 0) {
			if (!text_to_i64(argv[i + 1], 0, 65535, &port))
				usage();
			b->proxy_port = (int)port;
		} else {
			usage();
		}
	}
	if (*fd < 0)
		usage();
}

static _Noreturn void boot_failed(const struct err *err)
{
	(void)fprintf(stderr, "error boxd boot: %s\n", err->msg);
	sync();
	(void)reboot(RB_POWER_OFF);
	exit(1);
}

static int channel_make(struct boxd *b, int argc, char **argv)
{
	struct err err = {0};
	int64_t fd = -1;

	if (getpid() == 1 && (argc == 1 || strcmp(argv[1], "--fd") != 0)) {
		b->owns_machine = true;
		if (!boot_machine(&err) || (fd = boot_channel(&err)) < 0)
			boot_failed(&err);
		(void)fprintf(stderr, "info boxd booted ms=%lld\n", (long long)time_boot_ms());
		return (int)fd;
	}
	/* in a network namespace of our own the port is free; elsewhere any port will do */
	b->in_container = b->no_cgroup = getpid() == 1;
	b->proxy_port = b->in_container ? PROXY_PORT : -1;
	args_read(b, argc, argv, &fd);
	if (b->in_container)
		boot_container();
	if (fcntl((int)fd, F_SETFL, O_NONBLOCK) || fcntl((int)fd, F_SETFD, FD_CLOEXEC)) {
		(void)fprintf(stderr, "error boxd: descriptor %d: %s\n", (int)fd, strerror(errno));
		exit(2);
	}
	return (int)fd;
}

int main(int argc, char **argv)
{
	struct boxd b = {.run_dir = "/run/asb", .proxy_port = PROXY_PORT, .egress_fd = -1};
	int fd;

	/* whoever started us may have ignored some: what we start inherits that */
	for (int s = 1; s < 65; s++)
		(void)signal(s, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setenv("PATH", PATH_DEFAULT, 1);
	b.is_root = geteuid() == 0;
	fd = channel_make(&b, argc, argv);
	oom_protect();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	boot_id_read(&b);
	b.loop = loop_new();
	(void)loop_add_signal(b.loop, SIGCHLD, children_reap, &b);
	run_dir_make(&b);
	group_init(&b);
	question_listen(&b);
	egress_listen(&b);
	channel_open(&b, fd);
	for (;;) {
		loop_step(b.loop, -1);
		channel_flush(&b);
	}
}
