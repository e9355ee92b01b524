/*
 * A run from delegate to its end: answered once, torn down from every state, terminal states final,
 * and the JSON that doors give out of it.
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
	testdb_exec("TRUNCATE jobs, job_history");
	/* their slots are not for the next test */
	testdb_exec("UPDATE boxes SET state = 'gone' WHERE state NOT IN ('gone', 'failed')");
	web = testdb_open("asb_web");
	worker = testdb_open("asb_worker");
	pool = pool_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	db_free(web);
	db_free(worker);
	pool_free(pool);
	return 0;
}

static const char *run_state(const struct run_made *run)
{
	return testdb_text("SELECT state FROM runs WHERE id = %ld", (long)run->run_id);
}

static bool resume(
	const struct run_made *run, int64_t question, const char *message, struct run_resumed *out)
{
	CLEANUP(tx) struct tx tx = {0};

	return db_begin(web, ACCOUNT, &tx, &err) &&
	       run_resume(web, pool, ACCOUNT, run->name, question, message, "operator", "rq2", out,
		       &err) &&
	       db_commit(&tx, &err);
}

static bool tear_down(const struct run_made *run)
{
	CLEANUP(tx) struct tx tx = {0};
	int64_t id;

	return db_begin(web, ACCOUNT, &tx, &err) &&
	       run_teardown(web, ACCOUNT, run->name, "rq3", 60000, &id, &err) &&
	       db_commit(&tx, &err);
}

static void test_delegate_makes_all_rows_or_none(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct turn turn;
	struct box box;

	(void)state;
	assert_true(turn_get(worker, pool, run.turn_id, &turn, &err));
	assert_int_equal(turn.run_id, run.run_id);
	assert_int_equal(turn.log_id, run.log_id);
	assert_int_equal(turn.state, TURN_QUEUED);
	assert_string_equal(turn.source, "none");
	assert_true(box_get(worker, pool, run.box_id, &box, &err));
	assert_int_equal(box.state, BOX_CREATING);
	assert_int_equal(box.slot, -1);
	assert_string_equal(run_state(&run), "queued");
	{
		CLEANUP(tx) struct tx tx = {0};
		struct run_new in = {.account_id = ACCOUNT,
			.task = "x",
			.title = "x",
			.agent = "script",
			.created_by = "operator",
			.runtime = "qemu",
			.image = "base",
			.size_class = "huge",
			.memory_bytes = 1,
			.cpus = 1,
			.disk_bytes = 1};
		struct run_made out;

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_false(run_delegate(web, &in, &out, &err));
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs"), 1);
}

static void test_upload_belongs_to_one_run(void **state)
{
	const struct blob_new in = {ACCOUNT, BLOB_UPLOAD, "tree.tar", 0, 0, 1 << 20, 0};
	struct run_new run = {.account_id = ACCOUNT,
		.task = "x",
		.title = "x",
		.agent = "script",
		.created_by = "operator",
		.runtime = "qemu",
		.image = "base",
		.size_class = "s",
		.memory_bytes = 1,
		.cpus = 1,
		.disk_bytes = 1};
	struct blob_made blob;
	struct run_made out;

	(void)state;
	assert_true(blob_put(web, &in, "tar", 3, &blob, &err));
	run.upload = blob.name;
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(run_delegate(web, &run, &out, &err));
		assert_true(db_commit(&tx, &err));
	}
	assert_string_equal(
		testdb_text("SELECT source FROM runs WHERE id = %ld", (long)out.run_id), "upload");
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_false(run_delegate(web, &run, &out, &err));
		assert_string_equal(err.reason, "upload_used");
		run.upload = "blob-unknown";
		assert_false(run_delegate(web, &run, &out, &err));
		assert_int_equal(err.code, ERR_NOT_FOUND);
	}
}

