/*
 * The queue: nothing is claimed twice, leases, fences, and who wins a race with the reaper.
 */
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "db.h"
#include "fixture.h"
#include "pool.h"
#include "testdb.h"

static const char *const kinds[] = {"turn", "exec", "destroy"};
static struct db *web, *worker;
static struct pool *pool;
static struct err err;

static int setup(void **state)
{
	(void)state;
	fixture_open(&web, &worker, &pool);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(web, worker, pool);
	return 0;
}

static struct job *claim(const char *host)
{
	struct job *job = NULL;

	assert_true(job_claim(worker, pool, host, "w1", kinds, 3, 15000, &job, &err));
	return job;
}

static void expire(const struct job *job)
{
	testdb_exec("UPDATE jobs SET lease_until = now() - interval '1 s' WHERE id = %ld",
		(long)job->fence.job_id);
}

/* Claims until there is nothing, writing one id a line to fd. */
static void claimer(int fd)
{
	CLEANUP(db) struct db *db = testdb_open("asb_worker");
	char owner[32], line[32];
	struct job *job;

	(void)snprintf(owner, sizeof(owner), "w%d", (int)getpid());
	do {
		CLEANUP(pool) struct pool *p = pool_new();
		int n;

		if (!job_claim(db, p, "host1", owner, kinds, 3, 60000, &job, &err))
			_exit(1);
		if (!job)
			break;
		n = snprintf(line, sizeof(line), "%ld\n", (long)job->fence.job_id);
		if (write(fd, line, (size_t)n) != n || !job_finish(db, &job->fence, "done", &err))
			_exit(2);
	} while (true);
}

static void test_eight_claimers_claim_each_once(void **state)
{
	static unsigned char seen[1000];
	CLEANUP(file) FILE *in = NULL;
	int64_t first, claimed = 0;
	char line[32];
	int fds[2], status;

	(void)state;
	testdb_exec("INSERT INTO jobs (account_id, kind, lane) SELECT 1, 'turn', 'drive'"
		    " FROM generate_series(1, 1000)");
	first = testdb_i64("SELECT min(id) FROM jobs");
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			claimer(fds[1]);
			_exit(0);
		}
	}
	(void)close(fds[1]);
	in = fdopen(fds[0], "r");
	while (fgets(line, sizeof(line), in)) {
		int64_t i = strtoll(line, NULL, 10) - first;

		assert_in_range(i, 0, 999);
		assert_int_equal(seen[i]++, 0);
		claimed++;
	}
	for (int i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(claimed, 1000);
	assert_int_equal(testdb_i64("SELECT count(DISTINCT epoch) FROM job_history"), 1000);
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs"), 0);
}

static void test_one_running_per_box_and_lane(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *a, *b;

	(void)state;
	testdb_exec("INSERT INTO jobs (account_id, kind, lane, box_id) VALUES (1, 'exec', 'drive',"
		    " %ld), (1, 'exec', 'exec:9', %ld)",
		(long)run.box_id, (long)run.box_id);
	testdb_exec("UPDATE boxes SET state = 'ready' WHERE id = %ld", (long)run.box_id);
	a = claim("host1");
	assert_string_equal(a->lane, "drive");
	assert_int_equal(a->run_id, run.run_id);
	assert_string_equal(a->request_id, "rq1");
	b = claim("host1");
	assert_string_equal(b->lane, "exec:9");
	assert_true(b->fence.epoch > a->fence.epoch);
	assert_null(claim("host1"));
	assert_true(job_finish(worker, &a->fence, "done", &err));
	assert_non_null(claim("host1"));
}

static void test_a_box_belongs_to_the_host_that_claimed_it(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	bool added;

	(void)state;
	assert_non_null(claim("host1"));
	assert_string_equal(
		testdb_text("SELECT host FROM boxes WHERE id = %ld", (long)run.box_id), "host1");
	assert_true(job_add_destroy(worker, run.box_id, "timeout", NULL, &added, &err));
	assert_true(added);
	assert_null(claim("host2"));
	assert_non_null(claim("host1"));
}

