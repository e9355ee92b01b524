/*
 * Sandboxes with the real programs and boxes that are plain processes: made once whoever dies, run
 * in, swept when nobody uses them, destroyed from whatever state.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "db.h"
#include "exec.h"
#include "fixture.h"
#include "rig.h"
#include "testdb.h"

static struct rig rig;
static struct db *web;

static struct sandbox_made make(const char *language, const char *packages)
{
	const struct sandbox_new in = {
		.account_id = ACCOUNT,
		.language = language,
		.packages = packages,
		.runtime = "process",
		.image = "base",
		.size_class = "s",
		.memory_bytes = INT64_C(1) << 30,
		.cpus = 1,
		.disk_bytes = INT64_C(4) << 30,
		.creating_ms = 60000,
		.max_ms = 3600000,
		.idle_ms = 1800000,
		.request_id = "rq-test",
	};
	CLEANUP(tx) struct tx tx = {0};
	struct sandbox_made made;
	struct err err = {0};

	if (!db_begin(web, ACCOUNT, &tx, &err) || !sandbox_create(web, &in, &made, &err) ||
		!db_commit(&tx, &err))
		fail_msg("create: %s", err.msg);
	return made;
}

static int64_t run_for(
	const struct sandbox_made *box, const char *code, bool background, int64_t timeout_ms)
{
	const struct sandbox_run in = {.account_id = ACCOUNT,
		.sandbox = box->name,
		.code = code,
		.files = "{\"beside\":\"from a file\"}",
		.background = background,
		.timeout_ms = timeout_ms,
		.request_id = "rq-test"};
	CLEANUP(tx) struct tx tx = {0};
	struct exec_made made;
	struct err err = {0};

	if (!db_begin(web, ACCOUNT, &tx, &err) || !sandbox_run(web, &in, &made, &err) ||
		!db_commit(&tx, &err))
		fail_msg("run: %s", err.msg);
	return made.id;
}

static int64_t run(const struct sandbox_made *box, const char *code, bool background)
{
	return run_for(box, code, background, background ? 0 : 30000);
}

static void destroy(const struct sandbox_made *box)
{
	CLEANUP(tx) struct tx tx = {0};
	struct err err = {0};
	bool known, gone;

	if (!db_begin(web, ACCOUNT, &tx, &err) ||
		!sandbox_destroy(web, ACCOUNT, box->name, "rq", 60000, &known, &gone, &err) ||
		!db_commit(&tx, &err))
		fail_msg("destroy: %s", err.msg);
}

/* Until what `value` says of the row is `want`; rows: "TABLE WHERE COLUMN". */
static void wait_text(const char *value, const char *rows, int64_t id, const char *want)
{
	for (int i = 0; i < 1500; i++) {
		if (!strcmp(testdb_text("SELECT %s FROM %s = %ld", value, rows, (long)id), want))
			return;
		(void)usleep(20000);
	}
	fail_msg("%s: %s, not %s", value,
		testdb_text("SELECT %s FROM %s = %ld", value, rows, (long)id), want);
}

static void box_becomes(const struct sandbox_made *box, const char *want)
{
	wait_text("state || ' ' || coalesce(reason, '-')", "boxes WHERE id", box->box_id, want);
	if (strncmp(want, "ready", 5))
		wait_text("count(*)", "jobs WHERE box_id", box->box_id, "0");
}

static const char *said(int64_t exec, const char *key)
{
	wait_text("state IN ('done', 'failed')", "execs WHERE id", exec, "t");
	return testdb_text("SELECT evidence_json(%ld) ->> '%s'", (long)exec, key);
}

/* The whole evidence is printed where one part of it is another. */
static void says(int64_t exec, const char *key, const char *want)
{
	if (strcmp(said(exec, key), want))
		fail_msg("%s is not \"%s\" in %s", key, want,
			testdb_text("SELECT evidence_json(%ld)", (long)exec));
}

