/*
 * A VM host end to end with real programs: asb-worker, asb-runner, asb-spawn, asb-shim and asb-boxd
 * (as a plain process), against a real PostgreSQL.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "db.h"
#include "exec.h"
#include "rig.h"
#include "testdb.h"
#include "text.h"

static struct rig rig;

static const char *turn_text(const struct run_made *run, const char *column)
{
	return testdb_text("SELECT %s::text FROM turns WHERE run_id = %ld ORDER BY n DESC LIMIT 1",
		column, (long)run->run_id);
}

static void box_gone(const struct run_made *run)
{
	for (int i = 0; i < 500; i++) {
		const char *s =
			testdb_text("SELECT state FROM boxes WHERE id = %ld", (long)run->box_id);

		if (!strcmp(s, "gone") || !strcmp(s, "failed"))
			return;
		(void)usleep(20000);
	}
	fail_msg("box is still there");
}

/* The job that took the box down is there for a moment after the box is gone. */
static void end_of(const struct run_made *run)
{
	rig_teardown(run);
	box_gone(run);
	for (int i = 0; i < 3000 && testdb_i64("SELECT count(*) FROM jobs WHERE box_id = %ld",
					    (long)run->box_id);
		i++)
		(void)usleep(20000);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM jobs WHERE box_id = %ld", (long)run->box_id), 0);
}

static void script_runs(void **state)
{
	struct run_made run =
		rig_run("echo hello; echo wrong >&2; sleep 0.2; printf 'no newline'; exit 3\n");
	size_t n;
	char *log;

	(void)state;
	rig_wait(&run, "done|failed|lost", 20000);
	if (getenv("RIG_LOG"))
		print_message("detail: %s\n", turn_text(&run, "detail"));
	assert_string_equal(turn_text(&run, "state"), "failed");
	assert_string_equal(turn_text(&run, "reason"), "agent_error");
	assert_int_equal(
		testdb_i64("SELECT exit_code FROM runs WHERE id = %ld", (long)run.run_id), 3);
	log = rig_log(&run, 1, &n);
	assert_string_equal(log, "hello\nno newline");
	free(log);
	log = rig_log(&run, 2, &n);
	assert_string_equal(log, "wrong\n");
	free(log);
	assert_string_equal(testdb_text("SELECT string_agg(kind, ' ' ORDER BY seq) FROM (SELECT "
					"DISTINCT ON (kind) kind, seq FROM trace"
					" WHERE run_id = %ld ORDER BY kind, seq) t WHERE kind IN "
					"('system', 'tool', 'result')",
				    (long)run.run_id),
		"system tool result");
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM trace WHERE run_id = %ld AND kind = 'error'",
			(long)run.run_id),
		1);
	/* gap-free from 1 */
	assert_int_equal(testdb_i64("SELECT max(seq) - count(*) FROM trace WHERE run_id = %ld",
				 (long)run.run_id),
		0);
	end_of(&run);
}

static int64_t turn_count(const struct run_made *run, const char *state)
{
	return testdb_i64("SELECT count(*) FROM turns WHERE run_id = %ld AND state = '%s'",
		(long)run->run_id, state);
}

static void exits_are_exact(void **state)
{
	struct run_made run = rig_run("exit 0\n");

	(void)state;
	rig_wait(&run, "done|failed|lost", 20000);
	assert_string_equal(
		turn_text(&run, "state || ' ' || reason || ' ' || exit_code"), "done ok 0");
	end_of(&run);
	run = rig_run("kill -9 $$\n");
	rig_wait(&run, "done|failed|lost", 20000);
	assert_string_equal(
		turn_text(&run, "state || ' ' || reason || ' ' || exit_code || ' ' || signal"),
		"failed agent_error 137 9");
	end_of(&run);
}

static int64_t beats(void)
{
	struct stat st;

	return stat("/workspace/beat", &st) ? 0 : st.st_size;
}

