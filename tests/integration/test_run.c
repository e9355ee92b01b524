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
	fixture_open(&web, &worker, &pool);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(web, worker, pool);
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
	assert_true(fixture_blob(web, &in, "tar", 3, &blob, &err));
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
	assert_string_equal(testdb_text("SELECT answer FROM questions WHERE id = %ld", (long)id),
		"left \"or\" {right}");
	assert_true(turn_get(worker, pool, first.turn_id, &turn, &err));
	assert_int_equal(turn.question_id, id);
	assert_string_equal(turn.question_ref, "q1");
	assert_string_equal(turn.answer, "left \"or\" {right}");
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

static const struct box_ending torn_down = {TURN_STOPPED, REASON_OPERATOR, "torn down", "operator"};

/* The destroy job of a box as a worker does it. */
static void destroy(const struct run_made *run)
{
	struct job *job;

	do {
		job = fixture_claim(worker, pool);
	} while (strcmp(job->kind, "destroy") != 0);
	assert_int_equal(job->box_id, run->box_id);
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(worker, 0, &tx, &err));
		assert_true(
			box_destroying(worker, &job->fence, run->box_id, &torn_down, 60000, &err));
		assert_true(box_move(
			worker, &job->fence, run->box_id, BOX_GONE, "operator", NULL, 0, &err));
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
			assert_true(fixture_teardown(web, &run, &err));
			assert_true(fixture_teardown(web, &run, &err)); /* twice is fine */
			assert_string_equal(testdb_text("SELECT state FROM boxes WHERE id = %ld",
						    (long)run.box_id),
				"destroying");
			destroy(&run);
			assert_true(fixture_teardown(web, &run, &err)); /* also when it is gone */
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

/* Somebody runs something in the box in the instant in which its time is up: it must end with the
 * box, or whoever waits for it waits for ever. */
static void test_what_is_begun_while_the_box_ends_ends_too(void **state)
{
	const struct exec_new in = {.argv = "[\"true\"]"};
	struct run_made run = fixture_run(web, ACCOUNT);
	struct exec_made made;
	struct job *job;
	bool added;
	pid_t pid;
	int status;

	(void)state;
	(void)fixture_running(worker, pool, &run);
	assert_true(job_add_destroy(worker, run.box_id, "max_duration", NULL, &added, &err));
	job = fixture_claim(worker, pool);
	assert_string_equal(job->kind, "destroy");
	{
		CLEANUP(tx) struct tx tx = {0};

		assert_true(db_begin(web, ACCOUNT, &tx, &err));
		assert_true(exec_submit(web, ACCOUNT, run.name, &in, "rq3", &made, &err));
		pid = fork();
		if (!pid) {
			CLEANUP(db) struct db *db = testdb_open("asb_worker");
			CLEANUP(tx) struct tx end = {0};

			_exit(db_begin(db, 0, &end, &err) &&
						box_destroying(db, &job->fence, run.box_id,
							&torn_down, 60000, &err) &&
						db_commit(&end, &err)
					? 0
					: 1);
		}
		while (!testdb_i64(
			"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
			" AND datname = current_database()"))
			(void)usleep(10000);
		assert_true(db_commit(&tx, &err));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(
		testdb_text("SELECT state FROM execs WHERE id = %ld", (long)made.id), "failed");
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE kind <> 'destroy'"), 0);
}

static void test_the_old_runner_is_harmless_after_a_teardown(void **state)
{
	const struct turn_end end = {.state = TURN_DONE, .reason = REASON_OK, .exited = true};
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_running(worker, pool, &run);

	(void)state;
	assert_true(fixture_teardown(web, &run, &err));
	destroy(&run);
	assert_false(turn_end(worker, &job->fence, run.turn_id, &end, &err));
	assert_true(is_fence_lost(&err));
	assert_false(
		box_move(worker, &job->fence, run.box_id, BOX_DESTROYING, NULL, NULL, 0, &err));
	assert_true(is_fence_lost(&err));
	assert_string_equal(run_state(&run), "stopped");
	assert_string_equal(
		testdb_text("SELECT detail FROM turns WHERE id = %ld", (long)run.turn_id),
		"torn down");
}

static void test_a_repeated_commit_finds_what_it_wrote(void **state)
{
	const struct turn_end asked = {.state = TURN_ASKED};
	const struct turn_end done = {.state = TURN_DONE, .reason = REASON_OK, .exited = true};
	const struct box_proof proof = {
		.boot_id = "gboot", .kernel = "6.1", .machine = "{}", .probe = "{}"};
	const struct box_proof other = {
		.boot_id = "another", .kernel = "6.1", .machine = "{}", .probe = "{}"};
	struct run_made run = fixture_run(web, ACCOUNT);
	const struct fence f = fixture_running(worker, pool, &run)->fence;
	struct exec again = {.argv = "[]", .cwd = "/", .log_id = run.log_id};
	int64_t id, same;

	(void)state;
	id = testdb_i64("SELECT exec_id FROM turns WHERE id = %ld", (long)run.turn_id);
	again.stream = testdb_i64("SELECT stream FROM execs WHERE id = %ld", (long)id);
	assert_true(exec_open(worker, &f, run.box_id, run.run_id, "exec-again", &again, &err));
	assert_int_equal(again.id, id);
	assert_true(turn_running(worker, &f, run.turn_id, id, 3600000, &err));
	assert_true(box_ready(worker, &f, run.box_id, &proof, &err));
	assert_false(box_ready(worker, &f, run.box_id, &other, &err));
	assert_string_equal(err.reason, "state");
	assert_true(question_open(worker, &f, run.run_id, run.turn_id, "q", "?", &id, &err));
	assert_true(question_open(worker, &f, run.run_id, run.turn_id, "q", "?", &same, &err));
	assert_int_equal(same, id);
	assert_true(turn_end(worker, &f, run.turn_id, &asked, &err));
	assert_true(turn_end(worker, &f, run.turn_id, &asked, &err));
	assert_false(turn_end(worker, &f, run.turn_id, &done, &err));
	assert_string_equal(err.reason, "state");
	assert_string_equal(run_state(&run), "waiting");
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

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_delegate_makes_all_rows_or_none),
		T(test_upload_belongs_to_one_run),
		T(test_answered_once_and_goes_on),
		T(test_two_answers_at_once),
		T(test_torn_down_from_every_state_ten_times),
		T(test_what_is_begun_while_the_box_ends_ends_too),
		T(test_the_old_runner_is_harmless_after_a_teardown),
		T(test_a_repeated_commit_finds_what_it_wrote),
		T(test_ends_are_final_whoever_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
