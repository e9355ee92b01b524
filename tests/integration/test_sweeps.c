/*
 * Rows that are kept for so many days and no longer, taken out in batches; and what a host is said
 * to have proved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "db.h"
#include "fixture.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_and_not),
		cmocka_unit_test(test_in_batches),
		cmocka_unit_test(test_host_says_what_was_proved),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
