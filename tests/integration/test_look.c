/*
 * Looks as rows: asked, answered once and by who holds the job alone, ended with their box, let go
 * after an hour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "fixture.h"
#include "json.h"
#include "look.h"
#include "pool.h"
#include "testdb.h"

static struct db *web, *worker;
static struct pool *pool;
static struct err err;
static char name[ID_SIZE];

static int setup(void **state)
{
	(void)state;
	fixture_open(&web, &worker, &pool);
	err = (struct err){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(web, worker, pool);
	return 0;
}

static bool submit(int64_t account, const char *sandbox, const char *session)
{
	const struct look_new look = {.account_id = account,
		.sandbox = sandbox,
		.session = session,
		.op = LOOK_READ,
		.request = "{\"path\":\"a\"}",
		.request_id = "rq7"};
	CLEANUP(tx) struct tx tx = {0};

	return db_begin(web, account, &tx, &err) && look_submit(web, &look, name, &err) &&
	       db_commit(&tx, &err);
}

/* The look that a claimed job is for. */
static int64_t look_of(const struct job *job)
{
	CLEANUP(json) struct json_object *o = NULL;
	int64_t id = 0;

	assert_string_equal(job->kind, "look");
	assert_string_equal(job->lane, "look");
	assert_true(json_parse(job->payload, strlen(job->payload), &o, &err));
	assert_true(json_get_i64(o, "look", &id));
	return id;
}

static struct sandbox_made ready_sandbox(void)
{
	struct sandbox_made box = fixture_sandbox(web, ACCOUNT);

	fixture_sandbox_ready(worker, pool, &box);
	return box;
}

static const char *said(const char *key)
{
	return testdb_text("SELECT look_json(id) ->> '%s' FROM looks WHERE name = '%s'", key, name);
}

static int64_t id_of(void)
{
	return testdb_i64("SELECT id FROM looks WHERE name = '%s'", name);
}

static void test_a_look_is_answered(void **state)
{
	struct sandbox_made box = ready_sandbox();
	struct look_row row;
	struct job *job;
	int64_t id;

	(void)state;
	testdb_exec("UPDATE boxes SET used_at = now() - interval '1 hour'");
	assert_true(submit(ACCOUNT, box.name, NULL));
	assert_string_equal(said("state"), "queued");
	assert_string_equal(said("sandbox_id"), box.name);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM boxes WHERE id = %ld AND used_at > now() - "
			   "interval '1 minute'",
			(long)box.box_id),
		1);
	job = fixture_claim(worker, pool);
	id = look_of(job);
	assert_true(look_get(worker, pool, id, &row, &err));
	assert_int_equal(row.op, LOOK_READ);
	assert_true(row.is_sandbox);
	assert_false(row.ended);
	assert_true(look_finish(worker, &job->fence, id, "{\"content\":\"x\"}", NULL, &err));
	assert_string_equal(said("state"), "done");
	assert_string_equal(said("content"), "x");
	/* the same again, since the commit's answer may be lost; another end is refused */
	assert_true(look_finish(worker, &job->fence, id, "{\"content\":\"x\"}", NULL, &err));
	assert_false(look_finish(worker, &job->fence, id, NULL,
		&(struct err){.code = ERR_INVALID, .msg = "no"}, &err));
	assert_string_equal(said("state"), "done");
}

/* What its box has of trees: paths begin there, and diff compares with them. */
static void test_the_trees_of_its_box(void **state)
{
	struct sandbox_made box = ready_sandbox();
	struct run_made run = fixture_run(web, ACCOUNT);
	int64_t upload = testdb_i64("INSERT INTO blobs (account_id, name, kind, file_name) VALUES "
				    "(%d, 'blob-look', 'upload', 'a.tar') RETURNING id",
		ACCOUNT);
	struct look_row row;

	(void)state;
	assert_true(submit(ACCOUNT, box.name, NULL));
	assert_true(look_get(worker, pool, id_of(), &row, &err));
	assert_string_equal(row.source, "none");
	assert_int_equal(row.upload_id, 0);
	testdb_exec("UPDATE boxes SET sync_upload_id = %ld WHERE id = %ld", (long)upload,
		(long)box.box_id);
	assert_true(look_get(worker, pool, id_of(), &row, &err));
	assert_string_equal(row.source, "upload");
	assert_int_equal(row.upload_id, upload);
	testdb_exec("UPDATE runs SET source = 'git', repos = '[{\"repo\": \"own/thing\"}]' WHERE "
		    "name = '%s'",
		run.name);
	assert_true(submit(ACCOUNT, NULL, run.name));
	assert_true(look_get(worker, pool, id_of(), &row, &err));
	assert_false(row.is_sandbox);
	assert_string_equal(row.source, "git");
	assert_string_equal(row.repos, "[{\"repo\": \"own/thing\"}]");
}

