/*
 * See trial.h. What is tried is what a site does: the same asb-spawn, shim, boxd and read-back.
 */
#include "trial.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine.h"
#include "json.h"
#include "pool.h"
#include "privdrop.h"
#include "size_class.h"
#include "spawn_site.h"
#include "text.h"

/* The 256 uids below the first site's. */
#define UID_BASE (1900000000 - 256)
#define ATTACH_MS 180000
#define ANSWER_MS 60000

bool trial_begin(struct trial *t, struct pool *pool, const char *cache_dir, const char *program_dir,
	struct err *err)
{
	const char *const argv[] = {pool_printf(pool, "%s/asb-spawn", program_dir), NULL};
	const char *env[16];
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = 0;

	*t = (struct trial){.pool = pool, .dir = "/tmp/asb-trial.XXXXXX", .spawn = {.pid = -1}};
	if (!mkdtemp(t->dir) || chmod(t->dir, 0755))
		return err_errno(err, ERR_INTERNAL, "trial: folder");
	t->cfg = (struct config){.run_dir = t->dir,
		.state_dir = pool_printf(pool, "%s/state", t->dir),
		.cache_dir = cache_dir,
		.uid_base = geteuid() ? 0 : UID_BASE,
		.site = pool_printf(pool, "t%07x", (unsigned)getpid() & 0xfffffff)};
	if (mkdir(t->cfg.state_dir, 0755))
		return err_errno(err, ERR_INTERNAL, "trial: folder");
	env[n++] = pool_printf(pool, "ASB_SITE=%s", t->cfg.site);
	env[n++] = pool_printf(pool, "ASB_RUN_DIR=%s", t->dir);
	env[n++] = pool_printf(pool, "ASB_STATE_DIR=%s", t->cfg.state_dir);
	env[n++] = pool_printf(pool, "ASB_CACHE_DIR=%s", cache_dir);
	env[n++] = pool_printf(pool, "BOX_UID_BASE=%lld", (long long)t->cfg.uid_base);
	env[n++] = "BOX_RUNTIMES=podman docker msb";
	env[n++] = "ASB_LOG_LEVEL=error";
	for (const char *const *e = engine_environment(pool); *e; e++)
		env[n++] = *e;
	env[n] = NULL;
	t->spawn = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	if (!child_start(&t->spawn, err))
		return err_wrap(err, "trial");
	t->spawn.argv = t->spawn.env = NULL;
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/spawn.sock", t->dir);
	for (int i = 0; i < 1000; i++) {
		CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
			return true;
		(void)usleep(10000);
	}
	return err_set(err, ERR_TIMEOUT, "trial: asb-spawn did not start");
}

void trial_end(struct trial *t)
{
	static const char *const names[] = {
		"spawn.sock", "spawn.lock", "state/box", "state/container", "state", "box", "."};

	child_kill(&t->spawn);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = pool_printf(t->pool, "%s/%s", t->dir, names[i]);

		if (names[i][0] == '.')
			path = t->dir;
		(void)unlink(path);
		(void)rmdir(path);
	}
}

bool trial_as_worker(struct trial *t, bool (*fn)(struct trial *t, void *arg, struct err *err),
	void *arg, struct err *err)
{
	struct err said = {0};
	int ends[2], status;
	pid_t pid;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC))
		return err_errno(err, ERR_INTERNAL, "trial: pipe");
	CLEANUP(fd) int from = ends[0];
	CLEANUP(fd) int to = ends[1];
	pid = fork();
	if (pid < 0)
		return err_errno(err, ERR_INTERNAL, "trial: fork");
	if (!pid) {
		uid_t uid = t->cfg.uid_base ? (uid_t)t->cfg.uid_base + 1 : geteuid();

		if (privdrop_become(uid, uid, &said) && fn(t, arg, &said))
			_exit(0);
		(void)!write(to, &said, sizeof(said));
		_exit(1);
	}
	cleanup_fd(&to);
	to = -1;
	n = read(from, &said, sizeof(said));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status)
		return true;
	if (n != (ssize_t)sizeof(said))
		return err_set(err, ERR_INTERNAL, "trial: ended with status %d", status);
	*err = said;
	return false;
}

static bool shim_connect(struct trial *t, int *out, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/box/" TRIAL_BOX "/shim.sock", t->dir);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return err_errno(err, ERR_UPSTREAM, "connect to the box's shim");
	*out = STEAL_FD(fd);
	return true;
}

/* The shim refuses until the box is ready: tried again until then. */
static bool attach(struct trial *t, struct trial_box *b, struct err *err)
{
	int64_t until = time_boot_ms() + ATTACH_MS;

	for (;;) {
		CLEANUP(json) struct json_object *hello = NULL;

		if (!shim_connect(t, &b->fd, err))
			return false;
		boxlink_init(&b->link, b->fd, -1);
		if (boxlink_send(
			    &b->link, WIRE_ATTACH, 0, "{\"lane\":\"drive\",\"epoch\":1}", err) &&
			boxlink_expect(&b->link, WIRE_HELLO, 0, ANSWER_MS, &hello, err)) {
			b->machine = json_text(json_get(hello, "machine"), t->pool);
			return true;
		}
		boxlink_done(&b->link);
		(void)close(b->fd);
		if (time_boot_ms() > until)
			return err_wrap(err, "attach");
		(void)usleep(20000);
	}
}

bool trial_box_start(struct trial *t, const char *runtime, const char *image, struct trial_box *out,
	struct err *err)
{
	const struct size_class *size = size_class_find("s");

	*out = (struct trial_box){.fd = -1, .next_stream = 1};
	return spawn_box(&t->cfg, t->pool, TRIAL_BOX, TRIAL_SLOT, runtime, image, size->name,
		       &out->spawned, err) &&
	       attach(t, out, err) &&
	       readback_check(&out->spawned, out->machine, t->cfg.uid_base > 0, size->memory_bytes,
		       size->cpus, err);
}

bool trial_box_sealed(struct trial_box *b, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	uint32_t stream = b->next_stream++;
	bool sealed = false;

	if (!boxlink_send(&b->link, WIRE_PROBE, stream, "{}", err) ||
		!boxlink_expect(&b->link, WIRE_PROBE, stream, ANSWER_MS, &o, err))
		return err_wrap(err, "seal");
	if (json_get_bool(o, "sealed", &sealed) && sealed)
		return true;
	(void)err_set(err, ERR_FORBIDDEN, "seal: the box could reach out past the gate");
	return err_advise(err, "network_leak", "see the host's network set-up");
}

bool trial_box_destroy(struct trial *t, struct trial_box *b, struct err *err)
{
	struct spawn_listed *list;
	struct proc p;
	size_t n;

	if (b->fd >= 0) {
		boxlink_done(&b->link);
		(void)close(b->fd);
		b->fd = -1;
	}
	if (!spawn_kill(&t->cfg, t->pool, TRIAL_BOX, TRIAL_SLOT, err) ||
		!spawn_kill(&t->cfg, t->pool, TRIAL_BOX, TRIAL_SLOT, err) ||
		!spawn_list(&t->cfg, t->pool, &list, &n, err))
		return err_wrap(err, "destroy");
	if (n || (b->spawned.pid > 0 && proc_read(b->spawned.pid, &p) &&
			 p.start == b->spawned.pid_start))
		return err_set(err, ERR_INTERNAL, "destroy: the box is still there");
	return true;
}
