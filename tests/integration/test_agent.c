/*
 * An agent that is talked to, with real programs and a box that is a plain process: fake-claude
 * speaks Claude Code's stream. What it is told and says is there once, whoever dies when.
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

#include "cleanup.h"
#include "rig.h"
#include "testdb.h"

#define ENDS "done|failed|lost|stopped"

static struct rig rig;

static const char *turns(const struct run_made *run, const char *column)
{
	return testdb_text(
		"SELECT coalesce(string_agg(coalesce((%s)::text, '-'), ' ' ORDER BY n), '') FROM "
		"turns WHERE run_id = %ld",
		column, (long)run->run_id);
}

/* The trace as "kind:text kind:text", of these kinds. */
static const char *trace(const struct run_made *run, const char *kinds)
{
	return testdb_text("SELECT coalesce(string_agg(kind || ':' || text, '|' ORDER BY seq), '') "
			   "FROM trace WHERE run_id = %ld AND kind IN (%s)",
		(long)run->run_id, kinds);
}

static int64_t count(const struct run_made *run, const char *what)
{
	return testdb_i64("SELECT count(*) FROM %s AND run_id = %ld", what, (long)run->run_id);
}

static void ended(const struct run_made *run)
{
	rig_wait(run, ENDS, 40000);
	/* rows of the trace have no gaps, and what the log holds is what was said */
	assert_int_equal(testdb_i64("SELECT max(seq) - count(*) FROM trace WHERE run_id = %ld",
				 (long)run->run_id),
		0);
	rig_teardown(run);
	for (int i = 0; i < 500; i++) {
		if (!testdb_i64("SELECT count(*) FROM jobs WHERE box_id = %ld", (long)run->box_id))
			return;
		(void)usleep(20000);
	}
	fail_msg("the box is still there");
}

static void a_task_is_done(void **state)
{
	struct run_made run = rig_delegate("claude",
		"think first\nsay hello\nrun echo \"it's\" >/workspace/f; cat /workspace/f\n"
		"run exit 3\nsay bye");
	CLEANUP(free) char *log = NULL;
	size_t n;

	(void)state;
	ended(&run);
	assert_string_equal(
		turns(&run, "state || reason || exit_code || coalesce(detail, '')"), "doneok0");
	assert_string_equal(trace(&run, "'say', 'thinking', 'result', 'error'"),
		"thinking:first|say:hello|result:it's\n|result:Exit code 3\n|say:bye|result:exit "
		"0");
	assert_string_equal(turns(&run, "usage"),
		"{\"cost_usd\": 0.25000000, \"input_tokens\": 100, \"output_tokens\": 10, "
		"\"cache_read_tokens\": 5, \"cache_write_tokens\": 1}");
	assert_int_equal(count(&run, "trace t WHERE kind = 'tool' AND ref LIKE 'toolu%' AND EXISTS "
				     "(SELECT FROM trace r WHERE r.run_id = t.run_id AND r.ref = "
				     "t.ref AND r.kind = 'result' AND r.data ? 'duration_ms')"),
		2);
	assert_int_equal(testdb_i64("SELECT count(*) FROM runs WHERE id = %ld AND agent_session ~ "
				    "'^[0-9a-f]{8}-[0-9a-f]{4}-4'",
				 (long)run.run_id),
		1);
	log = rig_log(&run, 1, &n);
	assert_non_null(strstr(log, "\"thinking\":\"first\""));
	assert_int_equal(log[n - 1], '\n');
}

static int64_t beats(void)
{
	struct stat st;

	return stat("/workspace/beat", &st) ? 0 : st.st_size;
}

static void a_question_is_answered(void **state)
{
	struct run_made run = rig_delegate("claude",
		"run setsid bash -c 'while :; do echo x >>/workspace/beat; sleep 0.05; done' "
		">/dev/null 2>&1 &\nrun sleep 0.4\nask Which colour?\nsay never");
	int64_t before;

	(void)state;
	rig_wait(&run, "waiting", 30000);
	assert_string_equal(
		testdb_text("SELECT text FROM questions WHERE run_id = %ld", (long)run.run_id),
		"Which colour?");
	before = beats();
	assert_true(before > 0);
	(void)usleep(600000);
	assert_int_equal(beats(), before);
	rig_answer(&run, "say it is\nsay \"blue\"");
	ended(&run);
	assert_true(beats() > before);
	assert_string_equal(turns(&run, "state"), "asked done");
	assert_string_equal(turns(&run, "usage->>'input_tokens'"), "100 100");
	/* the same process, told once */
	assert_int_equal(count(&run, "execs WHERE true"), 1);
	assert_string_equal(trace(&run, "'say', 'question', 'answer'"),
		"question:Which colour?|answer:say it is\nsay \"blue\"|say:it is|say:\"blue\"");
}

/* It does not stop after its question: the box freezes it, and its conversation is taken up anew.
 */
static void a_question_in_the_middle(void **state)
{
	struct run_made run = rig_delegate("claude", "say one\nask Which?\ngoon\nhang");

	(void)state;
	rig_wait(&run, "waiting", 30000);
	rig_arm(&rig, "after_asker_end");
	rig_answer(&run, "say two");
	ended(&run);
	assert_false(rig_armed(&rig, "after_asker_end"));
	assert_string_equal(turns(&run, "state || coalesce(reason, '')"), "asked doneok");
	assert_int_equal(count(&run, "execs WHERE true"), 2);
	assert_string_equal(trace(&run, "'say', 'answer'"), "say:one|answer:say two|say:two");
}

