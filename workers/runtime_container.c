/*
 * podman and docker: one command line, two names. What a container is given is written here once;
 * what it really got is read back by container_facts.c. The root of a podman container is an
 * ordinary uid of the host, another one in each slot; docker has that for all of its containers or
 * for none, so slots are not separated there, and its boxes say so.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine.h"
#include "isolation.h"
#include "json.h"
#include "killpoint.h"
#include "pool.h"
#include "runtimes.h"
#include "template.h"
#include "text.h"

/* A start on a loaded machine takes two seconds; past this the engine hangs. */
#define START_MS 25000

static bool podman_check(struct json_object *version, struct err *err)
{
	const char *v;

	if (json_get(json_get(version, "Client"), "Context") ||
		!json_get_text(json_get(version, "Client"), "Version", &v)) {
		(void)err_set(err, ERR_INVALID, "podman: this program is not podman");
		return err_advise(err, "no_engine", "install podman (apt-get install podman runc)");
	}
	return true;
}

static bool docker_check(struct json_object *version, struct err *err)
{
	struct json_object *server = json_get(version, "Server");
	struct json_object *parts = json_get(server, "Components");
	const char *name = "";

	(void)json_get_text(json_at(parts, 0), "Name", &name);
	if (!json_get(json_get(version, "Client"), "ApiVersion") || strstr(name, "Podman")) {
		(void)err_set(err, ERR_INVALID, "docker: this is podman under another name");
		return err_advise(err, "no_engine", "set BOX_RUNTIME=podman, or install docker");
	}
	if (!json_count(parts)) {
		(void)err_set(err, ERR_UPSTREAM, "docker: its daemon does not answer");
		return err_advise(err, "engine_not_running", "start it: systemctl start docker");
	}
	return !strcmp(name, "Engine")
		       ? true
		       : err_set(err, ERR_INVALID, "docker: its daemon is %.40s", name);
}

/* runc and cgroupfs: crun of Debian 12 refuses a host with both kinds of cgroups. */
static const char *const podman_flags[] = {
	"--runtime", "runc", "--cgroup-manager", "cgroupfs", NULL};
static const char *const podman_run[] = {
	"-d", "--preserve-fds", "1", "--no-hosts", "--cap-add", "DAC_READ_SEARCH", NULL};
static const char *const no_flags[] = {NULL};
static const char *const docker_run[] = {"-i", NULL};

static bool probe(struct pool *pool, const struct engine *e, const char **version, struct err *err)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);
	CLEANUP(json) struct json_object *o = NULL;
	const char *v = "";
	struct argv a;
	int status;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add(&a, "version");
	argv_add2(&a, "--format", "{{json .}}");
	/* docker's client fails without its daemon, but says what it is */
	if (!engine_call(&a, -1, ENGINE_ANSWER_MS, &out, &status, err))
		return false;
	if (!engine_json(&out, &o, err)) {
		(void)err_set(err, ERR_INVALID, "%s: what is called so is no such engine", e->name);
		return err_advise(err, "no_engine", e->fix);
	}
	if (!e->check(o, err))
		return false;
	if (!json_get_text(json_get(o, "Server"), "Version", &v))
		(void)json_get_text(json_get(o, "Client"), "Version", &v);
	*version = pool_printf(pool, "%s %.40s", e->name, v);
	return true;
}

static int64_t limit_hard(__rlimit_resource_t resource, int64_t most)
{
	struct rlimit r;

	return !getrlimit(resource, &r) && r.rlim_max < (rlim_t)most ? (int64_t)r.rlim_max : most;
}

