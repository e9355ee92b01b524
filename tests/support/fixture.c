/*
 * Rows that many tests start from, made through the models.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "box.h"
#include "cleanup.h"
#include "db.h"
#include "exec.h"
#include "pool.h"
#include "question.h"
#include "testdb.h"
#include "turn.h"

static void must(bool ok, const struct err *err)
{
	if (ok)
		return;
	(void)fprintf(stderr, "fixture: %s\n", err->msg);
	exit(1);
}

void fixture_open(struct db **web, struct db **worker, struct pool **pool)
{
	testdb_exec("TRUNCATE jobs, job_history");
	testdb_exec("UPDATE boxes SET state = 'gone' WHERE state NOT IN ('gone', 'failed')");
	*web = testdb_open("asb_web");
	*worker = testdb_open("asb_worker");
	*pool = pool_new();
}

void fixture_close(struct db *web, struct db *worker, struct pool *pool)
{
	db_free(web);
	db_free(worker);
	pool_free(pool);
}

struct run_made fixture_run(struct db *web, int64_t account)
{
	const struct run_new in = {
		.account_id = account,
		.task = "echo hello",
		.title = "hello",
		.agent = "script",
		.created_by = "operator",
		.request_id = "rq1",
		.runtime = "qemu",
		.image = "base",
		.size_class = "s",
		.memory_bytes = 1LL << 30,
		.cpus = 1,
		.disk_bytes = 4LL << 30,
		.starting_ms = 180000,
		.max_ms = 3600000,
	};
	CLEANUP(tx) struct tx tx = {0};
	struct run_made out;
	struct err err = {0};

	must(db_begin(web, account, &tx, &err) && run_delegate(web, &in, &out, &err) &&
			db_commit(&tx, &err),
		&err);
	return out;
}

struct job *fixture_claim(struct db *worker, struct pool *pool)
{
	static const char *const kinds[] = {"turn", "exec", "destroy", "create", "look"};
	struct job *job = NULL;
	struct err err = {0};

	must(job_claim(worker, pool, "host1", "w1", kinds, sizeof(kinds) / sizeof(kinds[0]), 15000,
		     &job, &err),
		&err);
	if (!job) {
		(void)fprintf(stderr, "fixture: nothing to claim\n");
		exit(1);
	}
	return job;
}

struct sandbox_made fixture_sandbox(struct db *web, int64_t account)
{
	const struct sandbox_new in = {
		.account_id = account,
		.language = "python",
		.runtime = "qemu",
		.image = "base",
		.size_class = "s",
		.memory_bytes = 1LL << 30,
		.cpus = 1,
		.disk_bytes = 4LL << 30,
		.creating_ms = 180000,
		.max_ms = 3600000,
		.idle_ms = 1800000,
		.request_id = "rq4",
	};
	CLEANUP(tx) struct tx tx = {0};
	struct sandbox_made out;
	struct err err = {0};

	must(db_begin(web, account, &tx, &err) && sandbox_create(web, &in, &out, &err) &&
			db_commit(&tx, &err),
		&err);
	return out;
}

/* A box of a claimed job, from creating to ready. */
static void box_make(struct db *worker, const struct fence *f, int64_t box_id)
{
	const struct box_process process = {
		.pid = 4242, .pid_start = 77, .isolation = "emulated-vm", .readback = "{}"};
	const struct box_proof proof = {
		.boot_id = "gboot", .kernel = "6.1", .machine = "{}", .probe = "{}"};
	struct err err = {0};
	int slot;

	must(box_assign_slot(worker, f, box_id, "host1", "boot", 64, &slot, &err) &&
			box_started(worker, f, box_id, &process, &err) &&
			box_ready(worker, f, box_id, &proof, &err),
		&err);
}

void fixture_sandbox_ready(struct db *worker, struct pool *pool, const struct sandbox_made *box)
{
	struct job *job = fixture_claim(worker, pool);
	struct err err = {0};

	box_make(worker, &job->fence, box->box_id);
	must(job_finish(worker, &job->fence, "done", &err), &err);
}

struct job *fixture_running(struct db *worker, struct pool *pool, const struct run_made *run)
{
	struct exec agent = {.argv = "[\"/bin/bash\",\"/run/asb/task.sh\"]",
		.cwd = "/workspace",
		.log_id = run->log_id};
	struct job *job = fixture_claim(worker, pool);
	const struct fence *f = &job->fence;
	char name[ID_SIZE];
	struct err err = {0};

	random_id(name, sizeof(name), "exec-", 16);
	must(turn_start(worker, f, run->turn_id, 180000, &err), &err);
	box_make(worker, f, run->box_id);
	must(box_take_streams(worker, f, run->box_id, 16, &agent.stream, &err) &&
			exec_open(worker, f, run->box_id, run->run_id, name, &agent, &err) &&
			turn_running(worker, f, run->turn_id, agent.id, 3600000, &err) &&
			exec_begin(worker, f, agent.id, &err),
		&err);
	return job;
}

int64_t fixture_asked(
	struct db *worker, const struct run_made *run, const struct job *job, const char *ref)
{
	const struct turn_end end = {.state = TURN_ASKED};
	CLEANUP(tx) struct tx tx = {0};
	struct err err = {0};
	int64_t id;

	must(db_begin(worker, 0, &tx, &err) &&
			question_open(worker, &job->fence, run->run_id, job->turn_id, ref,
				"which way?", &id, &err) &&
			turn_end(worker, &job->fence, job->turn_id, &end, &err) &&
			job_finish(worker, &job->fence, "asked", &err) && db_commit(&tx, &err),
		&err);
	return id;
}

int64_t fixture_account(const char *name)
{
	return testdb_i64("INSERT INTO accounts (name) VALUES ('%s') RETURNING id", name);
}

bool fixture_blob(struct db *db, const struct blob_new *in, const void *data, size_t n,
	struct blob_made *out, struct err *err)
{
	CLEANUP(blob_writer) struct blob_writer *w = NULL;

	return blob_open(db, in, &w, err) && blob_write(w, data, n, err) && blob_close(w, out, err);
}

bool fixture_teardown(struct db *web, const struct run_made *run, struct err *err)
{
	CLEANUP(tx) struct tx tx = {0};
	int64_t id;

	return db_begin(web, ACCOUNT, &tx, err) &&
	       run_teardown(web, ACCOUNT, run->name, "rq3", 60000, &id, err) && db_commit(&tx, err);
}