static void test_answered_once_and_goes_on(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct run_resumed first, second;
	struct job *job;
	struct turn turn;
	struct question q;
	int64_t id;

	(void)state;
	assert_false(resume(&run, 0, "before there is a box", &first));
	assert_string_equal(err.reason, "not_waiting");
	job = fixture_running(worker, pool, &run);
	assert_false(resume(&run, 0, "early", &first));
	assert_string_equal(err.reason, "not_waiting");
	id = fixture_asked(worker, &run, job, "q1");
	assert_string_equal(run_state(&run), "waiting");
	assert_true(resume(&run, id, "left \"or\" {right}", &first));
	assert_int_equal(first.n, 2);
	assert_string_equal(run_state(&run), "queued");
	assert_false(resume(&run, id, "right", &second));
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(err.reason, "answered");
	assert_string_equal(second.answer, "left \"or\" {right}");
	assert_string_equal(second.answered_by, "operator");
	assert_false(resume(&run, 0, "right", &second));
	assert_string_equal(err.reason, "answered");
	assert_false(resume(&run, 999999, "right", &second));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_true(question_get(worker, pool, id, &q, &err));
	assert_string_equal(q.answer, "left \"or\" {right}");
	assert_true(turn_get(worker, pool, first.turn_id, &turn, &err));
	assert_int_equal(turn.question_id, id);
	assert_true(turn.exec_id > 0); /* the same exec goes on */
	job = fixture_claim(worker, pool);
	assert_int_equal(job->turn_id, first.turn_id);
	assert_false(resume(&(struct run_made){.name = "run-none"}, 0, "x", &second));
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_two_answers_at_once(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_running(worker, pool, &run);
	int64_t id = fixture_asked(worker, &run, job, "q1");
	int status, won = 0, lost = 0;

	(void)state;
	for (int i = 0; i < 6; i++)
		if (!fork()) {
			struct run_resumed out;

			web = testdb_open("asb_web");
			if (resume(&run, id, "me", &out))
				_exit(10);
			_exit(!strcmp(err.reason, "answered") && out.answer ? 11 : 12);
		}
	for (int i = 0; i < 6; i++) {
		assert_true(wait(&status) > 0);
		won += WEXITSTATUS(status) == 10;
		lost += WEXITSTATUS(status) == 11;
	}
	assert_int_equal(won, 1);
	assert_int_equal(lost, 5);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM turns WHERE run_id = %ld", (long)run.run_id), 2);
}

/* The destroy job of a box as a worker does it. */
static void destroy(const struct run_made *run)
{
	struct job *job;
	int64_t stopped;

	do {
		job = fixture_claim(worker, pool);
	} while (strcmp(job->kind, "destroy") != 0);
	assert_int_equal(job->box_id, run->box_id);
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(worker, 0, &tx, &err));
		assert_true(job_drop_box(worker, &job->fence, run->box_id, "stopped", &err));
		assert_true(turn_stop_box(worker, &job->fence, run->box_id, TURN_STOPPED,
			REASON_OPERATOR, &stopped, &err));
		assert_true(exec_stop_box(worker, &job->fence, run->box_id, "operator", &err));
		assert_true(
			box_move(worker, &job->fence, run->box_id, BOX_GONE, "operator", 0, &err));
		assert_true(job_finish(worker, &job->fence, "done", &err));
		assert_true(db_commit(&tx, &err));
	}
}

enum place { QUEUED, STARTING, RUNNING, WAITING, RESUMED, ENDED, PLACES };

static void reach(enum place place, struct run_made *run, int i)
{
	const struct turn_end end = {.state = TURN_DONE, .reason = REASON_OK, .exited = true};
	struct run_resumed out;
	struct job *job;
	char ref[16];

	*run = fixture_run(web, ACCOUNT);
	if (place == QUEUED)
		return;
	if (place == STARTING) {
		job = fixture_claim(worker, pool);
		assert_true(turn_start(worker, &job->fence, run->turn_id, 1000, &err));
		return;
	}
	job = fixture_running(worker, pool, run);
	(void)snprintf(ref, sizeof(ref), "q%d", i);
	if (place == WAITING || place == RESUMED)
		(void)fixture_asked(worker, run, job, ref);
	if (place == RESUMED)
		assert_true(resume(run, 0, "go", &out));
	if (place == ENDED) {
		assert_true(turn_end(worker, &job->fence, run->turn_id, &end, &err));
		assert_true(job_finish(worker, &job->fence, "done", &err));
	}
}

static void test_torn_down_from_every_state_ten_times(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		for (enum place place = QUEUED; place < PLACES; place++) {
			struct run_made run;

			reach(place, &run, i);
			assert_true(tear_down(&run));
			assert_true(tear_down(&run)); /* twice is fine */
			assert_string_equal(testdb_text("SELECT state FROM boxes WHERE id = %ld",
						    (long)run.box_id),
				"destroying");
			destroy(&run);
			assert_true(tear_down(&run)); /* also when it is gone */
			assert_int_equal(testdb_i64("SELECT count(*) FROM jobs"), 0);
			assert_string_equal(run_state(&run), place == ENDED ? "done" : "stopped");
			assert_string_equal(testdb_text("SELECT state FROM boxes WHERE id = %ld",
						    (long)run.box_id),
				"gone");
			assert_int_equal(
				testdb_i64("SELECT count(*) FROM execs WHERE box_id = %ld AND state"
					   " IN ('queued', 'running')",
					(long)run.box_id),
				0);
		}
}

