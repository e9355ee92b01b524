/*
 * Ends that come from inside a box, and work that is saved more than once: as test_worker, with
 * real programs and boxes that are plain processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <signal.h>

#include <cmocka.h>

#include "rig.h"
#include "testdb.h"
#include "text.h"

static struct rig rig;

static int64_t files_of(const struct run_made *run)
{
	return testdb_i64("SELECT count(*) FROM blobs WHERE run_id = %ld AND complete AND kind = "
			  "'artifact'",
		(long)run->run_id);
}

/* rows: "TABLE WHERE ... COLUMN" whose COLUMN is compared with id */
static void wait_rows(const char *rows, int64_t id, bool any)
{
	for (int i = 0; i < 500; i++) {
		if (any == (testdb_i64("SELECT count(*) FROM %s = %ld", rows, (long)id) > 0))
			return;
		(void)usleep(20000);
	}
	fail_msg("%s rows in time: %s", any ? "no" : "still", rows);
}

static void end_of(const struct run_made *run)
{
	rig_teardown(run);
	wait_rows("boxes WHERE state NOT IN ('gone', 'failed') AND id", run->box_id, false);
	wait_rows("jobs WHERE box_id", run->box_id, false);
}

/* The box's asb-boxd: the one child of its shim. */
static int64_t boxd_of(const struct run_made *run)
{
	int64_t shim = testdb_i64("SELECT pid FROM boxes WHERE id = %ld", (long)run->box_id);

	for (int64_t pid = shim + 1; pid < shim + 2000; pid++) {
		char path[40], line[512], *p;
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
		f = fopen(path, "re");
		if (!f)
			continue;
		p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		(void)fclose(f);
		if (p && strlen(p) > 4 && strtoll(p + 4, NULL, 10) == shim)
			return pid;
	}
	fail_msg("no asb-boxd");
	return -1;
}

/* F07: boxd killed. Said within 5 s, what it had written is kept, the box is gone. */
static void boxd_killed(void **state)
{
	struct run_made run = rig_run("echo up; sleep 60\n");
	size_t n;
	char *log;

	(void)state;
	rig_wait(&run, "running|failed", 20000);
	wait_rows("log_chunk WHERE log_id", run.log_id, true);
	rig_signal(boxd_of(&run), SIGKILL);
	rig_wait(&run, "done|failed|lost", 5000);
	assert_string_equal(testdb_text("SELECT state || ' ' || reason FROM runs WHERE id = %ld",
				    (long)run.run_id),
		"failed box_lost");
	log = rig_log(&run, 0, &n);
	assert_string_equal(log, "up\n");
	free(log);
	end_of(&run);
	assert_int_equal(rig_processes(&rig), 0);
}

/* The end of each turn saves the work: at a question too, and again when the run goes on. */
static void work_is_saved_at_a_question(void **state)
{
	char task[512];
	struct run_made run;

	(void)state;
	(void)snprintf(task, sizeof(task),
		"echo one >/artifacts/a; echo two >/artifacts/b; %s 'Well?'; echo three "
		">/artifacts/a\n",
		rig_ask());
	rig_arm(&rig, "after_question");
	rig_arm(&rig, "asked_before_finish");
	run = rig_run(task);
	rig_wait(&run, "waiting|failed", 20000);
	wait_rows("jobs WHERE run_id", run.run_id, false);
	assert_false(rig_armed(&rig, "after_question"));
	assert_false(rig_armed(&rig, "asked_before_finish"));
	/* each once, although it was saved by two runners */
	assert_int_equal(files_of(&run), 2);
	rig_arm(&rig, "before_finish");
	rig_answer(&run, "yes");
	rig_wait(&run, "done|failed", 20000);
	assert_false(rig_armed(&rig, "before_finish"));
	/* a file of the same name takes the place of the one before */
	assert_string_equal(
		testdb_text("SELECT string_agg(b.file_name || ' ' || t.n || ' ' || "
			    "convert_from(c.body, 'UTF8'), ',' ORDER BY b.file_name)"
			    " FROM blobs b JOIN turns t ON t.id = b.turn_id JOIN blob_chunks c ON "
			    "c.blob_id = b.id WHERE b.run_id = %ld",
			(long)run.run_id),
		"a 2 three\n,b 1 two\n");
	end_of(&run);
	assert_int_equal(files_of(&run), 2);
}

