/*
 * asb-shim: the parent of one box, under the slot's own uid. It owns the box's process and its byte
 * stream, keeps the output that is not committed yet, and lets the runner with the highest epoch
 * speak. No database, no secret, no policy; so it can live on while all else is restarted.
 *
 * Started by asb-spawn with everything it needs as numbers: descriptors in fixed places
 * (spawn_site.h), settings in an environment made for it, argv[0] the marker "asb-SITE-BOX".
 */
#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "confine.h"
#include "killpoint.h"
#include "log.h"
#include "pool.h"
#include "privdrop.h"
#include "shim.h"
#include "spawn_site.h"
#include "text.h"

CONFINED_PROGRAM

/* No word from any runner or worker for this long: there is no host left that wants the box. */
#define DEADMAN_MS 120000
/* No word from the box's asb-boxd for this long, pinged ten times meanwhile: it is dead or stuck. A
 * machine swamped by other builds slows a guest down, but not to that. */
#define MUTE_MS 180000
/* A dead box's shim stays this long, so that a runner can collect what is spooled. */
#define LINGER_MS 60000
/* From the guest's start to READY; a cold boot under emulation on a loaded machine is slow. */
#define START_MS 180000

static const char *env_text(const char *name)
{
	const char *v = getenv(name);

	return v ? v : "";
}

static int64_t env_i64(const char *name, int64_t otherwise)
{
	int64_t v;

	return text_to_i64(env_text(name), 0, INT64_MAX, &v) ? v : otherwise;
}

/* The descriptor, close-on-exec, or -1 where it was not given. */
static int fd_given(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) ? -1 : fd;
}

static void deadman_tick(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;

	(void)loop;
	(void)events;
	/* counted in ticks, so that a suspended host or a stopped shim does not look like silence
	 */
	shim->silence_ms += shim->deadman_ms / 10;
	if (shim->silence_ms >= shim->deadman_ms)
		box_end(shim, "worker_lost", "no worker spoke for %lld ms",
			(long long)shim->deadman_ms);
}

static void mute_tick(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;

	(void)loop;
	(void)events;
	box_tick(shim, shim->mute_ms / 10);
}

static void linger_over(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;

	(void)loop;
	(void)events;
	shim->done = true;
}

static void term(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;

	(void)loop;
	(void)events;
	box_end(shim, "box_lost", "the shim was told to end");
	shim->done = true;
}

/* After each round of the loop: whatever the callbacks changed is made to move. */
static void shim_settle(struct shim *shim)
{
	streams_settle(shim);
	runners_settle(shim);
	/* runners may have been given the last of something */
	streams_settle(shim);
	peer_flush(&shim->gate.peer);
	peer_flush(&shim->box.peer);
}

/* A container runs already; its channel and its process came with our start. */
static bool box_adopt(struct shim *shim, struct err *err)
{
	struct qemu *vm = &shim->box.rt.vm;

	*vm = (struct qemu){.child = {.pid = -1, .pidfd = fd_given(SHIM_FD_PIDFD)},
		.channel = fd_given(SHIM_FD_CHANNEL),
		.qmp = -1,
		.console = -1};
	return vm->channel >= 0 && vm->child.pidfd >= 0
		       ? true
		       : err_set(err, ERR_INVALID, "no container was given");
}

