/*
 * What doors give out of a run's rows: slots of a host, execs and their results, the JSON of both,
 * and the feed in the order of commits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sys/wait.h>

#include <cmocka.h>
#include <unistd.h>

#include "blob.h"
#include "box.h"
#include "cleanup.h"
#include "exec.h"
#include "fixture.h"
#include "pool.h"
#include "queries.h"
#include "question.h"
#include "testdb.h"
#include "turn.h"

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

static void test_slots(void **state)
{
	int slots[3], again;
	struct job *jobs[3];
	struct run_made runs[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		runs[i] = fixture_run(web, ACCOUNT);
		jobs[i] = fixture_claim(worker, pool);
	}
	assert_true(box_assign_slot(
		worker, &jobs[0]->fence, runs[0].box_id, "host1", "boot", 2, &slots[0], &err));
	assert_true(box_assign_slot(
		worker, &jobs[1]->fence, runs[1].box_id, "host1", "boot", 2, &slots[1], &err));
	assert_int_equal(slots[0], 0);
	assert_int_equal(slots[1], 1);
	assert_true(box_assign_slot(
		worker, &jobs[1]->fence, runs[1].box_id, "host1", "boot", 2, &again, &err));
	assert_int_equal(again, 1);
	assert_false(box_assign_slot(
		worker, &jobs[2]->fence, runs[2].box_id, "host1", "boot", 2, &slots[2], &err));
	assert_int_equal(err.code, ERR_LIMITED);
	assert_true(box_move(
		worker, &jobs[0]->fence, runs[0].box_id, BOX_FAILED, "provision", NULL, 0, &err));
	assert_true(box_assign_slot(
		worker, &jobs[2]->fence, runs[2].box_id, "host1", "boot", 2, &slots[2], &err));
	assert_int_equal(slots[2], 0);
	assert_false(box_assign_slot(
		worker, &jobs[2]->fence, runs[2].box_id, "host2", "boot", 2, &again, &err));
	assert_string_equal(err.reason, "state");
}

static void test_exec_in_a_box(void **state)
{
	const struct exec_new in = {.argv = "[\"true\"]", .stdin_data = "a\0b", .stdin_size = 3};
	const struct exec_end end = {.state = EXEC_DONE, .exited = true, .exit_code = 3};
	const struct exec_end failed = {.state = EXEC_FAILED};
	struct run_made run = fixture_run(web, ACCOUNT);
	struct exec_made a, b;
	struct exec exec;
	struct job *job;

	(void)state;
	(void)fixture_running(worker, pool, &run);
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(exec_submit(web, ACCOUNT, run.name, &in, NULL, &a, &err));
		assert_true(exec_submit(web, ACCOUNT, run.name, &in, NULL, &b, &err));
		assert_true(db_commit(&tx, &err));
	}
	assert_int_equal(b.stream, a.stream + 1);
	job = fixture_claim(worker, pool);
	assert_int_equal(job->exec_id, a.id);
	assert_true(exec_get(worker, pool, a.id, &exec, &err));
	assert_string_equal(exec.lane, job->lane);
	assert_int_equal(exec.stdin_size, 3);
	assert_memory_equal(exec.stdin_data, "a\0b", 3);
	assert_true(exec_begin(worker, &job->fence, a.id, &err));
	assert_true(exec_finish(worker, &job->fence, a.id, &end, &err));
	/* the same again is a commit whose answer was lost; another end is not */
	assert_true(exec_finish(worker, &job->fence, a.id, &end, &err));
	assert_false(exec_finish(worker, &job->fence, a.id, &failed, &err));
	assert_string_equal(err.reason, "state");
	assert_false(exec_begin(worker, &job->fence, a.id, &err));
	assert_string_equal(err.reason, "state");
	testdb_exec("UPDATE execs SET epoch = epoch - 1 WHERE id = %ld", (long)a.id);
	assert_false(exec_finish(worker, &job->fence, a.id, &end, &err));
	assert_string_equal(err.reason, "state");
	assert_string_equal(testdb_text("SELECT exec_json(%ld)->>'exit_code'", (long)a.id), "3");
}

/* All of it or nothing: the exec's end, its job's, and the word to who waits. */
static void test_exec_ends_with_its_job(void **state)
{
	const struct exec_new in = {.argv = "[\"true\"]"};
	const struct exec_end end = {.state = EXEC_DONE, .exited = true, .exit_code = 4};
	CLEANUP(db) struct db *listener = testdb_open("asb_live");
	struct run_made run = fixture_run(web, ACCOUNT);
	const char *channel, *payload;
	struct exec_made made;
	struct job *job;

	(void)state;
	(void)fixture_running(worker, pool, &run);
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(exec_submit(web, ACCOUNT, run.name, &in, NULL, &made, &err));
		assert_true(db_commit(&tx, &err));
	}
	job = fixture_claim(worker, pool);
	testdb_exec("UPDATE execs SET state = 'failed' WHERE id = %ld", (long)made.id);
	assert_false(exec_finish_job(worker, &job->fence, made.id, &end, &err));
	assert_string_equal(err.reason, "state");
	assert_string_equal(
		testdb_text("SELECT count(*) FROM jobs WHERE id = %ld", (long)job->fence.job_id),
		"1");
	testdb_exec("ALTER TABLE execs DISABLE TRIGGER USER; UPDATE execs SET state = 'running'"
		    " WHERE id = %ld; ALTER TABLE execs ENABLE TRIGGER USER",
		(long)made.id);
	assert_true(db_exec(listener, "LISTEN feed", &err));
	assert_true(exec_finish_job(worker, &job->fence, made.id, &end, &err));
	assert_true(db_exec(listener, "SELECT 1", &err));
	assert_true(db_notification(listener, pool, &channel, &payload));
	assert_string_equal(payload, pool_printf(pool, "x%ld", (long)made.id));
	assert_string_equal(
		testdb_text("SELECT state || (SELECT outcome FROM job_history WHERE id"
			    " = %ld) || (SELECT count(*) FROM jobs WHERE id = %ld)"
			    " FROM execs WHERE id = %ld",
			(long)job->fence.job_id, (long)job->fence.job_id, (long)made.id),
		"donedone0");
	assert_false(exec_finish_job(worker, &job->fence, made.id, &end, &err));
	assert_true(is_fence_lost(&err));
}

