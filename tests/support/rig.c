/*
 * Starting and watching the programs of a VM host in a private mount namespace, so that the fixed
 * paths of a box (/workspace, /artifacts, /run/asb) are this test's own.
 */
#include "rig.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "encode.h"
#include "pool.h"
#include "random.h"
#include "testdb.h"
#include "text.h"

#define ACCOUNT 1

static struct pool *rig_pool;

void rig_signal(int64_t pid, int signo)
{
	/* 0, -1 and other negative numbers address groups, or every process of the machine */
	if (pid <= 1 || pid > INT32_MAX)
		fail_msg("no process to signal: pid %lld", (long long)pid);
	(void)kill((pid_t)pid, signo);
}

static const char *bin(const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	/* build/MODE/tests/integration/test_x */
	for (int i = 0; i < 3; i++)
		*strrchr(self, '/') = '\0';
	return pool_printf(rig_pool, "%s/bin/%s", self, name);
}

static const char *in_box(const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(self, '/') = '\0';
	return pool_printf(rig_pool, "%s/box/%s", self, name);
}

static void mount_private(const char *path)
{
	(void)mkdir(path, 0755);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, "mode=0777"), 0);
}

static void program_start(struct rig *rig, struct child *c, const char *name, unsigned uid)
{
	const char *argv[] = {bin(name), NULL};
	const char *env[64];
	size_t n = 0;

	env[n++] = pool_printf(rig_pool, "ASB_SITE=%s", rig->site);
	env[n++] = pool_printf(rig_pool, "ASB_RUN_DIR=%s/run", rig->dir);
	env[n++] = pool_printf(rig_pool, "ASB_STATE_DIR=%s/state", rig->dir);
	env[n++] = pool_printf(rig_pool, "ASB_CACHE_DIR=%s/cache", rig->dir);
	env[n++] = pool_printf(rig_pool, "ASB_DB=%s", testdb_conninfo(TESTDB_SUPER));
	env[n++] = pool_printf(rig_pool, "BOX_UID_BASE=%u", rig->uid_base);
	env[n++] = "MCP_HTTP_TOKEN=operator-token-of-a-test";
	env[n++] = pool_printf(rig_pool, "ASB_FAULT_DIR=%s/fault", rig->dir);
	env[n++] = "BOX_RUNTIME=process";
	env[n++] = rig->box_pool ? rig->box_pool : "BOX_POOL=0";
	env[n++] = "ASB_LEASE_MS=3000";
	env[n++] = "ASB_RENEW_MS=500";
	env[n++] = "ASB_REAP_MS=500";
	env[n++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	env[n++] = pool_printf(rig_pool, "ASB_SHIM_BOXD=%s", in_box("asb-boxd"));
	if (getenv("RIG_LOG"))
		env[n++] = pool_printf(rig_pool, "ASB_LOG_LEVEL=%s", getenv("RIG_LOG"));
	else
		env[n++] = "ASB_LOG_LEVEL=error";
	for (size_t i = 0; rig->extra[i]; i++)
		env[n++] = rig->extra[i];
	env[n] = NULL;
	*c = (struct child){.argv = argv, .env = env, .die_with_parent = true, .uid = uid};
	struct err err;

	if (!child_start(c, &err))
		fail_msg("%s", err.msg);
	c->argv = c->env = NULL;
}

void rig_worker(struct rig *rig)
{
	program_start(rig, &rig->worker, "asb-worker", rig->uid_base + 1);
}

bool rig_start(struct rig *rig)
{
	char path[128];

	rig_pool = pool_new();
	if (geteuid() || access(in_box("asb-boxd"), X_OK) || access(bin("asb-spawn"), X_OK)) {
		(void)fprintf(stderr, "needs root, asb-spawn and build/box/asb-boxd\n");
		return false;
	}
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	mount_private("/workspace");
	mount_private("/artifacts");
	mount_private("/run/asb");
	(void)snprintf(rig->dir, sizeof(rig->dir), "/tmp/rig-asb.XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	assert_int_equal(chmod(rig->dir, 0755), 0);
	/* no other living program has this pid, whatever runs beside it; pids end at 4,194,304 */
	rig->uid_base = 2000000000u + (unsigned)getpid() * 256;
	random_id(rig->site, sizeof(rig->site), "", 8);
	for (size_t i = 0; i < 4; i++) {
		static const char *const subs[] = {"run", "state", "cache", "fault"};

		(void)snprintf(path, sizeof(path), "%s/%s", rig->dir, subs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(chmod(path, 0777), 0);
	}
	program_start(rig, &rig->spawn, "asb-spawn", 0);
	(void)snprintf(path, sizeof(path), "%s/run/spawn.sock", rig->dir);
	for (int i = 0; i < 200 && access(path, F_OK); i++)
		(void)usleep(20000);
	assert_int_equal(access(path, F_OK), 0);
	return true;
}

int rig_worker_stop(struct rig *rig)
{
	int status = -1;
	struct err err;

	if (rig->worker.pid <= 1)
		fail_msg("asb-worker does not run");
	rig_signal(rig->worker.pid, SIGTERM);
	if (!child_wait(&rig->worker, 10000, &status, &err))
		return -1;
	return status;
}

void rig_worker_kill(struct rig *rig)
{
	child_kill(&rig->worker);
}

void rig_end(struct rig *rig)
{
	const char *const argv[] = {"/bin/rm", "-rf", rig->dir, NULL};
	struct child rm = {.argv = argv};
	int status;
	struct err err;

	if (rig->worker.pid > 0)
		(void)rig_worker_stop(rig);
	if (rig->spawn.pid > 0) {
		rig_signal(rig->spawn.pid, SIGTERM);
		(void)!child_wait(&rig->spawn, 5000, &status, &err);
	}
	if (child_start(&rm, &err))
		(void)!child_wait(&rm, 10000, &status, &err);
	pool_free(rig_pool);
}

struct run_made rig_run(const char *task)
{
	return rig_delegate("script", task);
}

void rig_fake_claude(void)
{
	CLEANUP(free) char *fake = realpath("tests/support/fake-claude", NULL);

	assert_non_null(fake);
	mount_private("/usr/local/bin");
	assert_int_equal(symlink(fake, "/usr/local/bin/claude"), 0);
	assert_int_equal(symlink(in_box("asb-ask"), "/usr/local/bin/asb-ask"), 0);
}

struct run_made rig_delegate(const char *agent, const char *task)
{
	struct db *web = testdb_open("asb_web");
	struct run_new in = {
		.account_id = ACCOUNT,
		.task = task,
		.title = "test",
		.agent = agent,
		.created_by = "operator",
		.request_id = "rq-test",
		.runtime = "process",
		.image = "base",
		.size_class = "s",
		.memory_bytes = INT64_C(1) << 30,
		.cpus = 1,
		.disk_bytes = INT64_C(4) << 30,
		.starting_ms = 60000,
		.max_ms = 3600000,
	};
	struct run_made made;
	struct err err;

	{
		CLEANUP(tx) struct tx tx = {0};

		if (!db_begin(web, ACCOUNT, &tx, &err) || !run_delegate(web, &in, &made, &err) ||
			!db_commit(&tx, &err))
			fail_msg("delegate: %s", err.msg);
	}
	db_free(web);
	return made;
}

void rig_answer(const struct run_made *run, const char *text)
{
	struct db *web = testdb_open("asb_web");
	CLEANUP(pool) struct pool *pool = pool_new();
	struct run_resumed out;
	struct err err;

	{
		CLEANUP(tx) struct tx tx = {0};

		if (!db_begin(web, ACCOUNT, &tx, &err) ||
			!run_resume(web, pool, ACCOUNT, run->name, 0, text, "operator", "rq-answer",
				&out, &err) ||
			!db_commit(&tx, &err))
			fail_msg("resume: %s", err.msg);
	}
	db_free(web);
}

void rig_teardown(const struct run_made *run)
{
	struct db *web = testdb_open("asb_web");
	int64_t id;
	struct err err;

	{
		CLEANUP(tx) struct tx tx = {0};

		if (!db_begin(web, ACCOUNT, &tx, &err) ||
			!run_teardown(web, ACCOUNT, run->name, "rq-teardown", 60000, &id, &err) ||
			!db_commit(&tx, &err))
			fail_msg("teardown: %s", err.msg);
	}
	db_free(web);
}

void rig_wait(const struct run_made *run, const char *states, int64_t timeout_ms)
{
	int64_t until = time_boot_ms() + timeout_ms;

	while (time_boot_ms() < until) {
		const char *state =
			testdb_text("SELECT state FROM runs WHERE id = %ld", (long)run->run_id);

		if (strstr(states, state))
			return;
		(void)usleep(20000);
	}
	print_error("run is %s",
		testdb_text("SELECT state || ' ' || coalesce(reason, '') FROM runs WHERE id = %ld",
			(long)run->run_id));
	print_error(", detail: %s",
		testdb_text("SELECT detail FROM turns WHERE run_id = %ld ORDER BY n DESC LIMIT 1",
			(long)run->run_id));
	print_error(", box %s\n",
		testdb_text("SELECT state FROM boxes WHERE id = %ld", (long)run->box_id));
	fail_msg("%s did not become %s", run->name, states);
}

#define PIECE 60000 /* testdb_text holds twice as many characters */

static void hex_add(struct buf *out, const char *hex)
{
	char bytes[PIECE];
	size_t n = strlen(hex) / 2;
	char digits[2 * PIECE + 1];

	(void)snprintf(digits, sizeof(digits), "%s", hex);
	assert_true(hex_decode(digits, bytes, n));
	assert_true(buf_add(out, bytes, n));
}

char *rig_log(const struct run_made *run, int stream, size_t *n)
{
	CLEANUP(buf) struct buf out = BUF_INIT(16u << 20);
	long id = (long)run->log_id;
	int64_t last =
		testdb_i64("SELECT coalesce(max(seq), 0) FROM log_chunk WHERE log_id = %ld", id);

	for (int64_t seq = 1; seq <= last; seq++)
		for (int at = 1;; at += PIECE) {
			const char *hex = testdb_text(
				"SELECT encode(substring(body FROM %d FOR %d), 'hex') FROM "
				"log_chunk"
				" WHERE log_id = %ld AND seq = %ld AND (%d = 0 OR stream = %d)",
				at, PIECE, id, (long)seq, stream, stream);

			if (!*hex)
				break;
			hex_add(&out, hex);
		}
	*n = out.len;
	return out.len ? buf_detach(&out) : mem_strdup("");
}

const char *rig_ask(void)
{
	return in_box("asb-ask");
}

void rig_arm(const struct rig *rig, const char *point)
{
	char path[160];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/fault/%s", rig->dir, point);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	(void)close(fd);
}

bool rig_armed(const struct rig *rig, const char *point)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/fault/%s", rig->dir, point);
	return !access(path, F_OK);
}

int rig_kill_runners(const struct rig *rig)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int found = 0;

	assert_non_null(proc);
	if (rig->worker.pid <= 1)
		fail_msg("asb-worker does not run");
	while ((e = readdir(proc))) {
		char path[300], stat[512], *p;
		int64_t pid, ppid;
		ssize_t n;

		if (!text_to_i64(e->d_name, 2, INT32_MAX, &pid))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
		if (n <= 0)
			continue;
		stat[n] = '\0';
		p = strrchr(stat, ')');
		if (!p || strlen(p) < 5)
			continue;
		p += 4;
		p[strcspn(p, " ")] = '\0';
		if (!text_to_i64(p, 0, INT32_MAX, &ppid) || ppid != rig->worker.pid)
			continue;
		rig_signal(pid, SIGKILL);
		found++;
	}
	(void)closedir(proc);
	return found;
}

int rig_processes(const struct rig *rig)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int found = 0;
	char marker[32];

	(void)snprintf(marker, sizeof(marker), "asb-%s-", rig->site);
	assert_non_null(proc);
	while ((e = readdir(proc))) {
		char path[300], args[4096];
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, args, sizeof(args) - 1);
		if (n > 0 && memmem(args, (size_t)n, marker, strlen(marker)))
			found++;
	}
	(void)closedir(proc);
	return found;
}