static void made_run_and_destroyed(void **state)
{
	struct sandbox_made box = make("python", NULL);
	int64_t exec =
		run(&box, "print(open('beside').read()); open('kept', 'w').write('x')", false);

	(void)state;
	says(exec, "stdout", "from a file\n");
	says(exec, "success", "true");
	exec = run(&box, "import os; print(sorted(f for f in os.listdir('.') if f[0] != '.')); 1/0",
		false);
	says(exec, "stdout", "['beside', 'kept']\n");
	assert_non_null(strstr(said(exec, "stderr"), "ZeroDivisionError"));
	says(exec, "exit_code", "1");
	box_becomes(&box, "ready -");
	exec = run(&box, "import time; time.sleep(600)", true);
	wait_text("state", "execs WHERE id", exec, "running");
	destroy(&box);
	box_becomes(&box, "gone operator");
	says(exec, "reason", "operator");
	assert_int_equal(rig_processes(&rig), 0);
}

/* Nobody says of a run that its time-out ended it: then its sandbox is over, and it has not ended
 * well. A time-out that was proved (the control) leaves the sandbox to its caller. */
static void unproved_end_is_the_sandboxs(void **state)
{
	struct sandbox_made box = make("python", NULL);
	int64_t exec = run_for(&box, "import time; time.sleep(600)", false, 500);

	(void)state;
	says(exec, "timed_out", "true");
	box_becomes(&box, "ready -");
	exec = run_for(&box, "import time; time.sleep(600)", false, 2000);
	wait_text("state", "execs WHERE id", exec, "running");
	rig_signal(testdb_i64("SELECT pid FROM boxes WHERE id = %ld", (long)box.box_id), SIGSTOP);
	/* twice 15 s: for its own clock, and for the kill */
	for (int i = 0; i < 600 && testdb_i64("SELECT count(*) FROM execs WHERE id = %ld AND state "
					      "= 'running'",
					   (long)exec);
		i++)
		(void)usleep(100000);
	says(exec, "success", "false");
	box_becomes(&box, "gone timeout");
	assert_int_equal(rig_processes(&rig), 0);
}

/* Whoever makes it dies; it is made once. */
static void made_whoever_dies(void **state)
{
	static const char *const points[] = {
		"after_slot", "after_spawn", "after_attach", "after_ready"};

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct sandbox_made box;
		int64_t exec;

		rig_arm(&rig, points[i]);
		box = make("bash", NULL);
		exec = run(&box, "cat beside", false);
		says(exec, "stdout", "from a file");
		assert_false(rig_armed(&rig, points[i]));
		box_becomes(&box, "ready -");
		/* the job ends after the box is ready, by whoever has it then */
		wait_text("count(*)", "jobs WHERE box_id", box.box_id, "0");
		destroy(&box);
		box_becomes(&box, "gone operator");
	}
	assert_int_equal(rig_processes(&rig), 0);
}

static void idle_goes(void **state)
{
	struct sandbox_made box = make("bash", NULL);
	int64_t exec = run(&box, "sleep 8; echo slept", false);

	(void)state;
	box_becomes(&box, "ready -");
	testdb_exec("UPDATE boxes SET idle_ms = 1000 WHERE id = %ld", (long)box.box_id);
	/* the sweep looks every 5 s: it has looked while this ran */
	says(exec, "stdout", "slept\n");
	box_becomes(&box, "gone idle");
	assert_int_equal(rig_processes(&rig), 0);
}

/* Before it was made, and while what makes it holds it. */
static void destroyed_while_made(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct sandbox_made box = make("bash", NULL);

		(void)usleep((useconds_t)i * 30000);
		destroy(&box);
		box_becomes(&box, "gone operator");
	}
	assert_int_equal(rig_processes(&rig), 0);
}

static int start(void **state)
{
	(void)state;
	if (!rig_start(&rig))
		return -1;
	rig_worker(&rig);
	web = testdb_open("asb_web");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	db_free(web);
	rig_end(&rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_run_and_destroyed),
		cmocka_unit_test(unproved_end_is_the_sandboxs),
		cmocka_unit_test(made_whoever_dies),
		cmocka_unit_test(idle_goes),
		cmocka_unit_test(destroyed_while_made),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
