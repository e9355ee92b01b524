/*
 * Appending: no gaps, nothing of a stale lease, batches sent twice, and bytes as they were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "fixture.h"
#include "pool.h"
#include "runlog.h"
#include "testdb.h"
#include "text.h"
#include "turn.h"

static struct db *web, *worker;
static struct pool *pool;
static struct err err;
static struct run_made run;
static struct job *job;
static const int64_t now_ms = 1750000000000; /* of the chunks */

static int setup(void **state)
{
	(void)state;
	fixture_open(&web, &worker, &pool);
	run = fixture_run(web, ACCOUNT);
	job = fixture_claim(worker, pool);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(web, worker, pool);
	return 0;
}

static bool append_trace(const struct fence *f, const struct trace_row *rows, size_t n)
{
	CLEANUP(buf) struct buf text = BUF_INIT(65536);
	struct runlog_batch batch = {.now_ms = time_now_ms(), .run_id = run.run_id, .turn = 1};

	for (size_t i = 0; i < n; i++)
		runlog_add_row(&text, &rows[i]);
	batch.trace = text.data;
	return runlog_append(worker, f, &batch, &err);
}

static bool append_chunks(const struct fence *f, const struct log_chunk *chunks, size_t n,
	const void *bodies, size_t size)
{
	const struct runlog_batch batch = {
		.now_ms = now_ms,
		.log_id = run.log_id,
		.chunks = chunks,
		.nchunks = n,
		.bodies = bodies,
		.bodies_size = size,
	};

	return runlog_append(worker, f, &batch, &err);
}

static int64_t trace_tail(void)
{
	struct turn turn;

	assert_true(turn_get(worker, pool, run.turn_id, &turn, &err));
	return turn.trace_seq;
}

static void test_trace_rows_as_they_were(void **state)
{
	const struct trace_row rows[] = {
		{1, TRACE_SYSTEM, NULL, "started", NULL},
		{2, TRACE_TOOL, "t1", "a \"quoted\" \\ {brace}, comma\nNULL", "{\"k\":[1,2]}"},
		{3, TRACE_SAY, NULL, "NULL", "{}"},
		{4, TRACE_SAY, "", "", NULL},
	};

	(void)state;
	assert_int_equal(trace_tail(), 0);
	assert_true(append_trace(&job->fence, rows, 4));
	assert_true(append_trace(&job->fence, rows, 4)); /* again */
	assert_int_equal(trace_tail(), 4);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM trace WHERE run_id = %ld", (long)run.run_id), 4);
	assert_string_equal(testdb_text("SELECT text FROM trace WHERE run_id = %ld AND seq = 2",
				    (long)run.run_id),
		rows[1].text);
	assert_int_equal(
		testdb_i64("SELECT (data->'k'->>1)::int FROM trace WHERE run_id = %ld AND seq = 2",
			(long)run.run_id),
		2);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM trace WHERE run_id = %ld AND text = 'NULL' AND ref"
			   " IS NULL AND account_id = 1",
			(long)run.run_id),
		1);
	assert_string_equal(testdb_text("SELECT string_agg(coalesce(ref, 'null'), ' ' ORDER BY seq)"
					" FROM trace WHERE run_id = %ld",
				    (long)run.run_id),
		"null t1 null ");
}

static void test_chunks_as_they_were(void **state)
{
	static unsigned char bodies[6 + 256] = "a\nbc\nd";
	const int64_t came[] = {now_ms - 7, now_ms - 3};
	struct log_chunk chunks[] = {
		{1, LOG_STDOUT, 0, 2, 0, 6, 0, 6, came},
		{2, LOG_STDERR, 2, 1, 6, 256, 6, 256, NULL},
	};
	struct log_tail tail;
	char hex[513] = "";

	(void)state;
	for (int i = 0; i < 256; i++) {
		bodies[6 + i] = (unsigned char)i;
		(void)snprintf(hex + 2 * i, 3, "%02x", (unsigned)i);
	}
	assert_true(runlog_tail(worker, run.log_id, &tail, &err));
	assert_int_equal(tail.seq + tail.line + tail.src_off, 0);
	assert_true(append_chunks(&job->fence, chunks, 2, bodies, sizeof(bodies)));
	assert_true(append_chunks(&job->fence, chunks, 2, bodies, sizeof(bodies))); /* again */
	assert_true(runlog_tail(worker, run.log_id, &tail, &err));
	assert_int_equal(tail.seq, 2);
	assert_int_equal(tail.line, 3);
	assert_int_equal(tail.src_off, 262);
	assert_string_equal(
		testdb_text(
			"SELECT encode(body, 'hex') FROM log_chunk WHERE log_id = %ld AND seq = 2",
			(long)run.log_id),
		hex);
	assert_string_equal(
		testdb_text("SELECT encode(body, 'escape') || ' ' || line_ms::text || ' ' ||"
			    " (extract(epoch FROM ts) * 1000)::bigint FROM log_chunk"
			    " WHERE log_id = %ld AND seq = 1",
			(long)run.log_id),
		"a\nbc\nd {7,3} 1750000000000");
}

