/*
 * The pool: who gets which box, with rows alone; then real programs, with boxes that are plain
 * processes, and what becomes of pooled boxes when programs are killed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <signal.h>

#include <cmocka.h>

#include "box_pool.h"
#include "cleanup.h"
#include "db.h"
#include "fixture.h"
#include "rig.h"
#include "run.h"
#include "size_class.h"
#include "testdb.h"

#define CLAIMS 50
#define CLAIMERS 5
#define POOLED "FROM boxes WHERE account_id IS NULL AND state = 'pooled'"

static struct rig rig;
static struct err err;

static void pooled_add(struct db *worker, const char *image, const char *key, int64_t max_ms)
{
	const struct box_pool_new in = {.host = "host1",
		.runtime = "qemu",
		.image = image,
		.image_key = key,
		.size = &size_classes[0],
		.creating_ms = 60000,
		.max_ms = max_ms};

	assert_true(box_pool_make(worker, &in, &err));
	testdb_exec("UPDATE boxes SET state = 'pooled', pooled_at = now() WHERE account_id IS NULL"
		    " AND state = 'creating'; DELETE FROM jobs WHERE kind = 'pool'");
}

static struct run_made delegate(struct db *web, const char *key, int64_t max_ms)
{
	const struct run_new in = {.account_id = 1,
		.task = "true",
		.title = "true",
		.agent = "script",
		.created_by = "operator",
		.runtime = "qemu",
		.image = "base",
		.image_key = key,
		.size_class = size_classes[0].name,
		.memory_bytes = size_classes[0].memory_bytes,
		.cpus = 1,
		.disk_bytes = 1,
		.starting_ms = 60000,
		.max_ms = max_ms};
	CLEANUP(tx) struct tx tx = {0};
	struct run_made made;

	assert_true(db_begin(web, 1, &tx, &err));
	assert_true(run_delegate(web, &in, &made, &err));
	assert_true(db_commit(&tx, &err));
	return made;
}

static void claimer(void)
{
	struct db *web = testdb_open("asb_web");

	for (int i = 0; i < CLAIMS / CLAIMERS; i++)
		(void)delegate(web, "k1", 1000);
	db_free(web);
	_exit(0);
}

/* All at the same time: each box is somebody's once. */
static void test_many_claims(void **state)
{
	CLEANUP(db) struct db *worker = testdb_open("asb_worker");
	int status, failed = 0;

	(void)state;
	for (int i = 0; i < 5; i++)
		pooled_add(worker, "base", "k1", 1000);
	assert_int_equal(testdb_i64("SELECT count(*) " POOLED), 5);
	(void)testdb_conninfo("asb_web"); /* before the children share what it keeps */
	for (int i = 0; i < CLAIMERS; i++)
		if (!fork())
			claimer();
	for (int i = 0; i < CLAIMERS; i++)
		failed += wait(&status) < 0 || status;
	assert_int_equal(failed, 0);
	assert_int_equal(testdb_i64("SELECT count(DISTINCT box_id) FROM runs"), CLAIMS);
	assert_int_equal(testdb_i64("SELECT count(*) FROM runs r JOIN boxes b ON b.id = r.box_id"
				    " WHERE b.claimed_at IS NOT NULL AND b.pooled_at IS NOT NULL"
				    " AND b.account_id = 1 AND b.state = 'creating'"),
		5);
	assert_int_equal(testdb_i64("SELECT count(*) " POOLED), 0);
	testdb_exec("UPDATE boxes SET state = 'gone'; DELETE FROM jobs");
}

static bool is_claimed(const struct run_made *run)
{
	return testdb_i64("SELECT count(*) FROM boxes WHERE id = %ld AND name = '%s' AND"
			  " claimed_at IS NOT NULL",
		(long)run->box_id, run->box_name);
}