static void test_only_the_holder_answers(void **state)
{
	struct sandbox_made box = ready_sandbox();
	struct fence stale;
	struct job *job;
	int64_t id;

	(void)state;
	assert_true(submit(ACCOUNT, box.name, NULL));
	job = fixture_claim(worker, pool);
	id = look_of(job);
	stale = job->fence;
	stale.epoch--;
	assert_false(look_finish(worker, &stale, id, "{}", NULL, &err));
	assert_true(is_fence_lost(&err));
	assert_string_equal(said("state"), "queued");
}

static void test_why_there_is_no_answer(void **state)
{
	struct sandbox_made box = ready_sandbox();
	struct err why = {.code = ERR_NOT_FOUND, .msg = "/workspace/a: not there"};
	struct job *job;

	(void)state;
	assert_true(submit(ACCOUNT, box.name, NULL));
	job = fixture_claim(worker, pool);
	assert_true(look_finish(worker, &job->fence, look_of(job), NULL, &why, &err));
	assert_string_equal(testdb_text("SELECT state || ' ' || code || ' ' || detail FROM looks "
					"WHERE name = '%s'",
				    name),
		"failed not_found /workspace/a: not there");
	assert_false(look_error("not_found", "", "x", &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.fix, "list_files says what is there.");
	assert_false(look_error("conflict", "no_baseline", "x", &err));
	assert_true(err.fix[0] != '\0' && strlen(err.fix) < sizeof(err.fix) - 1);
	assert_false(look_error("conflict", "box_ended", "x", &err));
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(err.reason, "box_ended");
}

static void test_what_cannot_be_looked_into(void **state)
{
	int64_t other = fixture_account("look_other");
	struct sandbox_made box = ready_sandbox();
	struct run_made run = fixture_run(web, ACCOUNT);

	(void)state;
	assert_false(submit(ACCOUNT, "box-aaaaaaaaaaaaaaaa", NULL));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_false(submit(other, box.name, NULL));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_false(submit(other, NULL, run.name));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_true(submit(ACCOUNT, NULL, run.name));
	assert_true(submit(ACCOUNT, box.name, NULL));
	/* the box ends: who waits is told, and nobody new is taken */
	testdb_exec("UPDATE boxes SET state = 'destroying' WHERE id = %ld", (long)box.box_id);
	testdb_exec("UPDATE boxes SET state = 'gone' WHERE id = %ld", (long)box.box_id);
	assert_string_equal(
		testdb_text("SELECT state || ' ' || reason FROM looks WHERE name = '%s'", name),
		"failed box_ended");
	assert_false(submit(ACCOUNT, box.name, NULL));
	assert_int_equal(err.code, ERR_CONFLICT);
}

static void test_an_hour_later(void **state)
{
	struct sandbox_made box = ready_sandbox();

	(void)state;
	assert_true(submit(ACCOUNT, box.name, NULL));
	assert_true(look_sweep(worker, LOOK_KEPT_MS, &err));
	assert_int_equal(testdb_i64("SELECT count(*) FROM looks WHERE name = '%s'", name), 1);
	testdb_exec("UPDATE looks SET created_at = now() - interval '61 minutes' WHERE name = '%s'",
		name);
	assert_true(look_sweep(worker, LOOK_KEPT_MS, &err));
	assert_int_equal(testdb_i64("SELECT count(*) FROM looks WHERE name = '%s'", name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_look_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_trees_of_its_box, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_the_holder_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_why_there_is_no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_looked_into, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_hour_later, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
