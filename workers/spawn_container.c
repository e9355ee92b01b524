/*
 * Containers, as asb-spawn starts and ends them. An engine takes a second where QEMU takes
 * milliseconds, and may hang, so each start and each end is a child of ours with a socket back: the
 * loop never waits for an engine. A box that is a container has a record in STATE_DIR/container,
 * named like it and made before anything else: what has no record is nobody's.
 */
#include "spawn_site.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "config.h"
#include "container.h"
#include "json.h"
#include "killpoint.h"
#include "log.h"
#include "pool.h"
#include "template.h"
#include "text.h"

#define REPORT_MAX (64 * 1024)

static const char *record_path(const struct spawn_site *site, struct pool *pool, const char *box)
{
	return pool_printf(pool, "%s/container/%s", site->cfg->state_dir, box);
}

/* "ENGINE PID START": who starts it, so that an end can come before the start is over. */
static bool record_make(const struct spawn_site *site, struct pool *pool,
	const struct spawn_request *rq, struct err *err)
{
	struct proc self = {.start = 0};
	const char *text;

	(void)mkdir(pool_printf(pool, "%s/container", site->cfg->state_dir), 0700);
	CLEANUP(fd)
	int fd = open(record_path(site, pool, rq->box),
		O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	(void)proc_read(getpid(), &self);
	text = pool_printf(
		pool, "%s %d %lld\n", rq->runtime->name, getpid(), (long long)self.start);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_errno(err, ERR_INTERNAL, "record of %s", rq->box);
	return true;
}

/* Fills *starter with who starts it, or did. */
static const struct engine *record_read(
	const struct spawn_site *site, const char *box, struct proc *starter)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(fd) int fd = open(record_path(site, pool, box), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[128], name[32] = "";
	long long start = -1;
	int pid = -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	(void)sscanf(text, "%31s %d %lld", name, &pid, &start);
	*starter = (struct proc){.pid = pid, .start = start};
	return engine_find(name);
}

const struct engine *container_recorded(const struct spawn_site *site, const char *box)
{
	struct proc starter;

	return record_read(site, box, &starter);
}

static void report_error(int report, const struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4096);

	(void)buf_addf(&b, "{\"ok\":false,\"code\":\"%s\",\"class\":\"%s\",\"message\":",
		err->reason[0] ? err->reason : err_info(err->code)->name,
		err_info(err->code)->name);
	json_add_quoted(&b, err->msg, strlen(err->msg));
	(void)buf_adds(&b, ",\"fix\":");
	json_add_quoted(&b, err->fix, strlen(err->fix));
	(void)buf_addc(&b, '}');
	(void)send(report, b.data, b.len, MSG_NOSIGNAL);
}

/* --- the start, all in a child --- */

static bool shim_start(struct spawn_site *site, struct pool *pool, const struct spawn_request *rq,
	const struct container *box, int listener, int report, pid_t *out, struct err *err)
{
	CLEANUP(fd) int pidfd = (int)syscall(SYS_pidfd_open, box->pid, 0);
	const char *const argv[] = {rq->marker, pool_printf(pool, "%d", rq->slot), NULL};
	struct child_fd fds[] = {{listener, SHIM_FD_LISTEN}, {report, SHIM_FD_REPORT},
		{box->channel, SHIM_FD_CHANNEL}, {pidfd, SHIM_FD_PIDFD}};
	struct child c = {.path = pool_printf(pool, "%s/asb-shim", site->program_dir),
		.argv = argv,
		.env = shim_environment(site, pool, rq, "/"),
		.fds = fds,
		.nfds = 4,
		.cwd = "/",
		.own_session = true,
		.uid = rq->uid == geteuid() ? 0 : rq->uid};

	if (pidfd < 0)
		return err_errno(err, ERR_UPSTREAM, "the container ended at once");
	if (!child_start(&c, err))
		return false;
	*out = c.pid;
	return true;
}

static bool launch(struct spawn_site *site, struct pool *pool, const struct spawn_request *rq,
	int listener, int report, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(REPORT_MAX);
	CLEANUP(buf) struct buf facts = BUF_INIT(REPORT_MAX);
	const struct engine *e = engine_find(rq->runtime->name);
	struct container box;
	struct container_spec spec = {.marker = rq->marker,
		.site = site->cfg->site,
		.box = rq->box,
		.memory_bytes = rq->size->memory_bytes,
		.cpus = rq->size->cpus,
		.disk_bytes = rq->size->disk_bytes,
		.uid = container_uid(rq->uid)};
	struct image image;
	pid_t shim = -1;

	if (!image_get(pool, site->cfg->cache_dir, rq->image, &image, err) ||
		!record_make(site, pool, rq, err))
		return false;
	spec.image = engine_image_name(pool, &image);
	if (!container_start(pool, e, &spec, &box, err))
		return err_wrap(err, "start box");
	kill_point("spawn_after_container");
	if (!container_readback(pool, e, &spec, box.pid, &facts, err) ||
		!shim_start(site, pool, rq, &box, listener, report, &shim, err))
		return false;
	(void)buf_addf(&b,
		"{\"ok\":true,\"pid\":%d,\"uid\":%u,\"isolation\":\"%s\",\"readback\":%s}", shim,
		e->namespaced ? spec.uid : 0,
		box.isolation ? box.isolation : rq->runtime->isolation, facts.data);
	return send(report, b.data, b.len, MSG_NOSIGNAL) == (ssize_t)b.len
		       ? true
		       : err_errno(err, ERR_INTERNAL, "report of %s", rq->box);
}