static void test_not_just_any(void **state)
{
	CLEANUP(db) struct db *worker = testdb_open("asb_worker");
	CLEANUP(db) struct db *web = testdb_open("asb_web");
	struct run_made run;

	(void)state;
	/* another build of the image, another image, too little life left, about to be destroyed */
	pooled_add(worker, "base", "k0", 3600000);
	run = delegate(web, "k1", 1000);
	assert_false(is_claimed(&run));
	pooled_add(worker, "other", "k1", 3600000);
	run = delegate(web, "k1", 1000);
	assert_false(is_claimed(&run));
	pooled_add(worker, "base", "k1", 1000);
	run = delegate(web, "k1", BOX_POOL_MS + 3600000);
	assert_false(is_claimed(&run));
	testdb_exec("INSERT INTO jobs (kind, box_id, lane) SELECT 'destroy', id, 'admin' FROM boxes"
		    " WHERE state = 'pooled' AND image = 'base' AND image_key = 'k1'");
	run = delegate(web, "k1", 1000);
	assert_false(is_claimed(&run));
	testdb_exec("DELETE FROM jobs WHERE kind = 'destroy'");
	run = delegate(web, "k1", 1000);
	assert_true(is_claimed(&run));
	assert_string_equal(testdb_text("SELECT data->>'state' FROM feed WHERE kind = 'box' AND"
					" box_id = %ld ORDER BY id DESC LIMIT 1",
				    (long)run.box_id),
		"creating");
	/* nobody's: not in the feed, and a door sees no row of it */
	assert_int_equal(testdb_i64("SELECT count(*) FROM feed f JOIN boxes b ON b.id = f.box_id"
				    " WHERE b.account_id IS NULL"),
		0);
	assert_int_equal(testdb_i64("SELECT count(*) " POOLED), 2);
	char sqlstate[6];
	assert_int_equal(
		testdb_try("asb_web", 1, "SELECT 1 FROM boxes WHERE state = 'pooled'", sqlstate),
		0);
	/* for nobody there is none */
	assert_int_equal(testdb_try("asb_web", 0,
				 "SELECT 1 FROM pool_take('qemu', 'base', 'k0', 's', 1, 1, 'run', "
				 "NULL, NULL, NULL, 'run', NULL, NULL)",
				 sqlstate),
		0);
	testdb_exec("UPDATE boxes SET state = 'gone'; DELETE FROM jobs");
}

/* --- with programs --- */

static void wait_pooled(int n)
{
	for (int i = 0; i < 1500; i++) {
		if (testdb_i64("SELECT count(*) " POOLED) == n)
			return;
		(void)usleep(20000);
	}
	fail_msg("the pool does not hold %d boxes", n);
}

static int64_t pooled_pid(void)
{
	return testdb_i64("SELECT pid " POOLED " ORDER BY id LIMIT 1");
}

static struct run_made rig_claim(void)
{
	CLEANUP(db) struct db *web = testdb_open("asb_web");
	const struct run_new in = {.account_id = 1,
		.task = "echo hello",
		.title = "hello",
		.agent = "script",
		.created_by = "operator",
		.runtime = "process",
		.image = "base",
		.image_key = "",
		.size_class = size_classes[0].name,
		.memory_bytes = size_classes[0].memory_bytes,
		.cpus = 1,
		.disk_bytes = 1,
		.starting_ms = 60000,
		.max_ms = 3600000};
	CLEANUP(tx) struct tx tx = {0};
	struct run_made made;

	assert_true(db_begin(web, 1, &tx, &err));
	assert_true(run_delegate(web, &in, &made, &err));
	assert_true(db_commit(&tx, &err));
	return made;
}

static void ended_well(const struct run_made *run, bool from_pool)
{
	rig_wait(run, "done", 60000);
	assert_int_equal(testdb_i64("SELECT (pooled_at IS NOT NULL)::int FROM boxes WHERE id = %ld",
				 (long)run->box_id),
		from_pool);
	assert_true(is_claimed(run));
	rig_teardown(run);
}

static void test_claimed_and_refilled(void **state)
{
	struct run_made run;
	int64_t pid;

	(void)state;
	wait_pooled(2);
	pid = pooled_pid();
	run = rig_claim();
	ended_well(&run, true);
	/* the very process that stood in the pool */
	assert_int_equal(testdb_i64("SELECT pid FROM boxes WHERE id = %ld", (long)run.box_id), pid);
	wait_pooled(2);
}