/* A box process without a live row is ended without the worker waiting for it. */
static void orphan_is_ended(void **state)
{
	struct run_made run = rig_run("exit 0\n");

	(void)state;
	rig_wait(&run, "done|failed", 20000);
	assert_true(rig_processes(&rig) > 0);
	testdb_exec("UPDATE boxes SET state = 'failed', gone_at = now() WHERE id = %ld",
		(long)run.box_id);
	/* only what is older than 10 s is taken for one */
	for (int i = 0; i < 300 && rig_processes(&rig); i++)
		(void)usleep(100000);
	assert_int_equal(rig_processes(&rig), 0);
}

/* After a restart of the host nothing runs any more, whatever the rows say. */
static void reboot_loses_the_runs(void **state)
{
	char task[512];
	struct run_made running, waiting;

	(void)state;
	running = rig_run("sleep 60\n");
	(void)snprintf(task, sizeof(task), "%s 'Well?'\n", rig_ask());
	rig_wait(&running, "running", 20000);
	waiting = rig_run(task);
	rig_wait(&waiting, "waiting|failed", 20000);
	rig_worker_kill(&rig);
	testdb_exec("UPDATE hosts SET boot_id = 'of the boot before'");
	rig_worker(&rig);
	rig_wait(&running, "lost", 20000);
	rig_wait(&waiting, "lost", 20000);
	assert_string_equal(
		testdb_text("SELECT string_agg(state || ' ' || reason || ' ' || detail, "
			    "', ' ORDER BY id) FROM turns WHERE state = 'lost'"),
		"lost host_reboot the host was restarted, lost host_reboot the host was restarted");
	wait_rows("boxes WHERE state NOT IN ('gone', 'failed') AND id", running.box_id, false);
	wait_rows("boxes WHERE state NOT IN ('gone', 'failed') AND id", waiting.box_id, false);
	assert_int_equal(testdb_i64("SELECT count(*) FROM boxes WHERE state = 'failed' AND reason ="
				    " 'host_reboot'"),
		2);
	wait_rows("jobs WHERE box_id", running.box_id, false);
	/* the same boot again loses nothing */
	running = rig_run("sleep 2\n");
	rig_wait(&running, "running", 20000);
	rig_worker_kill(&rig);
	rig_worker(&rig);
	rig_wait(&running, "done|failed|lost", 20000);
	assert_string_equal(
		testdb_text("SELECT state FROM runs WHERE id = %ld", (long)running.run_id), "done");
	end_of(&running);
}

/* A turn that was claimed when its box's time was over has a time of its own from then on: nobody
 * takes the box away while it is made. */
static void claimed_late(void **state)
{
	struct run_made run;

	(void)state;
	rig_worker_kill(&rig);
	run = rig_run("echo in time\n");
	testdb_exec("UPDATE boxes SET deadline_at = now() - interval '1 s' WHERE id = %ld",
		(long)run.box_id);
	rig_worker(&rig);
	rig_wait(&run, "done|failed|lost", 60000);
	assert_string_equal(
		testdb_text("SELECT state || coalesce(' ' || reason, '') FROM turns WHERE "
			    "run_id = %ld",
			(long)run.run_id),
		"done ok");
	end_of(&run);
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
		cmocka_unit_test(boxd_killed),
		cmocka_unit_test(work_is_saved_at_a_question),
		cmocka_unit_test(reboot_loses_the_runs),
		cmocka_unit_test(claimed_late),
		cmocka_unit_test(orphan_is_ended),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
