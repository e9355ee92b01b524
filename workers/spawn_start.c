/*
 * Starting one box: the slot is made clean, directories and disk are made, the shim is started as
 * the slot's uid with its descriptors in fixed places and an environment built from nothing.
 */
#include "spawn_site.h"

#include <sys/socket.h>

#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "config.h"
#include "killpoint.h"
#include "pool.h"
#include "template.h"

struct tenant {
	const struct spawn_request *rq;
	char other[MARKER_SIZE]; /* a shim that lives in the slot already */
	bool any;		 /* some process has its uid */
};

static bool tenant_find(const struct proc *p, void *arg)
{
	struct tenant *t = arg;

	if (p->uid != t->rq->uid)
		return true;
	t->any = true;
	if (!p->marker[0] || !p->is_shim)
		return true;
	/* without separation all slots share the uid: only the very same box is in the way */
	if (t->rq->uid == geteuid() && strcmp(p->marker, t->rq->marker))
		return true;
	(void)snprintf(t->other, sizeof(t->other), "%s", p->marker);
	return false;
}

/* Leftovers of a dead box go; a living one is in the way. */
static bool slot_prepare(struct spawn_site *site, const struct spawn_request *rq, struct err *err)
{
	struct tenant t = {.rq = rq};

	if (!scan_boxes(site, tenant_find, &t, err))
		return false;
	if (t.other[0]) {
		(void)err_set(err, ERR_CONFLICT, "slot %d: %s lives in it", rq->slot, t.other);
		return err_advise(err, "slot_taken", "kill that box first");
	}
	/* a QEMU that outlived its shim by a moment */
	if (t.any &&
		(!scan_kill(site, rq->marker, rq->uid, err) || !scan_kill_uid(site, rq->uid, err)))
		return err_wrap(err, "slot %d", rq->slot);
	if (rq->uid != geteuid() && !dirs_clean_slot(site, rq->uid, err))
		return err_wrap(err, "slot %d", rq->slot);
	return dirs_remove(site, rq->box, rq->uid, err);
}

#define MAX_ENV 32
struct environment {
	struct pool *pool;
	const char *list[MAX_ENV + 1];
	size_t n;
};

static void env_add(struct environment *e, const char *name, const char *value)
{
	if (value && e->n < MAX_ENV)
		e->list[e->n++] = pool_printf(e->pool, "%s=%s", name, value);
}

static void env_add_i64(struct environment *e, const char *name, int64_t value)
{
	env_add(e, name, pool_printf(e->pool, "%lld", (long long)value));
}

const char *const *shim_environment(struct spawn_site *site, struct pool *pool,
	const struct spawn_request *rq, const char *image_dir)
{
	struct environment *e = POOL_NEW(pool, struct environment);

	/* how the shim's times are set, and what tests do to it; all else of ours stays here */
	static const char *const passed[] = {
		"ASB_SHIM_DEADMAN_MS",
		"ASB_SHIM_LINGER_MS",
		"ASB_SHIM_START_MS",
		"ASB_SHIM_MUTE_MS",
#ifdef ASB_TEST
		"ASB_SHIM_BOXD",
		"ASB_FAULT_DIR",
#endif
	};

	*e = (struct environment){.pool = pool};
	env_add(e, "ASB_BOX", rq->box);
	env_add(e, "ASB_RUNTIME", rq->runtime->name);
	env_add(e, "ASB_IMAGE_DIR", image_dir);
	env_add(e, "ASB_DISK",
		pool_printf(e->pool, "%s/box/%s/disk.img", site->cfg->state_dir, rq->box));
	env_add(e, "ASB_BOX_DIR", pool_printf(e->pool, "%s/box/%s", site->cfg->run_dir, rq->box));
	env_add(e, "ASB_GATE_SOCKET", pool_printf(e->pool, "%s/gate.sock", site->cfg->run_dir));
	env_add_i64(e, "ASB_MEMORY_BYTES", rq->size->memory_bytes);
	env_add_i64(e, "ASB_CPUS", rq->size->cpus);
	env_add_i64(e, "ASB_WORKER_UID", site->worker_uid);
	env_add_i64(e, "ASB_GATE_UID", site->gate_uid);
	env_add(e, "ASB_LOG_LEVEL", site->cfg->log_level);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		env_add(e, passed[i], getenv(passed[i]));
	return e->list;
}

static bool shim_exec(struct spawn_site *site, struct pool *pool, const struct spawn_request *rq,
	const char *image_dir, int listener, int mem_fd, int state_fd, struct started *out,
	struct err *err)
{
	const char *program = pool_printf(pool, "%s/asb-shim", site->program_dir);
	/* argv[0] is the marker that scans look for; the program is found by its path */
	const char *const argv[] = {rq->marker, pool_printf(pool, "%d", rq->slot), NULL};
	struct child_fd fds[4] = {{listener, SHIM_FD_LISTEN}};
	struct child c = {.path = program,
		.argv = argv,
		.env = shim_environment(site, pool, rq, image_dir),
		.fds = fds,
		.nfds = 2,
		.cwd = "/"};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, ERR_INTERNAL, "start shim: socketpair");
	CLEANUP(fd) int ours = pair[0];
	CLEANUP(fd) int theirs = pair[1];
	fds[1] = (struct child_fd){theirs, SHIM_FD_REPORT};
	if (mem_fd >= 0) {
		fds[2] = (struct child_fd){mem_fd, SHIM_FD_MEM};
		fds[3] = (struct child_fd){state_fd, SHIM_FD_STATE};
		c.nfds = 4;
	}
	c.own_session = true;
	c.uid = rq->uid == geteuid() ? 0 : rq->uid; /* 0: stay */
	if (!child_start(&c, err))
		return false;
	kill_point("spawn_after_fork");
	(void)close(c.pidfd);
	out->pid = c.pid;
	out->report = STEAL_FD(ours);
	return true;
}

bool start_shim(struct spawn_site *site, struct pool *pool, const struct spawn_request *rq,
	struct started *out, struct err *err)
{
	/* a machine that differs from its template cannot be a clone of it */
	bool cold = test_switch("memory2x") || test_switch("nic");
	const char *image_dir = NULL, *disk = NULL;
	const struct template *tpl = NULL;
	CLEANUP(fd) int listener = -1;
	CLEANUP(fd) int state = -1;
	struct err ignored;
	struct proc p;

	if (!slot_prepare(site, rq, err))
		return false;
	if (rq->runtime->is_container)
		return dirs_make(site, rq, NULL, &listener, err) &&
		       launch_container(site, rq, listener, out, err);
	if (rq->runtime->has_image && !template_for(site, rq, cold, &image_dir, &disk, &tpl, err))
		return false;
	if (tpl && tpl->key && !template_open_state(tpl, &state, err))
		return false;
	if (!dirs_make(site, rq, disk, &listener, err))
		return false;
	if (!shim_exec(site, pool, rq, image_dir, listener, tpl && tpl->key ? tpl->mem_fd : -1,
		    state, out, err)) {
		(void)!dirs_remove(site, rq->box, rq->uid, &ignored);
		return false;
	}
	out->template_key = tpl ? tpl->key : NULL;
	out->uid = rq->uid;
	out->pid_start = proc_read(out->pid, &p) ? p.start : 0;
	return true;
}
