/*
 * The job `destroy` in this process, with rows and a spawn played by the test: a box is not said to
 * be gone, nor its job done, before asb-spawn has proved it.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "config.h"
#include "fixture.h"
#include "kinds.h"
#include "pool.h"
#include "runner.h"
#include "testdb.h"

static struct db *web, *worker;
static struct pool *pool;
static char dir[32];
static struct sockaddr_un spawn_at;
static struct run_made run;
static struct err err;

static int setup(void **state)
{
	struct job *job;

	(void)state;
	fixture_open(&web, &worker, &pool);
	(void)snprintf(dir, sizeof(dir), "/tmp/asb-destroy.XXXXXX");
	assert_non_null(mkdtemp(dir));
	spawn_at = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(spawn_at.sun_path, sizeof(spawn_at.sun_path), "%s/spawn.sock", dir);
	run = fixture_run(web, ACCOUNT);
	job = fixture_running(worker, pool, &run);
	assert_true(job_hand_back(worker, &job->fence, 0, true, &err));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(spawn_at.sun_path);
	assert_int_equal(rmdir(dir), 0);
	fixture_close(web, worker, pool);
	return 0;
}

/* Answers one request as asb-spawn does when the box is gone. */
static pid_t spawn_start(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char request[512];
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&spawn_at, sizeof(spawn_at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	pid = fork();
	if (!pid) {
		(void)alarm(20);
		fd = accept(fd, NULL, NULL);
		if (recv(fd, request, sizeof(request), 0) <= 0)
			_exit(1);
		_exit(send(fd, "{\"ok\":true}", 11, 0) != 11);
	}
	(void)close(fd);
	return pid;
}

/* Claims the destroy job and does it; the worker wants its runner gone as soon as that waits. */
static bool destroy(void)
{
	static const char term[] = "{\"term\":true}";
	struct config cfg = {.run_dir = dir, .destroying_ms = 60000};
	struct runner r = {.pool = pool, .db = worker, .cfg = &cfg};
	struct job *job = fixture_claim(worker, pool);
	int pair[2];
	bool ok;

	assert_string_equal(job->kind, "destroy");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(send(pair[0], term, sizeof(term) - 1, 0), sizeof(term) - 1);
	r.worker = pair[1];
	assert_true(runner_load(&r, &job->fence, &err));
	ok = kind_find("destroy")->run(&r, &err);
	if (!ok)
		assert_true(job_hand_back(worker, &job->fence, 0, true, &err));
	(void)close(pair[0]);
	(void)close(pair[1]);
	return ok;
}

static const char *box_now(void)
{
	return testdb_text(
		"SELECT concat_ws(' ', state, reason, (SELECT count(*) FROM jobs j WHERE "
		"j.box_id = b.id)) FROM boxes b WHERE id = %ld",
		(long)run.box_id);
}

static void not_gone_before_it_is_proved(void **state)
{
	bool added;
	pid_t spawn;
	int status;

	(void)state;
	assert_true(job_add_destroy(worker, run.box_id, "box_lost", NULL, &added, &err) && added);
	/* nobody there who could end it: the job stays, and is done again */
	assert_false(destroy());
	assert_string_equal(box_now(), "destroying 1");
	spawn = spawn_start();
	assert_true(destroy());
	assert_string_equal(box_now(), "failed box_lost 0");
	assert_int_equal(waitpid(spawn, &status, 0), spawn);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(not_gone_before_it_is_proved, setup, teardown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