/* One that ended before anybody said that it ran; and more output than is read for the answer. */
static void test_json_of_an_exec(void **state)
{
	const struct exec_new in = {.argv = "[\"true\"]"};
	const struct exec_end end = {
		.state = EXEC_DONE, .exited = true, .exit_code = 0, .ran_ms = 1500};
	struct run_made run = fixture_run(web, ACCOUNT);
	struct exec_made made;
	struct job *job;

	(void)state;
	(void)fixture_running(worker, pool, &run);
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(exec_submit(web, ACCOUNT, run.name, &in, NULL, &made, &err));
		assert_true(db_commit(&tx, &err));
	}
	job = fixture_claim(worker, pool);
	assert_true(exec_finish(worker, &job->fence, made.id, &end, &err));
	assert_string_equal(
		testdb_text("SELECT exec_json(%ld)->>'duration_ms'", (long)made.id), "1500");
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, %ld, n, 1 + n %% 2, 0, 0, n - 1, 1, 'x'"
		    " FROM generate_series(1, 1024) n",
		(long)made.log_id);
	assert_string_equal(testdb_text("SELECT length(j->>'stdout') || ' ' ||"
					" length(j->>'stderr') || ' ' || (j->>'truncated')"
					" FROM exec_json(%ld) j",
				    (long)made.id),
		"512 512 false");
	testdb_exec("INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines,"
		    " src_off, src_len, body) SELECT 1, %ld, n, 1, 0, 0, n - 1, 1, 'x'"
		    " FROM generate_series(1025, 1100) n",
		(long)made.log_id);
	assert_string_equal(testdb_text("SELECT length(j->>'stdout') || ' ' || (j->>'truncated')"
					" FROM exec_json(%ld) j",
				    (long)made.id),
		"512 true");
}

static void test_json_of_a_run(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_running(worker, pool, &run);
	CLEANUP(result) struct result res = {0};

	(void)state;
	(void)fixture_asked(worker, &run, job, "q1");
	assert_string_equal(
		testdb_text("SELECT run_json(%ld)->>'text'", (long)run.run_id), "run:waiting");
	assert_string_equal(
		testdb_text("SELECT run_json(%ld)->'question'->>'text'", (long)run.run_id),
		"which way?");
	assert_string_equal(testdb_text("SELECT run_json(%ld)->>'patch'", (long)run.run_id), "");
	assert_true(fixture_teardown(web, &run, &err));
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(db_query(
			web, Q_READ_RUN, ARGS(db_text(run.name), db_i64(ACCOUNT)), &res, &err));
		assert_int_equal(res.rows, 1);
		assert_non_null(strstr(result_text(&res, 0, 0), run.name));
		assert_true(db_query(
			web, Q_READ_WATCH, ARGS(db_text(run.name), db_i64(ACCOUNT)), &res, &err));
		assert_non_null(strstr(result_text(&res, 0, 0), "\"trace\": []"));
		assert_true(db_query(web, Q_READ_FLEET, ARGS(db_i64(ACCOUNT)), &res, &err));
		assert_non_null(strstr(result_text(&res, 0, 0), run.name));
		assert_true(db_query(web, Q_READ_MONITOR, ARGS(db_i64(ACCOUNT)), &res, &err));
		assert_non_null(strstr(result_text(&res, 0, 0), run.box_name));
		assert_true(db_query(
			web, Q_READ_RUN, ARGS(db_text("run-none"), db_i64(ACCOUNT)), &res, &err));
		assert_int_equal(res.rows, 0);
	}
}

static void test_feed_is_in_order_of_commits(void **state)
{
	CLEANUP(db) struct db *listener = testdb_open("asb_live");
	struct run_made run;
	const char *channel, *payload;

	(void)state;
	testdb_exec("TRUNCATE feed");
	assert_true(db_exec(listener, "LISTEN feed", &err));
	run = fixture_run(web, ACCOUNT);
	(void)fixture_asked(worker, &run, fixture_running(worker, pool, &run), "q1");
	assert_string_equal(
		testdb_text("SELECT string_agg(kind || coalesce(':' || (data->>'state'), ''), ' '"
			    " ORDER BY id) FROM feed"),
		"box:creating run:queued run:starting box:ready run:running question run:waiting");
	while (!db_notification(listener, pool, &channel, &payload))
		(void)usleep(1000);
	assert_true(payload[0] == 'b' || payload[0] == 'r');
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_slots),
		T(test_exec_in_a_box),
		T(test_exec_ends_with_its_job),
		T(test_json_of_an_exec),
		T(test_json_of_a_run),
		T(test_feed_is_in_order_of_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