static void question_freezes_and_answer_thaws(void **state)
{
	char task[1024];
	struct run_made run;
	int64_t before;
	char *log;
	size_t n;

	(void)state;
	(void)snprintf(task, sizeof(task),
		"setsid bash -c 'while :; do echo x >>/workspace/beat; sleep 0.05; done' &\n"
		"sleep 0.5; echo before; a=$(%s 'Which colour?'); echo \"got $a\"; sleep 0.5; exit "
		"7\n",
		rig_ask());
	run = rig_run(task);
	rig_wait(&run, "waiting|done|failed", 20000);
	assert_string_equal(
		testdb_text("SELECT text FROM questions WHERE run_id = %ld", (long)run.run_id),
		"Which colour?");
	assert_int_equal(turn_count(&run, "asked"), 1);
	before = beats();
	assert_true(before > 0);
	(void)usleep(700000);
	assert_int_equal(beats(), before);
	rig_answer(&run, "blue\n");
	rig_wait(&run, "done|failed", 20000);
	assert_string_equal(turn_text(&run, "state || ' ' || n || ' ' || exit_code"), "failed 2 7");
	assert_true(beats() > before);
	log = rig_log(&run, 0, &n);
	assert_string_equal(log, "before\ngot blue\n");
	free(log);
	assert_string_equal(
		testdb_text(
			"SELECT string_agg(kind, ' ' ORDER BY seq) FROM trace WHERE run_id = %ld",
			(long)run.run_id),
		"system tool say question answer say result");
	end_of(&run);
}

static void box_lost_is_said(void **state)
{
	struct run_made run = rig_run("echo up; sleep 60\n");

	(void)state;
	rig_wait(&run, "running|failed", 20000);
	rig_signal(testdb_i64("SELECT pid FROM boxes WHERE id = %ld", (long)run.box_id), SIGKILL);
	rig_wait(&run, "done|failed|lost", 60000);
	assert_string_equal(turn_text(&run, "state || ' ' || reason"), "failed box_lost");
	box_gone(&run);
}

static void waiting_box_lost_ends_the_run(void **state)
{
	char task[512];
	struct run_made run;

	(void)state;
	(void)snprintf(task, sizeof(task), "%s 'Well?'\n", rig_ask());
	run = rig_run(task);
	rig_wait(&run, "waiting|failed", 20000);
	rig_signal(testdb_i64("SELECT pid FROM boxes WHERE id = %ld", (long)run.box_id), SIGKILL);
	rig_wait(&run, "done|failed|lost", 60000);
	assert_string_equal(
		turn_text(&run, "state || ' ' || reason || ' ' || n"), "failed box_lost 2");
	box_gone(&run);
}

static void exec_in_a_box(void **state)
{
	struct run_made run = rig_run("exit 0\n");
	struct db *web = testdb_open("asb_web");
	struct exec_new in = {.argv = "[\"/bin/sh\",\"-c\",\"cat; echo err >&2; exit 4\"]",
		.stdin_data = "abc\n",
		.stdin_size = 4,
		.cwd = "/workspace"};
	struct exec_made made;
	struct err err;

	(void)state;
	{
		CLEANUP(tx) struct tx tx = {0};

		if (!db_begin(web, 1, &tx, &err) ||
			!exec_submit(web, 1, run.name, &in, "rq", &made, &err) ||
			!db_commit(&tx, &err))
			fail_msg("exec: %s", err.msg);
	}
	db_free(web);
	for (int i = 0; i < 500 && testdb_i64("SELECT count(*) FROM execs WHERE id = %ld AND state "
					      "IN ('queued', 'running')",
					   (long)made.id);
		i++)
		(void)usleep(20000);
	assert_string_equal(
		testdb_text("SELECT state || ' ' || exit_code FROM execs WHERE id = %ld",
			(long)made.id),
		"done 4");
	assert_string_equal(testdb_text("SELECT convert_from(string_agg(body, ''::bytea ORDER BY "
					"seq), 'UTF8') FROM log_chunk"
					" WHERE log_id = %ld AND stream = 1",
				    (long)made.log_id),
		"abc\n");
	end_of(&run);
}