static void args_limits(struct argv *a, const struct container_spec *spec)
{
	struct pool *pool = a->pool;
	/* memory with swap: memory alone would allow twice as much */
	const char *memory = pool_printf(
		pool, "%" PRId64, spec->memory_bytes * (test_switch("memory2x") ? 2 : 1));
	/* an engine may not raise them above our own */
	long long files = limit_hard(RLIMIT_NOFILE, 65536), procs = limit_hard(RLIMIT_NPROC, 4096);
	long long file = limit_hard(RLIMIT_FSIZE, spec->disk_bytes);

	argv_add2(a, "--memory", memory);
	argv_add2(a, "--memory-swap", memory);
	argv_add2(a, "--cpus", pool_printf(pool, "%" PRId64, spec->cpus));
	argv_add2(a, "--pids-limit", pool_printf(pool, "%d", CONTAINER_PIDS));
	argv_add2(a, "--ulimit", pool_printf(pool, "nofile=%lld:%lld", files, files));
	argv_add2(a, "--ulimit", pool_printf(pool, "nproc=%lld:%lld", procs, procs));
	argv_add2(a, "--ulimit", "core=0:0");
	/* the engine's store has no limit for each container; what forgets to stop writing has */
	argv_add2(a, "--ulimit", pool_printf(pool, "fsize=%lld:%lld", file, file));
}

static void args_fence(struct argv *a, const struct engine *e, const struct container_spec *spec)
{
	/* what boxd needs to be several users in it, and to see what each has begun */
	static const char *const caps[] = {
		"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_PTRACE"};

	argv_add2(a, "--network", test_switch("nic") ? "bridge" : "none");
	argv_add2(a, "--cap-drop", "ALL");
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		argv_add2(a, "--cap-add", caps[i]);
	argv_add2(a, "--security-opt",
		test_switch("noseccomp") ? "seccomp=unconfined" : "no-new-privileges");
	argv_add2(a, "--ipc", "private");
	argv_add2(a, "--log-driver", "none");
	argv_add2(a, "--tmpfs", "/tmp:rw,nosuid,nodev,exec,mode=1777");
	argv_add2(a, "--tmpfs", "/run:rw,nosuid,nodev,mode=0755");
	if (e->namespaced) {
		const char *ids = pool_printf(a->pool, "0:%u:%d", spec->uid, CONTAINER_UIDS);

		argv_add2(a, "--uidmap", ids);
		argv_add2(a, "--gidmap", ids);
	}
}

static bool args_run(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	struct argv *a, struct err *err)
{
	if (!engine_argv(pool, e, a, err))
		return false;
	argv_add(a, "run");
	for (const char *const *option = e->run; *option; option++)
		argv_add(a, *option);
	argv_add2(a, "--pull", "never");
	argv_add2(a, "--name", spec->marker);
	argv_add2(a, "--hostname", spec->box);
	argv_add2(a, "--label", pool_printf(pool, CONTAINER_LABEL_SITE "=%s", spec->site));
	argv_add2(a, "--label", pool_printf(pool, CONTAINER_LABEL_BOX "=%s", spec->box));
	args_limits(a, spec);
	args_fence(a, e, spec);
	argv_add2(a, spec->image, CONTAINER_BOXD);
	argv_add2(a, "--fd", e->takes_fd ? "3" : "-");
	argv_add2(a, "--marker", spec->marker);
	return true;
}

/* Its process in our view; 0: none (yet). */
static bool pid_ask(
	struct pool *pool, const struct engine *e, const char *marker, pid_t *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536);
	struct argv a;
	int64_t pid;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "container", "inspect");
	argv_add2(&a, "--format", "{{.State.Pid}}");
	argv_add(&a, marker);
	if (!engine_ask(&a, ENGINE_ANSWER_MS, &text, err))
		return false;
	text.data[strcspn(text.data, "\n")] = '\0';
	if (!text_to_i64(text.data, 0, INT32_MAX, &pid))
		return err_set(err, ERR_UPSTREAM, "%s: says no process id", e->name);
	*out = (pid_t)pid;
	return true;
}

static bool run(struct argv *a, const struct engine *e, int box_end, struct err *err)
{
	CLEANUP(buf) struct buf said = BUF_INIT(65536);
	CLEANUP(buf) struct buf sane = BUF_INIT(1024);
	int status;

	if (!e->takes_fd)
		return engine_client(a, box_end, NULL, err);
	if (!engine_call(a, box_end, START_MS, &said, &status, err))
		return false;
	if (!status)
		return true;
	text_add_sane(&sane, said.data, said.len < 180 ? said.len : 180);
	(void)err_set(err, ERR_UPSTREAM, "%s run: %s", e->name, sane.data);
	return err_advise(err, "engine_refused", "run asb doctor --pull");
}

