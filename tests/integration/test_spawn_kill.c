/*
 * asb-spawn's kill is proof of death: also of a process of the slot that has taken the marker out
 * of its own arguments, as one that broke out of its machine could. Needs root, no boxes: what is
 * killed are plain processes under the slots' uids.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "cleanup.h"
#include "config.h"
#include "pool.h"
#include "spawn.h"
#include "testprogram.h"

#define UID_BASE 1977776640
#define SITE "spawnkil"

static struct pool *pool;
static struct config cfg;
static struct child spawn;
static struct err err;

static int setup(void **state)
{
	char dir[] = "/tmp/asb-kill.XXXXXX";
	const char *const argv[] = {testprogram("asb-spawn"), NULL};

	(void)state;
	pool = pool_new();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	cfg = (struct config){
		.run_dir = pool_strdup(pool, dir), .uid_base = UID_BASE, .site = SITE};
	const char *const env[] = {"ASB_SITE=" SITE, pool_printf(pool, "ASB_RUN_DIR=%s", dir),
		pool_printf(pool, "ASB_STATE_DIR=%s", dir), "ASB_LOG_LEVEL=warn",
		pool_printf(pool, "BOX_UID_BASE=%d", UID_BASE), NULL};

	spawn = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	assert_true(child_start(&spawn, &err));
	assert_true(testprogram_listens(pool_printf(pool, "%s/spawn.sock", dir)));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	child_kill(&spawn);
	for (size_t i = 0; i < 3; i++) {
		const char *path = pool_printf(pool, "%s/%s", cfg.run_dir,
			(const char *const[]){"spawn.sock", "spawn.lock", "box"}[i]);

		(void)(unlink(path) && rmdir(path));
	}
	assert_int_equal(rmdir(cfg.run_dir), 0);
	pool_free(pool);
	return 0;
}

/* A process of the slot under this name. A shim is one whose name is the marker and whose first
 * argument is a number. */
static void process_start(struct child *c, int slot, const char *name)
{
	*c = (struct child){.path = "/usr/bin/sleep",
		.argv = (const char *const[]){name, "3000", NULL},
		.uid = (uid_t)(UID_BASE + 16 + slot),
		.die_with_parent = true};
	assert_true(child_start(c, &err));
}

static bool lives(const struct child *c)
{
	return waitpid(c->pid, NULL, WNOHANG) == 0;
}

/* asb-spawn answers the worker's uid alone. */
static void kill_box(const char *box, int slot)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(setgid(UID_BASE + 1) || setuid(UID_BASE + 1) ||
			!spawn_kill(&cfg, pool, box, slot, &err));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_hidden_process(void **state)
{
	struct child hidden, neighbour;

	(void)state;
	if (getuid())
		skip();
	process_start(&hidden, 3, "sleep");
	process_start(&neighbour, 4, "sleep");
	kill_box("box-one", 3);
	assert_false(lives(&hidden));
	assert_true(lives(&neighbour));
	child_kill(&neighbour);
}

/* A box's directory that its uid has filled with the names that the cleaning uses itself. */
static void test_names_in_the_way(void **state)
{
	const char *box = pool_printf(pool, "%s/box/box-one", cfg.run_dir);
	pid_t pid;
	int status;

	(void)state;
	if (getuid())
		skip();
	assert_int_equal(mkdir(box, 0700), 0);
	assert_int_equal(chown(box, UID_BASE + 16 + 3, UID_BASE + 16 + 3), 0);
	pid = fork();
	if (!pid) {
		bool made = !setgid(UID_BASE + 16 + 3) && !setuid(UID_BASE + 16 + 3) && !chdir(box);

		for (int i = 0; i < 20 && made; i++) {
			const char *way = pool_printf(pool, ".removed-%d", i);
			const char *own = pool_printf(pool, "d%d", i);

			made = !mkdir(way, 0700) && !mkdir(own, 0700) &&
			       !mkdir(pool_printf(pool, "%s/x", way), 0700) &&
			       !mkdir(pool_printf(pool, "%s/x", own), 0700) &&
			       !mkdir(pool_printf(pool, "%s/x/y", own), 0700);
		}
		_exit(!made);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	kill_box("box-one", 3);
	assert_int_equal(access(box, F_OK), -1);
}

/* One whose first thread has ended, and another lives: to a look at its state a zombie. */
static void test_first_thread_gone(void **state)
{
	static const char program[] =
		"import ctypes,threading,time\n"
		"threading.Thread(target=time.sleep,args=(3000,)).start()\n"
		"ctypes.CDLL(None).syscall(60,0)"; /* exit, of this thread alone */
	struct child c = {.path = "/usr/bin/python3",
		.argv = (const char *const[]){"python3", "-c", program, NULL},
		.uid = (uid_t)(UID_BASE + 16 + 3),
		.die_with_parent = true};
	char path[64], text[512] = "";

	(void)state;
	if (getuid())
		skip();
	assert_true(child_start(&c, &err));
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", c.pid);
	for (int i = 0; i < 1000 && !strstr(text, ") Z "); i++) {
		CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

		assert_true(read(fd, text, sizeof(text) - 1) > 0);
		(void)usleep(10000);
	}
	assert_non_null(strstr(text, ") Z "));
	assert_true(lives(&c));
	kill_box("box-one", 3);
	assert_false(lives(&c));
}

/* A kill that comes twice, the second time when the slot is another box's. */
static void test_other_tenant(void **state)
{
	struct child shim, machine;

	(void)state;
	if (getuid())
		skip();
	process_start(&shim, 3, "asb-" SITE "-box-two");
	process_start(&machine, 3, "sleep");
	kill_box("box-one", 3);
	assert_true(lives(&shim) && lives(&machine));
	kill_box("box-two", 3);
	assert_false(lives(&shim) || lives(&machine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hidden_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_the_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_thread_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_tenant, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
