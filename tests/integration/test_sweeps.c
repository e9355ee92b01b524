/*
 * Rows that are kept for so many days and no longer, taken out in batches; what a host is said to
 * have proved; and which shims hear that there is a worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "fixture.h"
#include "loop.h"
#include "sweeps.h"
#include "testdb.h"
#include "worker.h"

static struct db *db;

static int setup(void **state)
{
	(void)state;
	db = testdb_open("asb_worker");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	db_free(db);
	return 0;
}

static void swept(const char *name, const struct config *cfg)
{
	struct worker w = {.cfg = cfg, .db = db, .host = "host1"};
	struct err err;

	for (const struct sweep *s = sweeps; s->name; s++) {
		if (strcmp(s->name, name))
			continue;
		if (!s->run(&w, &err))
			fail_msg("%s: %s", name, err.msg);
		return;
	}
	fail_msg("no sweep is called %s", name);
}

static void audit_add(int rows, int days)
{
	testdb_exec("INSERT INTO audit (ts, caller, address, method, path, status, ms, action, "
		    "request_id) SELECT now() - interval '%d days', 'c', 'a', 'POST', '/', 200, 1, "
		    "'x', 'r' FROM generate_series(1, %d)",
		days, rows);
}

static void test_kept_and_not(void **state)
{
	const struct config days = {.audit_days = 30, .egress_days = 20, .model_calls_days = 10};
	const struct config for_ever = {0};

	(void)state;
	testdb_exec("INSERT INTO boxes (account_id, name, runtime, image, class, memory_bytes, "
		    "cpus, disk_bytes, deadline_at, expires_at) VALUES (1, 'box-sweeps', 'qemu', "
		    "'base', 's', 1, 1, 1, now(), now())");
	audit_add(3, 31);
	audit_add(2, 29);
	for (int d = 9; d < 25; d++) {
		testdb_exec("INSERT INTO egress (ts, account_id, box_id, route, target, allowed, "
			    "reason) SELECT now() - interval '%d days', 1, id, 'git', 't', true, "
			    "'r' FROM boxes",
			d);
		testdb_exec("INSERT INTO model_calls (ts, account_id, box_id, path, status, ms) "
			    "SELECT now() - interval '%d days', 1, id, '/', 200, 1 FROM boxes",
			d);
	}
	/* 0 days: nothing goes */
	swept("retention", &for_ever);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit"), 5);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress"), 16);
	assert_int_equal(testdb_i64("SELECT count(*) FROM model_calls"), 16);
	swept("retention", &days);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit"), 2);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE ts < now() - interval '30 "
				    "days'"),
		0);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress"), 11);
	assert_int_equal(testdb_i64("SELECT count(*) FROM model_calls"), 1);
	testdb_exec("DELETE FROM audit");
}

static void test_in_batches(void **state)
{
	const struct config days = {.audit_days = 30};

	(void)state;
	audit_add(7000, 40);
	audit_add(1, 1);
	swept("retention", &days);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit"), 2001);
	swept("retention", &days);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit"), 1);
	swept("retention", &days);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit"), 1);
}

static void test_host_says_what_was_proved(void **state)
{
	const struct config cfg = {0};

	(void)state;
	testdb_exec("INSERT INTO hosts (name, boot_id, slots, isolation) VALUES ('host1', 'b1', 8, "
		    "'unproved')");
	/* a box of before the host's restart, and one that was never ready, prove nothing */
	testdb_exec("UPDATE boxes SET host = 'host1', host_boot_id = 'b0', isolation = 'x', "
		    "guest_boot_id = 'g' WHERE name = 'box-sweeps'");
	testdb_exec("INSERT INTO boxes (account_id, name, runtime, image, class, memory_bytes, "
		    "cpus, disk_bytes, deadline_at, expires_at, host, host_boot_id, isolation) "
		    "VALUES (1, 'box-other', "
		    "'qemu', 'base', 's', 1, 1, 1, now(), now(), 'host1', 'b1', 'emulated-vm')");
	swept("host_seen", &cfg);
	assert_string_equal(testdb_text("SELECT isolation FROM hosts"), "unproved");
	testdb_exec("UPDATE boxes SET guest_boot_id = 'g' WHERE name = 'box-other'");
	swept("host_seen", &cfg);
	assert_string_equal(testdb_text("SELECT isolation FROM hosts"), "emulated-vm");
}

/* A shim's socket of a box that is in `state`, with a process or without. */
static int shim_of(const char *dir, const char *box, const char *state, const char *pid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char path[100];

	testdb_exec(
		"INSERT INTO boxes (account_id, name, state, runtime, image, class, memory_bytes, "
		"cpus, disk_bytes, deadline_at, expires_at, host, pid, pid_start) VALUES (1, "
		"'%s', '%s', 'qemu', 'base', 's', 1, 1, 1, now(), now(), 'host2', %s, 1)",
		box, state, pid);
	(void)snprintf(path, sizeof(path), "%s/box/%s", dir, box);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(snprintf(a.sun_path, sizeof(a.sun_path), "%s/shim.sock", path) > 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* Whether it was pinged; takes the descriptor and its folder. */
static bool pinged(const char *dir, const char *box, int shim)
{
	CLEANUP(fd) int listener = shim;
	CLEANUP(fd) int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char bytes[64], path[128];

	(void)snprintf(path, sizeof(path), "%s/box/%s/shim.sock", dir, box);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/box/%s", dir, box);
	assert_int_equal(rmdir(path), 0);
	return fd >= 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0;
}

/* An installer may be silent for longer than a shim waits for somebody who speaks. */
static void test_every_shim_hears_the_worker(void **state)
{
	char dir[] = "/tmp/asb-sweeps-XXXXXX", boxes[64];
	struct config cfg = {0};
	struct worker w = {.cfg = &cfg, .db = db, .host = "host2", .loop = loop_new()};
	int ready, creating, unborn, gone;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(boxes, sizeof(boxes), "%s/box", dir);
	assert_int_equal(mkdir(boxes, 0700), 0);
	cfg.run_dir = dir;
	ready = shim_of(dir, "box-up", "ready", "1");
	creating = shim_of(dir, "box-making", "creating", "1");
	unborn = shim_of(dir, "box-unborn", "creating", "NULL");
	gone = shim_of(dir, "box-gone", "gone", "1");
	if (!sweep_pings(&w, &err))
		fail_msg("%s", err.msg);
	assert_true(pinged(dir, "box-up", ready));
	assert_true(pinged(dir, "box-making", creating));
	assert_false(pinged(dir, "box-unborn", unborn));
	assert_false(pinged(dir, "box-gone", gone));
	asks_end(&w);
	loop_free(w.loop);
	assert_int_equal(rmdir(boxes), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_and_not),
		cmocka_unit_test(test_in_batches),
		cmocka_unit_test(test_host_says_what_was_proved),
		cmocka_unit_test(test_every_shim_hears_the_worker),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