/* Is the process boxd yet? The engine has told of it before its own init has become that, and what
 * would be read back of it till then is the init's. False: it has ended, or that took too long. */
static bool boxd_wait(pid_t pid, int64_t until)
{
	char path[40], name[sizeof(CONTAINER_BOXD)];

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	for (;;) {
		CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof(name));

		if (n == (ssize_t)sizeof(name) && !memcmp(name, CONTAINER_BOXD, sizeof(name)))
			return true;
		if (n < 0 || time_boot_ms() > until)
			return false;
		(void)usleep(5000);
	}
}

static bool start(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	struct container *out, struct err *err)
{
	int64_t until = time_boot_ms() + START_MS;
	struct argv a;
	int pair[2];

	if (!args_run(pool, e, spec, &a, err))
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, ERR_BUSY, "container: socketpair");
	CLEANUP(fd) int ours = pair[0];
	CLEANUP(fd) int theirs = pair[1];
	if (!run(&a, e, theirs, err))
		return false;
	for (out->pid = 0; !out->pid; (void)usleep(20000)) {
		if (time_boot_ms() > until)
			return err_set(err, ERR_TIMEOUT, "%s: the container does not run", e->name);
		/* docker's client may not have made it yet */
		if (!pid_ask(pool, e, spec->marker, &out->pid, err) && e->takes_fd)
			return false;
		if (!out->pid && e->takes_fd)
			return err_set(
				err, ERR_UPSTREAM, "%s: the container ended at once", e->name);
	}
	if (!boxd_wait(out->pid, until))
		return err_set(err, ERR_UPSTREAM, "%s: boxd does not start in it", e->name);
	out->channel = STEAL_FD(ours);
	return true;
}

static bool exists(
	struct pool *pool, const struct engine *e, const char *marker, bool *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536);
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "ps", "-aq");
	argv_add2(&a, "--filter", pool_printf(pool, "name=^%s$", marker));
	if (!engine_ask(&a, ENGINE_ANSWER_MS, &text, err))
		return false;
	*out = text.len > 0;
	return true;
}

static bool remove_it(
	struct pool *pool, const struct engine *e, const char *marker, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536);
	bool there = true;
	struct argv a;
	int status;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "rm", "-f");
	argv_add(&a, "-v");
	argv_add(&a, marker);
	/* none of that name is an error to some versions: what counts is what is left */
	if (!engine_call(&a, -1, START_MS, &text, &status, err) ||
		!exists(pool, e, marker, &there, err))
		return false;
	return there ? err_set(err, ERR_UPSTREAM, "%s: %s is still there", e->name, marker) : true;
}

static bool list(struct pool *pool, const struct engine *e, const char *site, struct buf *names,
	struct err *err)
{
	struct argv a;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "ps", "-a");
	argv_add2(&a, "--filter", pool_printf(pool, "label=" CONTAINER_LABEL_SITE "=%s", site));
	argv_add2(&a, "--format", "{{.Names}}");
	return engine_ask(&a, ENGINE_ANSWER_MS, names, err);
}

static const struct engine_verbs verbs = {
	.probe = probe,
	.inspect_format = "{{.Id}}",
	.start = start,
	.readback = container_facts,
	.remove = remove_it,
	.list = list,
};

const struct engine engine_podman = {
	.name = "podman",
	.verbs = &verbs,
	.flags = podman_flags,
	.run = podman_run,
	.namespaced = true,
	.takes_fd = true,
	.check = podman_check,
	.fix = "install it: apt-get install podman runc conmon",
};

const struct engine engine_docker = {
	.name = "docker",
	.verbs = &verbs,
	.flags = no_flags,
	.run = docker_run,
	/* without ids of its own: DAC_READ_SEARCH would open any file of the host */
	.check = docker_check,
	.fix = "install docker, or set BOX_RUNTIME to another runtime",
};

const struct runtime runtime_podman = {
	.name = "podman",
	.isolation = ISOLATION_CONTAINER,
	.has_image = true,
	.confined = true,
	.is_container = true,
};

const struct runtime runtime_docker = {
	.name = "docker",
	.isolation = ISOLATION_CONTAINER,
	.has_image = true,
	.confined = true,
	.is_container = true,
};