bool container_launched(
	struct started *s, struct pool *pool, struct json_object *report, struct err *err)
{
	const char *isolation;
	int64_t pid, uid;
	struct proc p;

	if (!json_get_i64(report, "pid", &pid) || !json_get_i64(report, "uid", &uid) ||
		!json_get_text(report, "isolation", &isolation))
		return err_set(err, ERR_UPSTREAM, "the launch's report is not whole");
	s->pid = (pid_t)pid;
	s->pid_start = proc_read(s->pid, &p) ? p.start : 0;
	s->uid = (uid_t)uid;
	s->isolation = pool_strdup(pool, isolation);
	s->readback = json_text(json_get(report, "readback"), pool);
	return true;
}

static void box_clear(struct spawn_site *site, struct pool *pool, const struct spawn_request *rq,
	const struct engine *e, struct err *err, bool *gone)
{
	*gone = scan_kill(site, rq->marker, rq->uid, err) &&
		container_remove(pool, e, rq->marker, err) &&
		scan_kill_rest(site, rq->marker, rq->uid, err) &&
		dirs_remove(site, rq->box, rq->uid, err);
	if (*gone)
		(void)unlink(record_path(site, pool, rq->box));
}

/* A socket whose other end is a child of ours; *is_child tells which of the two returns. */
static bool child_fork(int *report, pid_t *pid, struct err *err)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, ERR_INTERNAL, "container: socketpair");
	*pid = fork();
	*report = pair[*pid ? 0 : 1];
	(void)close(pair[*pid ? 1 : 0]);
	if (*pid < 0)
		return err_errno(err, ERR_BUSY, "container: fork");
	if (!*pid) {
		/* half a start is worse than none; the record says what to remove */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return true;
}

static bool root_wanted(const struct spawn_site *site, const char *runtime, struct err *err)
{
	if (site->has_root)
		return true;
	(void)err_set(err, ERR_FORBIDDEN, "runtime %s: asb-spawn has no root for it", runtime);
	return err_advise(err, "engine_refused",
		"start asb-spawn as root, with this runtime in BOX_RUNTIME or BOX_RUNTIMES");
}

bool launch_container(struct spawn_site *site, const struct spawn_request *rq, int listener,
	struct started *out, struct err *err)
{
	struct pool *pool;
	struct err ignored;
	int report;
	bool gone;
	pid_t pid;

	if (!root_wanted(site, rq->runtime->name, err) || !child_fork(&report, &pid, err))
		return false;
	if (pid) {
		out->pid = pid;
		out->report = report;
		return true;
	}
	pool = pool_new();
	if (launch(site, pool, rq, listener, report, err))
		_exit(0);
	/* before it is said, so that a second try finds nothing in its way */
	if (record_read(site, rq->box, &(struct proc){0}))
		box_clear(site, pool, rq, engine_find(rq->runtime->name), &ignored, &gone);
	report_error(report, err);
	_exit(1);
}

/* --- the end --- */

/* Who is still starting the box, if anybody: it would go on behind our back. */
static void starter_kill(const struct spawn_site *site, const char *box)
{
	struct proc starter, now;

	if (!record_read(site, box, &starter) || starter.pid <= 0)
		return;
	CLEANUP(fd) int fd = (int)syscall(SYS_pidfd_open, starter.pid, 0);
	if (fd >= 0 && proc_read(starter.pid, &now) && now.start == starter.start)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

bool container_kill(struct spawn_site *site, const struct spawn_request *rq, const struct engine *e,
	int *report, struct err *err)
{
	bool gone;
	pid_t pid;

	/* a container outlives the setting that allowed it; it is not gone for that */
	if (!root_wanted(site, e->name, err) || !child_fork(report, &pid, err))
		return false;
	if (pid)
		return true;
	starter_kill(site, rq->box);
	box_clear(site, pool_new(), rq, e, err, &gone);
	if (gone)
		(void)send(*report, "{\"ok\":true}", 11, MSG_NOSIGNAL);
	else
		report_error(*report, err);
	_exit(0);
}

static bool is_known(const char *box, void *arg)
{
	return container_recorded(arg, box) != NULL;
}

void containers_sweep(struct spawn_site *site)
{
	const struct engine *e;
	struct err err;
	int report;
	pid_t pid;

	if (!site->has_root || !child_fork(&report, &pid, &err))
		return;
	if (pid) {
		(void)close(report);
		return;
	}
	for (size_t i = 0; (e = engine_at(i)); i++) {
		struct pool *pool = pool_new();
		const char *version;

		if (config_has_runtime(site->cfg, e->name) &&
			(!engine_probe(pool, e, &version, &err) ||
				!container_sweep(pool, e, site->cfg->site, is_known, site, &err)))
			log_warn("sweep of containers: %s", err.msg);
	}
	_exit(0);
}