static void test_the_old_runner_is_harmless_after_a_teardown(void **state)
{
	const struct turn_end end = {.state = TURN_DONE, .reason = REASON_OK, .exited = true};
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_running(worker, pool, &run);

	(void)state;
	assert_true(tear_down(&run));
	destroy(&run);
	assert_false(turn_end(worker, &job->fence, run.turn_id, &end, &err));
	assert_true(is_fence_lost(&err));
	assert_false(box_move(worker, &job->fence, run.box_id, BOX_DESTROYING, NULL, 0, &err));
	assert_true(is_fence_lost(&err));
	assert_string_equal(run_state(&run), "stopped");
}

static void test_ends_are_final_whoever_asks(void **state)
{
	static const char *const ends[] = {"asked", "done", "failed", "stopped", "lost"};
	char code[6];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct run_made run = fixture_run(web, ACCOUNT);
		char sql[200];

		testdb_exec(
			"UPDATE turns SET state = '%s' WHERE id = %ld", ends[i], (long)run.turn_id);
		testdb_exec("UPDATE boxes SET state = 'gone' WHERE id = %ld", (long)run.box_id);
		(void)snprintf(sql, sizeof(sql),
			"UPDATE turns SET state = 'running' WHERE id = %ld", (long)run.turn_id);
		assert_int_equal(testdb_try(TESTDB_SUPER, 0, sql, code), -1);
		assert_string_equal(code, "AS409");
		(void)snprintf(sql, sizeof(sql), "UPDATE boxes SET state = 'ready' WHERE id = %ld",
			(long)run.box_id);
		assert_int_equal(testdb_try(TESTDB_SUPER, 0, sql, code), -1);
		assert_string_equal(code, "AS409");
		/* other columns of an ended turn may still be filled in */
		(void)snprintf(sql, sizeof(sql), "UPDATE turns SET detail = 'x' WHERE id = %ld",
			(long)run.turn_id);
		assert_int_equal(testdb_try(TESTDB_SUPER, 0, sql, code), 1);
	}
}

static void test_slots(void **state)
{
	int64_t slots[3], again;
	struct job *jobs[3];
	struct run_made runs[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		runs[i] = fixture_run(web, ACCOUNT);
		jobs[i] = fixture_claim(worker, pool);
	}
	assert_true(box_assign_slot(
		worker, &jobs[0]->fence, runs[0].box_id, "host1", 2, &slots[0], &err));
	assert_true(box_assign_slot(
		worker, &jobs[1]->fence, runs[1].box_id, "host1", 2, &slots[1], &err));
	assert_int_equal(slots[0], 0);
	assert_int_equal(slots[1], 1);
	assert_true(
		box_assign_slot(worker, &jobs[1]->fence, runs[1].box_id, "host1", 2, &again, &err));
	assert_int_equal(again, 1);
	assert_false(box_assign_slot(
		worker, &jobs[2]->fence, runs[2].box_id, "host1", 2, &slots[2], &err));
	assert_int_equal(err.code, ERR_LIMITED);
	assert_true(box_move(
		worker, &jobs[0]->fence, runs[0].box_id, BOX_FAILED, "provision", 0, &err));
	assert_true(box_assign_slot(
		worker, &jobs[2]->fence, runs[2].box_id, "host1", 2, &slots[2], &err));
	assert_int_equal(slots[2], 0);
	assert_false(
		box_assign_slot(worker, &jobs[2]->fence, runs[2].box_id, "host2", 2, &again, &err));
	assert_string_equal(err.reason, "state");
}

static void test_exec_in_a_box(void **state)
{
	const struct exec_new in = {.argv = "[\"true\"]", .stdin_data = "a\0b", .stdin_size = 3};
	const struct exec_end end = {.state = EXEC_DONE, .exited = true, .exit_code = 3};
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
	assert_false(exec_finish(worker, &job->fence, a.id, &end, &err));
	assert_string_equal(err.reason, "state");
	assert_string_equal(testdb_text("SELECT exec_json(%ld)->>'exit_code'", (long)a.id), "3");
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
	assert_true(tear_down(&run));
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
		T(test_delegate_makes_all_rows_or_none),
		T(test_upload_belongs_to_one_run),
		T(test_answered_once_and_goes_on),
		T(test_two_answers_at_once),
		T(test_torn_down_from_every_state_ten_times),
		T(test_the_old_runner_is_harmless_after_a_teardown),
		T(test_ends_are_final_whoever_asks),
		T(test_slots),
		T(test_exec_in_a_box),
		T(test_json_of_a_run),
		T(test_feed_is_in_order_of_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