static void test_nothing_begins_in_a_box_that_is_to_be_destroyed(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT), other = fixture_run(web, ACCOUNT);
	struct job *job;
	bool added;

	(void)state;
	assert_true(job_add_destroy(worker, run.box_id, "timeout", "rq9", &added, &err));
	assert_true(added);
	assert_true(job_add_destroy(worker, run.box_id, "operator", NULL, &added, &err));
	assert_false(added);
	job = claim("host1");
	assert_string_equal(job->kind, "destroy");
	assert_string_equal(job->payload, "{\"reason\": \"timeout\"}");
	assert_string_equal(job->request_id, "rq9");
	assert_int_equal(job->run_id, run.run_id);
	/* the turn of that box, which came first, waits; the other box's does not */
	assert_int_equal(claim("host1")->box_id, other.box_id);
	assert_null(claim("host1"));
	assert_true(job_drop_box(worker, &job->fence, run.box_id, "failed", &err));
	assert_true(job_finish(worker, &job->fence, "done", &err));
	assert_string_equal(testdb_text("SELECT string_agg(kind || ' ' || outcome, ' ' ORDER BY id)"
					" FROM job_history"),
		"turn failed destroy done");
	testdb_exec("UPDATE boxes SET state = 'gone' WHERE id = %ld", (long)run.box_id);
	assert_true(job_add_destroy(worker, run.box_id, "operator", NULL, &added, &err));
	assert_false(added);
}

/* However long that takes: it holds no runner meanwhile, and who claims is woken when it is over.
 */
static void test_a_process_waits_for_its_box(void **state)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT),
			    other = fixture_sandbox(web, ACCOUNT);
	const char *const only[] = {"exec"};
	CLEANUP(db) struct db *listener = testdb_open("asb_worker");
	const char *channel, *payload;
	struct job *job;

	(void)state;
	testdb_exec("INSERT INTO jobs (account_id, kind, box_id, lane) SELECT 1, 'exec', b, "
		    "'exec:' || b"
		    " FROM unnest(ARRAY[%ld, %ld]) b",
		(long)box.box_id, (long)other.box_id);
	assert_true(job_claim(worker, pool, "host1", "w1", only, 1, 15000, &job, &err));
	assert_null(job);
	assert_true(db_exec(listener, "LISTEN jobs", &err));
	fixture_sandbox_ready(worker, pool, &box);
	while (!db_notification(listener, pool, &channel, &payload))
		(void)usleep(1000);
	assert_true(job_claim(worker, pool, "host1", "w1", only, 1, 15000, &job, &err));
	assert_int_equal(job->box_id, box.box_id);
	assert_true(job_claim(worker, pool, "host1", "w1", only, 1, 15000, &job, &err));
	assert_null(job);
	/* one that will never be ready is its runner's to say */
	testdb_exec("UPDATE boxes SET state = 'failed' WHERE id = %ld", (long)other.box_id);
	assert_true(job_claim(worker, pool, "host1", "w1", only, 1, 15000, &job, &err));
	assert_int_equal(job->box_id, other.box_id);
}

static void test_renew_keeps_what_is_held(void **state)
{
	struct lease held[2] = {{{0, 0}, false}}, *kept;
	struct job *job;
	size_t n;

	(void)state;
	(void)fixture_run(web, ACCOUNT);
	job = claim("host1");
	held[0].fence = job->fence;
	held[1].fence = (struct fence){job->fence.job_id, job->fence.epoch + 1000};
	assert_true(job_renew(worker, pool, "w1", held, 2, 60000, &kept, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(kept[0].fence.epoch, job->fence.epoch);
	assert_false(kept[0].cancelled);
	assert_true(
		testdb_i64("SELECT (lease_until > now() + interval '50 s')::int FROM jobs") == 1);
	/* cancel is seen by the next renewal; by asb_web, who owns the intent */
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(db_exec(web, "UPDATE jobs SET cancel_requested_at = now()", &err));
		assert_true(db_commit(&tx, &err));
	}
	assert_true(job_renew(worker, pool, "w1", held, 1, 60000, &kept, &n, &err));
	assert_true(kept[0].cancelled);
	assert_true(job_renew(worker, pool, "w2", held, 1, 60000, &kept, &n, &err));
	assert_int_equal(n, 0);
}

static void test_an_expired_lease_is_reclaimed_and_the_old_one_harmless(void **state)
{
	struct job *old, *new;
	struct lease held = {{0, 0}, false}, *kept;
	int64_t reaped;
	size_t n;

	(void)state;
	(void)fixture_run(web, ACCOUNT);
	old = claim("host1");
	assert_true(job_reap(worker, &reaped, &err));
	assert_int_equal(reaped, 0);
	expire(old);
	assert_true(job_reap(worker, &reaped, &err));
	assert_int_equal(reaped, 1);
	assert_int_equal(testdb_i64("SELECT attempts FROM jobs"), 0);
	/* queued again: the old lease is dead before anybody claims it */
	assert_false(job_fence(worker, &old->fence, &err));
	new = claim("host1");
	assert_non_null(new);
	assert_int_equal(new->fence.job_id, old->fence.job_id);
	assert_true(new->fence.epoch > old->fence.epoch);
	assert_false(job_finish(worker, &old->fence, "done", &err));
	assert_true(is_fence_lost(&err));
	held.fence = old->fence;
	assert_true(job_renew(worker, pool, "w1", &held, 1, 60000, &kept, &n, &err));
	assert_int_equal(n, 0);
	assert_true(job_finish(worker, &new->fence, "done", &err));
	assert_false(job_finish(worker, &new->fence, "done", &err));
	assert_true(is_fence_lost(&err));
}

/* The reaper does not wait for whoever writes with a lease that has run out: it comes again. */
static void test_a_committed_completion_wins_against_the_reaper(void **state)
{
	CLEANUP(db) struct db *reaper = testdb_open("asb_worker");
	int64_t reaped = -1;
	bool passed_by;
	struct job *job;

	(void)state;
	(void)fixture_run(web, ACCOUNT);
	job = claim("host1");
	expire(job);
	assert_true(db_exec(reaper, "SET lock_timeout = 100", &err));
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(worker, 0, &tx, &err));
		assert_true(job_fence(worker, &job->fence, &err));
		passed_by = job_reap(reaper, &reaped, &err) && !reaped;
		assert_true(job_finish(worker, &job->fence, "done", &err));
		passed_by = passed_by && job_reap(reaper, &reaped, &err) && !reaped;
		assert_true(db_commit(&tx, &err));
	}
	assert_true(passed_by);
	assert_true(job_reap(reaper, &reaped, &err));
	assert_int_equal(reaped, 0);
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs"), 0);
	assert_string_equal(testdb_text("SELECT outcome FROM job_history"), "done");
}