static void teardown_from_each_state(void **state)
{
	char task[512];
	struct run_made run;

	(void)state;
	/* queued: no worker takes it before it is torn down */
	rig_worker_kill(&rig);
	run = rig_run("sleep 60\n");
	rig_teardown(&run);
	rig_worker(&rig);
	rig_wait(&run, "stopped", 20000);
	box_gone(&run);
	/* running, twice */
	run = rig_run("sleep 60\n");
	rig_wait(&run, "running", 20000);
	rig_teardown(&run);
	rig_teardown(&run);
	rig_wait(&run, "stopped", 20000);
	assert_string_equal(turn_text(&run, "reason"), "operator");
	end_of(&run);
	/* waiting */
	(void)snprintf(task, sizeof(task), "%s 'Well?'\n", rig_ask());
	run = rig_run(task);
	rig_wait(&run, "waiting|failed", 20000);
	rig_teardown(&run);
	rig_wait(&run, "stopped", 20000);
	end_of(&run);
	assert_int_equal(rig_processes(&rig), 0);
}

static void log_is_whole(const struct run_made *run, const char *want, size_t want_n)
{
	size_t n;
	char *log = rig_log(run, 0, &n);

	assert_int_equal(n, want_n);
	assert_memory_equal(log, want, want_n);
	free(log);
	assert_int_equal(testdb_i64("SELECT max(seq) - count(*) FROM log_chunk WHERE log_id = %ld",
				 (long)run->log_id),
		0);
	assert_int_equal(testdb_i64("SELECT count(*) FROM (SELECT src_off - lag(src_off + src_len, "
				    "1, 0::bigint) OVER (ORDER BY seq) AS gap"
				    " FROM log_chunk WHERE log_id = %ld) t WHERE gap <> 0",
				 (long)run->log_id),
		0);
	assert_int_equal(testdb_i64("SELECT max(seq) - count(*) FROM trace WHERE run_id = %ld",
				 (long)run->run_id),
		0);
}

static const char counting[] =
	"for i in $(seq 1 300); do echo \"line $i of the counting task\"; sleep 0.02; done\n";

static void counted(const struct run_made *run)
{
	CLEANUP(buf) struct buf want = BUF_INIT(1u << 20);

	for (int i = 1; i <= 300; i++)
		(void)buf_addf(&want, "line %d of the counting task\n", i);
	assert_string_equal(turn_text(run, "state || ' ' || reason"), "done ok");
	log_is_whole(run, want.data, want.len);
}

/* Kills runners at random moments: the log is byte-equal, nothing is lost, nothing is doubled. */
static void runners_killed_mid_output(void **state)
{
	struct run_made run = rig_run(counting);
	unsigned seed = 20261129;

	(void)state;
	rig_wait(&run, "running", 20000);
	for (int i = 0; i < 20; i++) {
		seed = seed * 1664525u + 1013904223u;
		(void)usleep(100000 + (seed >> 8) % 300000);
		(void)rig_kill_runners(&rig);
	}
	rig_wait(&run, "done|failed|lost", 60000);
	counted(&run);
	end_of(&run);
}

static void worker_killed_second_adopts(void **state)
{
	struct run_made run = rig_run(counting);

	(void)state;
	rig_wait(&run, "running", 20000);
	(void)usleep(1000000);
	rig_worker_kill(&rig);
	(void)usleep(500000);
	rig_worker(&rig);
	(void)usleep(1500000);
	/* and an orderly stop in between: runners detach, the next worker goes on */
	assert_int_equal(rig_worker_stop(&rig), 0);
	assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE state = 'running'"), 0);
	rig_worker(&rig);
	rig_wait(&run, "done|failed|lost", 60000);
	counted(&run);
	end_of(&run);
}

static void killed_at_each_point(void **state)
{
	static const char *const points[] = {
		"after_claim",
		"after_slot",
		"after_spawn",
		"after_attach",
		"after_ready",
		"after_exec_start",
		"before_flush_commit",
		"after_flush_commit",
		"before_ack",
		"before_finish",
		"after_finish",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct run_made run;

		rig_arm(&rig, points[i]);
		run = rig_run("echo one; sleep 0.3; echo two\n");
		rig_wait(&run, "done|failed|lost", 30000);
		if (rig_armed(&rig, points[i]))
			fail_msg("%s was not reached", points[i]);
		if (strcmp(turn_text(&run, "state"), "done"))
			fail_msg("%s: %s", points[i],
				turn_text(&run,
					"state || ' ' || reason || ' ' || coalesce(detail, '')"));
		log_is_whole(&run, "one\ntwo\n", 8);
		end_of(&run);
	}
	assert_int_equal(rig_processes(&rig), 0);
}

