/*
 * asb-boxd as a plain process on one end of a socketpair. Exists in test builds only: it isolates
 * nothing, and is what load and kill-point tests use where a microVM would only make them slow.
 */
#include "runtimes.h"

#ifdef ASB_TEST
#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "cleanup.h"
#include "pool.h"

#define BOXD_FD 3

static bool process_start(struct pool *pool, const struct runtime_spec *spec,
	struct runtime_box *out, struct err *err)
{
	const char *const argv[] = {spec->marker, "--fd", "3", "--run",
		pool_printf(pool, "%s/asb", spec->run_dir), NULL};
	struct child_fd fds[] = {{.from = -1, .to = BOXD_FD}};
	struct runtime_box box = {.vm = {.channel = -1, .qmp = -1, .console = -1}};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, ERR_INTERNAL, "process box: socketpair");
	CLEANUP(fd) int ours = pair[0];
	CLEANUP(fd) int theirs = pair[1];
	fds[0].from = theirs;
	box.vm.child = (struct child){.path = spec->program,
		.argv = argv,
		.fds = fds,
		.nfds = 1,
		.die_with_parent = true};
	if (!child_start(&box.vm.child, err))
		return err_wrap(err, "process box");
	box.vm.child.argv = NULL;
	box.vm.child.fds = NULL;
	box.vm.channel = STEAL_FD(ours);
	*out = box;
	return true;
}

static void process_destroy(struct runtime_box *box)
{
	child_kill(&box->vm.child);
	if (box->vm.channel >= 0)
		(void)close(box->vm.channel);
	box->vm.channel = -1;
}

static bool process_inspect(
	char *const *argv, size_t argc, struct runtime_facts *out, struct err *err)
{
	(void)argv;
	(void)argc;
	(void)err;
	*out = (struct runtime_facts){0};
	return true;
}

static bool process_count_nics(struct runtime_box *box, int64_t *out, struct err *err)
{
	(void)box;
	(void)err;
	*out = 0;
	return true;
}

static bool process_signal(struct runtime_box *box, int signo, struct err *err)
{
	if (box->vm.child.pid > 1 && !kill(box->vm.child.pid, signo))
		return true;
	return err_errno(err, ERR_INTERNAL, "process box: signal %d", signo);
}

static bool process_pause(struct runtime_box *box, struct err *err)
{
	return process_signal(box, SIGSTOP, err);
}

static bool process_resume(struct runtime_box *box, struct err *err)
{
	return process_signal(box, SIGCONT, err);
}

const struct runtime runtime_process = {
	.name = "process",
	.isolation = "process",
	.start = process_start,
	.destroy = process_destroy,
	.pause = process_pause,
	.resume = process_resume,
	.inspect = process_inspect,
	.count_nics = process_count_nics,
};
#endif