static void test_handed_back_to_wait(void **state)
{
	struct job *job;

	(void)state;
	(void)fixture_run(web, ACCOUNT);
	job = claim("host1");
	assert_true(job_hand_back(worker, &job->fence, 60000, true, &err));
	assert_null(claim("host1")); /* not before run_at */
	testdb_exec("UPDATE jobs SET run_at = now()");
	/* a stale one changes nothing */
	assert_true(job_hand_back(worker, &job->fence, 60000, false, &err));
	assert_string_equal(testdb_text("SELECT host FROM jobs"), "host1");
	job = claim("host1");
	assert_int_equal(job->attempts, 0);
	assert_true(job_hand_back(worker, &job->fence, 0, false, &err));
	assert_string_equal(testdb_text("SELECT coalesce(host, 'any') FROM jobs"), "any");
}

static void test_release_and_take_back(void **state)
{
	struct job *job, *again;
	int64_t n;

	(void)state;
	(void)fixture_run(web, ACCOUNT);
	job = claim("host1");
	assert_true(job_release(worker, "somebody else", &n, &err));
	assert_int_equal(n, 0);
	assert_true(job_release(worker, "w1", &n, &err));
	assert_int_equal(n, 1);
	again = claim("host1");
	assert_true(again->fence.epoch > job->fence.epoch);
	assert_true(job_take_host(worker, "host2", &n, &err));
	assert_int_equal(n, 0);
	assert_true(job_take_host(worker, "host1", &n, &err));
	assert_int_equal(n, 1);
	assert_false(job_load(worker, pool, &again->fence, &job, &err));
	assert_true(is_fence_lost(&err));
	again = claim("host1");
	assert_true(job_load(worker, pool, &again->fence, &job, &err));
	assert_string_equal(job->kind, "turn");
}

static void test_enqueue_wakes_listeners(void **state)
{
	CLEANUP(db) struct db *listener = testdb_open("asb_worker");
	const char *channel, *payload;

	(void)state;
	assert_true(db_exec(listener, "LISTEN jobs", &err));
	(void)fixture_run(web, ACCOUNT);
	while (!db_notification(listener, pool, &channel, &payload))
		(void)usleep(1000);
	assert_string_equal(channel, "jobs");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_eight_claimers_claim_each_once),
		T(test_one_running_per_box_and_lane),
		T(test_a_box_belongs_to_the_host_that_claimed_it),
		T(test_nothing_begins_in_a_box_that_is_to_be_destroyed),
		T(test_a_process_waits_for_its_box),
		T(test_renew_keeps_what_is_held),
		T(test_an_expired_lease_is_reclaimed_and_the_old_one_harmless),
		T(test_a_committed_completion_wins_against_the_reaper),
		T(test_handed_back_to_wait),
		T(test_release_and_take_back),
		T(test_enqueue_wakes_listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