static void killed_while_destroying(void **state)
{
	static const char *const points[] = {
		"destroy_after_mark", "destroy_after_save", "destroy_after_kill"};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct run_made run = rig_run("sleep 60\n");

		rig_wait(&run, "running", 20000);
		rig_arm(&rig, points[i]);
		end_of(&run);
		assert_false(rig_armed(&rig, points[i]));
		assert_string_equal(turn_text(&run, "state"), "stopped");
	}
	assert_int_equal(rig_processes(&rig), 0);
}

static void killed_after_the_question(void **state)
{
	char task[512];
	struct run_made run;

	(void)state;
	(void)snprintf(task, sizeof(task), "a=$(%s 'Well?'); echo \"$a\"\n", rig_ask());
	rig_arm(&rig, "after_question");
	run = rig_run(task);
	rig_wait(&run, "waiting|failed", 20000);
	rig_arm(&rig, "after_attach"); /* the runner of the answer dies before it gives it */
	rig_answer(&run, "yes");
	rig_wait(&run, "done|failed", 20000);
	log_is_whole(&run, "yes\n", 4);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM questions WHERE run_id = %ld", (long)run.run_id),
		1);
	end_of(&run);
}

static void time_runs_out(void **state)
{
	struct run_made run;

	(void)state;
	assert_int_equal(rig_worker_stop(&rig), 0);
	rig.extra[0] = "ASB_RUNNING_MS=1500";
	rig_worker(&rig);
	run = rig_run("echo up; setsid sleep 61 & sleep 62\n");
	rig_wait(&run, "done|failed|lost", 30000); /* of the sixty */
	assert_string_equal(turn_text(&run, "state || ' ' || reason"), "failed timeout");
	end_of(&run);
	(void)rig_worker_stop(&rig);
	rig.extra[0] = NULL;
	rig_worker(&rig);
}

static void burst_of_lines(void **state)
{
	struct run_made run = rig_run("seq 1 200000\n");
	CLEANUP(buf) struct buf want = BUF_INIT(4u << 20);
	int64_t began = time_boot_ms();

	(void)state;
	rig_wait(&run, "done|failed|lost", 30000);
	print_message("200,000 lines in %lld ms, chunks %lld\n",
		(long long)(time_boot_ms() - began),
		(long long)testdb_i64(
			"SELECT count(*) FROM log_chunk WHERE log_id = %ld", (long)run.log_id));
	for (int i = 1; i <= 200000; i++)
		(void)buf_addf(&want, "%d\n", i);
	log_is_whole(&run, want.data, want.len);
	assert_int_equal(
		testdb_i64("SELECT max(first_line + nlines) FROM log_chunk WHERE log_id = %ld",
			(long)run.log_id),
		200000);
	end_of(&run);
}

/* Whatever the test before left behind: a worker runs. */
static int worker_ensure(void **state)
{
	(void)state;
	if (rig.worker.pid <= 1)
		rig_worker(&rig);
	return 0;
}

static int group_setup(void **state)
{
	(void)state;
	if (!rig_start(&rig))
		return -1;
	rig_worker(&rig);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	rig_end(&rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(script_runs, worker_ensure),
		cmocka_unit_test_setup(exits_are_exact, worker_ensure),
		cmocka_unit_test_setup(question_freezes_and_answer_thaws, worker_ensure),
		cmocka_unit_test_setup(exec_in_a_box, worker_ensure),
		cmocka_unit_test_setup(burst_of_lines, worker_ensure),
		cmocka_unit_test_setup(box_lost_is_said, worker_ensure),
		cmocka_unit_test_setup(waiting_box_lost_ends_the_run, worker_ensure),
		cmocka_unit_test_setup(teardown_from_each_state, worker_ensure),
		cmocka_unit_test_setup(killed_at_each_point, worker_ensure),
		cmocka_unit_test_setup(killed_while_destroying, worker_ensure),
		cmocka_unit_test_setup(killed_after_the_question, worker_ensure),
		cmocka_unit_test_setup(runners_killed_mid_output, worker_ensure),
		cmocka_unit_test_setup(worker_killed_second_adopts, worker_ensure),
		cmocka_unit_test_setup(time_runs_out, worker_ensure),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
