/*
 * asb-spawn and asb-shim with real QEMU guests, as root: a box is started under its slot's uid,
 * read back equal to the policy, killed, and leaves nothing; and each wrong made on purpose is
 * refused by the name of the field. The first test is the control of all the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxlink.h"
#include "child.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "pool.h"
#include "spawn.h"
#include "template.h"
#include "testprogram.h"
#include "text.h"
#include "vm.h"

/* Far from the range of any site that may run beside this test. */
#define UID_BASE 1977777664
#define SLOT 3
#define SLOT_UID (UID_BASE + 16 + SLOT)

struct site {
	struct pool *pool;
	struct config cfg;
	char dir[32];
	struct child spawn;
};

static struct vms vms;
static const char *runtime = "qemu";

static int group_setup(void **state)
{
	(void)state;
	vms_init(&vms);
	vms_template(&vms);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	vms_done(&vms);
	return 0;
}

/* Starts asb-spawn with this test switch ("": none). */
static void site_start(struct site *s, const char *wrong)
{
	const char *const argv[] = {testprogram("asb-spawn"), NULL};
	const char *env[9];
	struct err err;

	*s = (struct site){.pool = pool_new(), .dir = "/tmp/asb-e2e.XXXXXX"};
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	s->cfg = (struct config){.run_dir = s->dir, .uid_base = UID_BASE, .site = "e2espawn"};
	env[0] = pool_printf(s->pool, "ASB_SITE=%s", s->cfg.site);
	env[1] = pool_printf(s->pool, "ASB_RUN_DIR=%s", s->dir);
	env[2] = pool_printf(s->pool, "ASB_STATE_DIR=%s/state", s->dir);
	env[3] = pool_printf(s->pool, "ASB_CACHE_DIR=%s", vms.cache_dir);
	env[4] = pool_printf(s->pool, "BOX_UID_BASE=%d", UID_BASE);
	env[5] = pool_printf(s->pool, "ASB_FAULT_DIR=%s/state", s->dir);
	env[6] = "ASB_LOG_LEVEL=warn";
	env[7] = pool_printf(s->pool, "BOX_RUNTIME=%s", runtime);
	env[8] = NULL;
	assert_int_equal(mkdir(pool_printf(s->pool, "%s/state", s->dir), 0755), 0);
	if (*wrong)
		assert_int_equal(
			mkdir(pool_printf(s->pool, "%s/state/switch-%s", s->dir, wrong), 0755), 0);
	s->spawn = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	if (!child_start(&s->spawn, &err))
		fail_msg("%s", err.msg);
	assert_true(testprogram_listens(pool_printf(s->pool, "%s/spawn.sock", s->dir)));
}

static void site_stop(struct site *s)
{
	static const char *const names[] = {"spawn.sock", "spawn.lock", "state/box",
		"state/switch-nic", "state/switch-uid0", "state/switch-noseccomp",
		"state/switch-memory2x", "state/container", "state", "box"};

	child_kill(&s->spawn);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = pool_printf(s->pool, "%s/%s", s->dir, names[i]);

		(void)unlink(path);
		(void)rmdir(path);
	}
	/* it was empty but for these */
	assert_int_equal(rmdir(s->dir), 0);
	pool_free(s->pool);
}

/* asb-spawn answers the worker's uid alone, so each request is made by a child that is it. */
static int as_uid(uid_t uid, struct site *s, int (*fn)(struct site *s))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		(void)alarm(120);
		if (setgid(uid) || setuid(uid))
			_exit(90);
		_exit(fn(s));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 91;
}

static bool spawn_one(struct site *s, struct spawn_reply *r, struct err *err)
{
	return spawn_box(&s->cfg, s->pool, "box-e2e", SLOT, runtime, "base", "s", r, err);
}

static int shim_connect(struct site *s)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/box/box-e2e/shim.sock", s->dir);
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) ? -1 : fd;
}

/* Attaches and, if wanted, runs echo in the box; the machine of its HELLO, NULL where that failed.
 */
static const char *machine_of(struct site *s, bool exec)
{
	static const char *const argv[] = {"/bin/echo", "from the box", NULL};
	CLEANUP(json) struct json_object *hello = NULL;
	CLEANUP(boxlink) struct boxlink l;
	CLEANUP(fd) int fd = shim_connect(s);
	struct boxlink_exit e = {0};
	struct err err;
	bool fine;

	boxlink_init(&l, fd, -1);
	if (fd < 0 || !boxlink_send(&l, WIRE_ATTACH, 0, "{\"lane\":\"drive\",\"epoch\":1}", &err) ||
		!boxlink_expect(&l, WIRE_HELLO, 0, 60000, &hello, &err)) {
		(void)fprintf(stderr, "attach: %s\n", fd < 0 ? "no connection" : err.msg);
		return NULL;
	}
	if (exec) {
		fine = boxlink_exec(&l, 1, "agent", argv, 20000, &e, &err) && e.code == 0 &&
		       !strcmp(e.out.data, "from the box\n");
		cleanup_boxlink_exit(&e);
		if (!fine)
			return NULL;
	}
	return json_text(json_get(hello, "machine"), s->pool);
}