static void test_claim_that_fails_is_a_clone(void **state)
{
	struct run_made run;

	(void)state;
	wait_pooled(2);
	rig_worker_kill(&rig);
	rig_signal(pooled_pid(), SIGKILL);
	run = rig_claim();
	assert_true(is_claimed(&run));
	rig_worker(&rig);
	ended_well(&run, false);
	wait_pooled(2);
}

/* A runner that dies with the box just gone on: nobody knows what was done in it. */
static void test_runner_killed_in_a_claim(void **state)
{
	struct run_made run;

	(void)state;
	wait_pooled(2);
	rig_arm(&rig, "after_resume");
	run = rig_claim();
	ended_well(&run, false);
	assert_false(rig_armed(&rig, "after_resume"));
	wait_pooled(2);
}

static void test_killed_with_boxes_in_the_pool(void **state)
{
	int64_t pid;

	(void)state;
	wait_pooled(2);
	/* their worker: the next one has them */
	pid = pooled_pid();
	rig_worker_kill(&rig);
	rig_worker(&rig);
	(void)usleep(2500000);
	wait_pooled(2);
	assert_int_equal(pooled_pid(), pid);
	/* a shim: its box goes, and another comes */
	rig_signal(pid, SIGKILL);
	for (int i = 0; i < 1500 && pooled_pid() == pid; i++)
		(void)usleep(20000);
	assert_int_not_equal(pooled_pid(), pid);
	wait_pooled(2);
	/* a runner that dies with the box made and paused: it is made again on its row */
	rig_arm(&rig, "pool_after_pause");
	rig_signal(pooled_pid(), SIGKILL);
	for (int i = 0; i < 1500 && rig_armed(&rig, "pool_after_pause"); i++)
		(void)usleep(20000);
	assert_false(rig_armed(&rig, "pool_after_pause"));
	wait_pooled(2);
}

/* A slot of the pool's is given to who finds none; and what is left after all is nothing. */
static void test_slots_and_an_end(void **state)
{
	const char *const slots =
		"SELECT count(*) FROM boxes WHERE state NOT IN ('gone', 'failed')";
	struct run_made run;

	(void)state;
	(void)rig_worker_stop(&rig);
	wait_pooled(2);
	assert_int_equal(testdb_i64("%s", slots), 2);
	rig.extra[0] = "BOX_SLOTS=2";
	rig.box_pool = "BOX_POOL=0";
	testdb_exec("UPDATE boxes SET image_key = 'stale' WHERE state = 'pooled'");
	run = rig_claim();
	assert_false(is_claimed(&run));
	rig_worker(&rig);
	rig_wait(&run, "done", 60000);
	rig_teardown(&run);
	for (int i = 0; i < 1500 && (testdb_i64("%s", slots) || rig_processes(&rig)); i++)
		(void)usleep(20000);
	assert_int_equal(testdb_i64("%s", slots), 0);
	assert_int_equal(rig_processes(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest rows[] = {
		cmocka_unit_test(test_many_claims),
		cmocka_unit_test(test_not_just_any),
	};
	const struct CMUnitTest programs[] = {
		cmocka_unit_test(test_claimed_and_refilled),
		cmocka_unit_test(test_claim_that_fails_is_a_clone),
		cmocka_unit_test(test_runner_killed_in_a_claim),
		cmocka_unit_test(test_killed_with_boxes_in_the_pool),
		cmocka_unit_test(test_slots_and_an_end),
	};
	int failed = cmocka_run_group_tests(rows, NULL, NULL);

	rig.box_pool = "BOX_POOL=2";
	testdb_exec("UPDATE boxes SET state = 'gone' WHERE state NOT IN ('gone', 'failed')");
	if (!rig_start(&rig))
		return failed;
	rig_worker(&rig);
	failed += cmocka_run_group_tests(programs, NULL, NULL);
	rig_end(&rig);
	return failed;
}