static void ends_have_words(void **state)
{
	static const struct {
		const char *task, *end, *detail;
	} cases[] = {
		{"fail 401", "failed agent_error", "the model's host refuses the site's key (401)"},
		{"fail 429", "failed agent_error",
			"the model's host limits how much may be asked (429)"},
		{"fail 529", "failed agent_error", "the model's host is overloaded (529)"},
		{"fail 500", "failed agent_error", "the model's host failed (500)"},
		{"fail 400", "failed agent_error", "the model's host refuses the request (400)"},
		{"fail", "failed agent_error", "the connection to the model's host broke off"},
		{"exit 3", "failed agent_error", "the agent ended before it was through"},
		{"hang", "failed timeout", "the agent stalled"},
		{"linger", "done ok", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_made run = rig_delegate("claude", cases[i].task);

		ended(&run);
		assert_string_equal(turns(&run, "state || ' ' || reason"), cases[i].end);
		if (strncmp(turns(&run, "coalesce(detail, '')"), cases[i].detail,
			    strlen(cases[i].detail)))
			fail_msg("%s: %s", cases[i].task, turns(&run, "detail"));
	}
}

static void work_beside_the_main_loop(void **state)
{
	struct run_made run = rig_delegate("claude", "say one\nbackground two");

	(void)state;
	ended(&run);
	assert_string_equal(turns(&run, "state"), "done");
	assert_string_equal(trace(&run, "'say'"), "say:one|say:two");
	assert_string_equal(turns(&run, "usage->>'cost_usd'"), "0.50000000");
}

static void wait_said(const struct run_made *run, const char *text)
{
	for (int i = 0; i < 1000; i++) {
		if (strstr(trace(run, "'say'"), text))
			return;
		(void)usleep(20000);
	}
	fail_msg("it never said %s", text);
}

/* Until the first half of a line is committed. */
static void wait_half(const struct run_made *run)
{
	for (int i = 0; i < 1000; i++) {
		if (testdb_i64("SELECT count(*) FROM log_chunk WHERE log_id = %ld AND right("
			       "convert_from(body, 'UTF8'), 1) <> chr(10)",
			    (long)run->log_id) > 0)
			return;
		(void)usleep(10000);
	}
	fail_msg("no half line came");
}

static void a_runner_dies_within_a_line(void **state)
{
	struct run_made run = rig_delegate("claude", "say one\nhalf\nsay two");
	CLEANUP(free) char *log = NULL;
	size_t n;

	(void)state;
	wait_said(&run, "one");
	wait_half(&run);
	assert_true(rig_kill_runners(&rig) > 0);
	ended(&run);
	assert_string_equal(turns(&run, "state"), "done");
	assert_string_equal(trace(&run, "'say'"), "say:one|say:both halves|say:two");
	log = rig_log(&run, 1, &n);
	assert_non_null(strstr(log, "\"text\":\"both halves\"}]}}\n"));
}

/* Killed once at each point of a run that asks: told once, said once, spent once. */
static void runners_die(void **state)
{
	static const char *const points[] = {"after_exec_start", "before_flush_commit",
		"after_flush_commit", "before_ack", "after_question", "asked_before_finish",
		"before_finish"};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct run_made run;

		rig_arm(&rig, points[i]);
		run = rig_delegate("claude", "say one\nrun echo x >>/workspace/once\nask Which?");
		rig_wait(&run, "waiting|" ENDS, 40000);
		/* the job that asked is over before it is answered, whoever ends it */
		rig_answer(&run, "say two");
		ended(&run);
		if (rig_armed(&rig, points[i]))
			fail_msg("%s was never reached", points[i]);
		if (strcmp(trace(&run, "'say', 'question', 'answer'"),
			    "say:one|question:Which?|answer:say two|say:two"))
			fail_msg("%s: %s", points[i], trace(&run, "'say', 'question', 'answer'"));
		assert_string_equal(turns(&run, "state || coalesce(reason, '')"), "asked doneok");
		assert_string_equal(turns(&run, "usage->>'input_tokens'"), "100 100");
		assert_int_equal(count(&run, "execs WHERE true"), 1);
	}
	{
		struct stat st;

		assert_int_equal(stat("/workspace/once", &st), 0);
		assert_int_equal(st.st_size, 2 * (off_t)(sizeof(points) / sizeof(points[0])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_is_done),
		cmocka_unit_test(a_question_is_answered),
		cmocka_unit_test(a_question_in_the_middle),
		cmocka_unit_test(ends_have_words),
		cmocka_unit_test(work_beside_the_main_loop),
		cmocka_unit_test(a_runner_dies_within_a_line),
		cmocka_unit_test(runners_die),
	};
	int failed;

	if (!rig_start(&rig))
		return 1;
	rig_fake_claude();
	rig.extra[0] = "ASB_STALL_MS=5000";
	rig.extra[1] = "ASB_LEAVE_MS=1000";
	rig_worker(&rig);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_end(&rig);
	return failed;
}