static int spawn_and_check(struct site *s)
{
	struct spawn_listed *list;
	struct spawn_reply r;
	const char *machine;
	struct err err;
	size_t n;

	if (!spawn_one(s, &r, &err)) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	(void)fprintf(stderr, "readback %s\n", r.readback);
	if (r.uid != SLOT_UID || !r.template_key || strcmp(r.isolation, "emulated-vm"))
		return 2;
	machine = machine_of(s, true);
	if (!machine)
		return 3;
	if (!readback_check(&r, machine, true, vms.size->memory_bytes, vms.size->cpus, &err)) {
		(void)fprintf(stderr, "%s: %s\n", err.msg, machine);
		return 4;
	}
	/* a slot that is lived in is not given away */
	if (spawn_box(&s->cfg, s->pool, "box-other", SLOT, "qemu", "base", "s", &r, &err) ||
		err.code != ERR_CONFLICT)
		return 5;
	if (!spawn_list(&s->cfg, s->pool, &list, &n, &err) || n != 1 || list[0].slot != SLOT ||
		strcmp(list[0].box, "box-e2e"))
		return 6;
	if (!spawn_kill(&s->cfg, s->pool, "box-e2e", SLOT, &err) ||
		!spawn_kill(&s->cfg, s->pool, "box-e2e", SLOT, &err)) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 7;
	}
	return spawn_list(&s->cfg, s->pool, &list, &n, &err) && n == 0 ? 0 : 8;
}

static int may_list(struct site *s)
{
	struct spawn_listed *list;
	struct err err;
	size_t n;

	return spawn_list(&s->cfg, s->pool, &list, &n, &err) ? 0 : 1;
}

struct traces {
	int processes, mounts, sockets, dirs;
};

static int lines_with(const char *path, const char *word)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	char line[4096];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !word || strstr(line, word) != NULL;
	return n;
}

static int uid_processes(void)
{
	struct dirent *e;
	DIR *d = opendir("/proc");
	char path[300], uid[32];
	int n = 0;

	(void)snprintf(uid, sizeof(uid), "Uid:\t%d\t", SLOT_UID);
	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9') {
			(void)snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
			/* the dead that init has not waited for yet are gone */
			n += lines_with(path, uid) && !lines_with(path, "State:\tZ");
		}
	if (d)
		(void)closedir(d);
	return n;
}

static struct traces traces_of(const struct site *s)
{
	struct stat run = {0}, state = {0};

	(void)stat(pool_printf(s->pool, "%s/box", s->dir), &run);
	(void)stat(pool_printf(s->pool, "%s/state/box", s->dir), &state);
	return (struct traces){.processes = uid_processes(),
		.mounts = lines_with("/proc/self/mounts", NULL),
		.sockets = lines_with("/proc/net/unix", s->dir),
		.dirs = (int)(run.st_nlink + state.st_nlink)};
}

static void test_spawn(void **state)
{
	struct traces before, after;
	struct site s;

	(void)state;
	if (geteuid())
		skip();
	site_start(&s, "");
	before = traces_of(&s);
	assert_int_equal(before.processes, 0);
	assert_int_equal(as_uid(UID_BASE + 1, &s, spawn_and_check), 0);
	after = traces_of(&s);
	assert_memory_equal(&before, &after, sizeof(before));
	/* root itself is not the worker, nor is the web's uid */
	assert_int_equal(as_uid(UID_BASE + 1, &s, may_list), 0);
	assert_int_not_equal(as_uid(UID_BASE, &s, may_list), 0);
	assert_int_not_equal(as_uid(0, &s, may_list), 0);
	site_stop(&s);
}

static const char *expected;

/* 0: refused, naming the expected field. */
static int spawn_and_be_refused(struct site *s)
{
	const char *machine;
	struct spawn_reply r;
	struct err err;
	bool fine;

	if (!spawn_one(s, &r, &err)) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	/* what the kernel says is enough to refuse: these boxes are not waited for */
	machine = "{}";
	fine = readback_check(&r, machine, true, vms.size->memory_bytes, vms.size->cpus, &err);
	(void)fprintf(stderr, "%s\n", fine ? "accepted" : err.msg);
	if (fine || err.code != ERR_FORBIDDEN || strcmp(err.reason, "policy") ||
		strncmp(err.msg, expected, strlen(expected)))
		return 2;
	return spawn_kill(&s->cfg, s->pool, "box-e2e", SLOT, &err) ? 0 : 3;
}

static void refuse(const char *wrong, const char *field)
{
	struct site s;

	if (geteuid())
		skip();
	expected = field;
	site_start(&s, wrong);
	assert_int_equal(as_uid(UID_BASE + 1, &s, spawn_and_be_refused), 0);
	assert_int_equal(uid_processes(), 0);
	site_stop(&s);
}

static void test_nic(void **state)
{
	(void)state;
	refuse("nic", "read back: nics is");
}

static void test_uid0(void **state)
{
	(void)state;
	refuse("uid0", "read back: uid is 0");
}

static void test_noseccomp(void **state)
{
	(void)state;
	refuse("noseccomp", "read back: seccomp is 0");
}

static void test_memory2x(void **state)
{
	(void)state;
	refuse("memory2x", "read back: memory_bytes is");
}

/* The same wrongs, made by an engine: "nic" is a bridge of its own. */
static void test_podman(void **state)
{
	struct child c = {.argv = (const char *const[]){"workers/box/images/import", "podman",
				  "base", vms.cache_dir, NULL},
		.env = (const char *const *)environ,
		.die_with_parent = true};
	int status = 0;

	(void)state;
	if (geteuid())
		skip();
	assert_done(child_start(&c, err) && child_wait(&c, 300000, &status, err));
	assert_int_equal(status, 0);
	runtime = "podman";
	refuse("nic", "read back: nics is 1");
	refuse("memory2x", "read back: memory_bytes is 2147483648");
	refuse("noseccomp", "read back: seccomp is 0");
	runtime = "qemu";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spawn),
		cmocka_unit_test(test_nic),
		cmocka_unit_test(test_uid0),
		cmocka_unit_test(test_noseccomp),
		cmocka_unit_test(test_memory2x),
		cmocka_unit_test(test_podman),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