static void append(const struct fence *f, int64_t from, int64_t n)
{
	for (int64_t seq = from; seq < from + n; seq++) {
		struct log_chunk chunk = {
			seq, LOG_STDOUT, seq - 1, 1, 2 * (seq - 1), 2, 0, 2, NULL};
		struct trace_row row = {seq, TRACE_SAY, NULL, "x", NULL};

		assert_true(append_chunks(f, &chunk, 1, "x\n", 2));
		assert_true(append_trace(f, &row, 1));
	}
}

static void test_stale_epoch_writes_nothing_and_the_next_goes_on_without_a_gap(void **state)
{
	const struct log_chunk late = {21, LOG_STDOUT, 20, 1, 40, 2, 0, 2, NULL};
	const struct trace_row row = {21, TRACE_SAY, NULL, "late", NULL};
	struct job *next;
	struct log_tail tail;
	int64_t n;

	(void)state;
	append(&job->fence, 1, 20);
	testdb_exec("UPDATE jobs SET lease_until = now() - interval '1 s'");
	assert_true(job_reap(worker, &n, &err));
	assert_false(append_chunks(&job->fence, &late, 1, "x\n", 2));
	assert_true(is_fence_lost(&err));
	next = fixture_claim(worker, pool);
	assert_false(append_chunks(&job->fence, &late, 1, "x\n", 2));
	assert_true(is_fence_lost(&err));
	assert_false(append_trace(&job->fence, &row, 1));
	assert_true(is_fence_lost(&err));
	assert_true(runlog_tail(worker, run.log_id, &tail, &err));
	assert_int_equal(tail.seq, 20);
	append(&next->fence, tail.seq + 1, 20);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM log_chunk WHERE log_id = %ld", (long)run.log_id),
		40);
	assert_int_equal(
		testdb_i64("SELECT max(seq) FROM log_chunk WHERE log_id = %ld", (long)run.log_id),
		40);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM trace WHERE run_id = %ld AND text = 'late'",
			(long)run.run_id),
		0);
}

static void test_a_batch_too_large_is_an_error(void **state)
{
	CLEANUP(free) char *big = mem_alloc(RUNLOG_BATCH_MAX + 1);
	const struct log_chunk chunk = {
		1, LOG_STDOUT, 0, 0, 0, RUNLOG_BATCH_MAX + 1, 0, RUNLOG_BATCH_MAX + 1, NULL};

	(void)state;
	memset(big, 'x', RUNLOG_BATCH_MAX + 1);
	assert_false(append_chunks(&job->fence, &chunk, 1, big, RUNLOG_BATCH_MAX + 1));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_true(append_chunks(&job->fence, &chunk, 1, big, RUNLOG_BATCH_MAX));
}

static void test_partitions_come_by_themselves(void **state)
{
	(void)state;
	testdb_exec("ALTER TABLE runs ALTER id RESTART WITH 1999; ALTER TABLE logs ALTER id "
		    "RESTART WITH 1899");
	for (int i = 0; i < 3; i++) {
		testdb_exec("TRUNCATE jobs");
		run = fixture_run(web, ACCOUNT); /* as asb_web, whose trigger makes them */
	}
	assert_int_equal(run.run_id, 2001);
	job = fixture_claim(worker, pool);
	append(&job->fence, 1, 1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM trace_p2"), 1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM pg_class WHERE relname IN ('trace_p3', "
				    "'log_chunk_p2')"),
		2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_trace_rows_as_they_were),
		T(test_chunks_as_they_were),
		T(test_stale_epoch_writes_nothing_and_the_next_goes_on_without_a_gap),
		T(test_a_batch_too_large_is_an_error),
		T(test_partitions_come_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