static bool box_start(struct shim *shim, struct err *err)
{
	struct runtime_spec spec = {
		.image_dir = env_text("ASB_IMAGE_DIR"),
		.disk = env_text("ASB_DISK"),
		.run_dir = env_text("ASB_BOX_DIR"),
		.program = env_text("ASB_SHIM_BOXD"),
		.memory_bytes = env_i64("ASB_MEMORY_BYTES", 0),
		.cpus = env_i64("ASB_CPUS", 0),
		.mem_fd = fd_given(SHIM_FD_MEM),
		.state_fd = fd_given(SHIM_FD_STATE),
	};

	shim->box.runtime = runtime_find(env_text("ASB_RUNTIME"));
	if (!shim->box.runtime)
		return err_set(err, ERR_INVALID, "ASB_RUNTIME: not one that this build has");
	spec.marker = pool_strdup(shim->pool, program_invocation_name);
	privdrop_no_core();
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return err_errno(err, ERR_INTERNAL, "undumpable");
	if (!privdrop_no_new_privs(err))
		return false;
	if (shim->box.runtime->confined && !test_switch("noseccomp") &&
		!confine(shim->box.runtime->is_container ? 0 : CONFINE_EXEC, err))
		return false;
	if (shim->box.runtime->is_container)
		return box_adopt(shim, err);
	if (!shim->box.runtime->start(shim->pool, &spec, &shim->box.rt, err))
		return false;
	kill_point("shim_after_qemu");
	/* the clone has its own view of them; held open here they would only be in the read-back */
	if (spec.mem_fd >= 0)
		(void)close(spec.mem_fd);
	if (spec.state_fd >= 0)
		(void)close(spec.state_fd);
	return true;
}

/* Says ATTACH, too: the guest works on it while we report. */
static void shim_begin(struct shim *shim)
{
	shim->deadman_ms = env_i64("ASB_SHIM_DEADMAN_MS", DEADMAN_MS);
	shim->linger_ms = env_i64("ASB_SHIM_LINGER_MS", LINGER_MS);
	shim->start_ms = env_i64("ASB_SHIM_START_MS", START_MS);
	shim->mute_ms = env_i64("ASB_SHIM_MUTE_MS", MUTE_MS);
	shim->loop = loop_new();
	shim->linger = loop_add_timer(shim->loop, -1, 0, linger_over, shim);
	shim->deadman = loop_add_timer(
		shim->loop, shim->deadman_ms / 10, shim->deadman_ms / 10, deadman_tick, shim);
	(void)loop_add_timer(shim->loop, shim->mute_ms / 10, shim->mute_ms / 10, mute_tick, shim);
	(void)loop_add_signal(shim->loop, SIGTERM, term, shim);
	box_begin(shim);
	peer_flush(&shim->box.peer);
}

static void shim_run(struct shim *shim)
{
	gate_start(shim);
	runners_listen(shim, SHIM_FD_LISTEN);
	while (!shim->done) {
		shim_settle(shim);
		loop_step(shim->loop, -1);
	}
	shim_settle(shim); /* last words */
	gate_stop(shim);
	runners_free(shim);
	streams_free(shim);
	question_clear(shim);
	box_done(shim);
	loop_free(shim->loop);
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct shim shim = {.pool = pool, .admin_epoch = -1};
	enum log_level level = LOG_INFO;
	int report = fd_given(SHIM_FD_REPORT);
	struct err err;

	(void)argc;
	(void)argv;
	(void)log_level_parse(env_text("ASB_LOG_LEVEL"), &level);
	log_init("shim", level);
	(void)signal(SIGPIPE, SIG_IGN);
	shim.name = env_text("ASB_BOX");
	shim.gate_path = env_text("ASB_GATE_SOCKET");
	shim.worker_uid = (uid_t)env_i64("ASB_WORKER_UID", geteuid());
	shim.gate_uid = (uid_t)env_i64("ASB_GATE_UID", geteuid());
	if (!text_is_name(shim.name) || fd_given(SHIM_FD_LISTEN) < 0) {
		log_error("not started by asb-spawn");
		return 2;
	}
	if (!box_start(&shim, &err)) {
		log_error("box=%s not started: %s", shim.name, err.msg);
		report_failed(report, &err);
		return 1;
	}
	shim_begin(&shim);
	report_started(&shim, report, shim.box.runtime->has_image ? env_text("ASB_DISK") : NULL);
	if (report >= 0)
		(void)close(report);
	shim_run(&shim);
	return 0;
}
