/*
 * asb-spawn: the one program with privilege. It does two things for the worker, starting a box
 * under its slot's own uid and proving one gone, and tells which boxes live. It parses nothing that
 * a box said. What it cannot do later it does here, before dropping everything but four
 * capabilities: making its directories and its socket. Only where boxes may be containers it keeps
 * all of root, which their engines need.
 */
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "log.h"
#include "pool.h"
#include "privdrop.h"
#include "spawn_site.h"

/* One asb-spawn a site: two would clean each other's half-made boxes. The lock is held until we
 * end. */
static bool site_lock(const struct config *cfg, struct pool *pool, int *out, struct err *err)
{
	const char *path = pool_printf(pool, "%s/spawn.lock", cfg->run_dir);
	CLEANUP(fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_errno(err, ERR_INTERNAL, "open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB))
		return err_set(err, ERR_CONFLICT, "asb-spawn of this site runs already");
	*out = STEAL_FD(fd);
	return true;
}

static bool socket_listen(struct spawn_site *site, int *out, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/spawn.sock", site->cfg->run_dir);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(err, ERR_INVALID, "ASB_RUN_DIR: too long for a socket");
	(void)unlink(a.sun_path);
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) || chmod(a.sun_path, 0660) ||
		chown(a.sun_path, geteuid(), site->worker_uid) || listen(fd, 64))
		return err_errno(err, ERR_INTERNAL, "listen on %s", a.sun_path);
	*out = STEAL_FD(fd);
	return true;
}

/* An engine works with everything that root has: where one is to be used, nothing is dropped. */
static bool needs_root(const struct config *cfg)
{
	const struct runtime *r;

	for (size_t i = 0; (r = runtime_at(i)); i++)
		if (r->is_container && config_has_runtime(cfg, r->name))
			return !geteuid();
	return false;
}

static bool privilege_drop(const struct spawn_site *site, struct err *err)
{
	static const int caps[] = {CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_KILL};
	const struct config *cfg = site->cfg;

	privdrop_no_core();
	if (geteuid() || site->has_root)
		return privdrop_no_new_privs(err);
	/* under one uid nobody needs to become another */
	return privdrop_keep(caps, cfg->uid_base ? sizeof(caps) / sizeof(caps[0]) : 0, err);
}

static bool program_dir(struct pool *pool, const char **out, struct err *err)
{
	char path[512], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return err_errno(err, ERR_INTERNAL, "find our own program");
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	*out = pool_strdup(pool, path);
	return true;
}

static bool spawn_main(struct pool *pool, int argc, char **argv, struct err *err)
{
	struct spawn_site site = {.pool = pool, .box_run_dir = -1, .box_state_dir = -1};
	enum log_level level = LOG_INFO;
	CLEANUP(fd) int lock = -1;
	CLEANUP(fd) int listener = -1;
	bool done;

	if (!config_load(pool, argc, argv, &site.cfg, err))
		return false;
	(void)log_level_parse(site.cfg->log_level, &level);
	log_init("spawn", level);
	if (site.cfg->uid_base && geteuid()) {
		(void)err_set(
			err, ERR_FORBIDDEN, "BOX_UID_BASE is set, and only root can change uids");
		return err_advise(err, NULL, "start asb-spawn as root, or set BOX_UID_BASE=0");
	}
	site.has_root = needs_root(site.cfg);
	site.worker_uid = site.cfg->uid_base ? (uid_t)(site.cfg->uid_base + 1) : geteuid();
	site.gate_uid = site.cfg->uid_base ? (uid_t)(site.cfg->uid_base + 2) : geteuid();
	/* a QEMU whose shim was killed becomes our child, and is waited for like one */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!program_dir(pool, &site.program_dir, err) || !site_lock(site.cfg, pool, &lock, err) ||
		!dirs_open(&site, err) || !socket_listen(&site, &listener, err) ||
		!privilege_drop(&site, err))
		return false;
	log_info("ready worker_uid=%u separated=%d root=%d", site.worker_uid,
		site.cfg->uid_base != 0, site.has_root);
	done = spawn_serve(&site, listener, err);
	templates_close(&site);
	(void)close(site.box_run_dir);
	(void)close(site.box_state_dir);
	return done;
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct err err;

	(void)signal(SIGPIPE, SIG_IGN);
	log_init("spawn", LOG_INFO);
	(void)umask(0077);
	if (spawn_main(pool, argc, argv, &err))
		return 0;
	log_error("%s%s%s", err.msg, err.fix[0] ? ": " : "", err.fix);
	return err_info(err.code)->exit_status;
}
