/*
 * Blobs: streamed in any pieces, read back by chunk, capped, and gone when not finished.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blob.h"
#include "cleanup.h"
#include "db.h"
#include "fixture.h"
#include "pool.h"
#include "testdb.h"

static struct db *web, *worker;
static struct pool *pool;
static struct err err;
static unsigned char data[2 * BLOB_CHUNK_SIZE + 777];

static int setup(void **state)
{
	(void)state;
	fixture_open(&web, &worker, &pool);
	random_bytes(data, sizeof(data));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_close(web, worker, pool);
	return 0;
}

static int64_t put(const struct blob_new *in, const char *text)
{
	CLEANUP(blob_writer) struct blob_writer *w = NULL;
	struct blob_made made;

	assert_true(blob_open(worker, in, &w, &err));
	assert_true(blob_write(w, text, strlen(text), &err));
	assert_true(blob_close(w, &made, &err));
	return made.id;
}

static void test_a_patch_is_counted(void **state)
{
	static const char patch[] =
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n";
	const struct blob_new in = {ACCOUNT, BLOB_PATCH, "x.patch", 0, 0, 1 << 20, 0};
	const struct blob_new other = {ACCOUNT, BLOB_BUNDLE, "x.bundle", 0, 0, 1 << 20, 0};

	(void)state;
	assert_string_equal(testdb_text("SELECT files || ' ' || added || ' ' || removed FROM blobs"
					" WHERE id = %ld",
				    (long)put(&in, patch)),
		"1 2 1");
	assert_string_equal(
		testdb_text("SELECT files FROM blobs WHERE id = %ld", (long)put(&other, patch)),
		"");
}

static void test_streamed_in_pieces_and_back(void **state)
{
	const struct blob_new in = {ACCOUNT, BLOB_UPLOAD, "tree.tar", 0, 0, 1 << 30, 0};
	CLEANUP(blob_writer) struct blob_writer *w = NULL;
	CLEANUP(tx) struct tx tx = {0};
	unsigned char sum[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];
	struct blob_made made;
	struct blob blob;
	const unsigned char *piece;
	size_t done = 0, n;

	(void)state;
	assert_true(blob_open(web, &in, &w, &err));
	for (size_t at = 0; at < sizeof(data); at += n) {
		n = sizeof(data) - at < 100001 ? sizeof(data) - at : 100001;
		assert_true(blob_write(w, data + at, n, &err));
	}
	assert_true(blob_close(w, &made, &err));
	sha256(data, sizeof(data), sum);
	hex_encode(sum, sizeof(sum), hex);
	assert_string_equal(made.sha256, hex);
	assert_int_equal(made.size_bytes, sizeof(data));
	assert_true(db_begin(web, ACCOUNT, &tx, &err));
	assert_true(blob_get(web, pool, ACCOUNT, made.name, &blob, &err));
	assert_string_equal(blob.file_name, "tree.tar");
	for (int64_t i = 0; blob_chunk(web, pool, blob.id, i, &piece, &n, &err) && n; i++) {
		assert_memory_equal(piece, data + done, n);
		done += n;
	}
	assert_int_equal(done, sizeof(data));
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM blob_chunks WHERE blob_id = %ld", (long)made.id),
		3);
	assert_false(blob_get(web, pool, ACCOUNT + 1, made.name, &blob, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_caps(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct blob_new in = {ACCOUNT, BLOB_ARTIFACT, "a", run.run_id, run.turn_id, 1000, 1500};
	struct blob_made made;

	(void)state;
	assert_true(fixture_blob(worker, &in, data, 1000, &made, &err));
	assert_false(fixture_blob(worker, &in, data, 1001, &made, &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_string_equal(err.reason, "blob_too_large");
	assert_false(fixture_blob(worker, &in, data, 501, &made, &err));
	assert_string_equal(err.reason, "run_blobs_full");
	assert_true(fixture_blob(worker, &in, data, 500, &made, &err));
	/* those that failed left no row */
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM blobs WHERE run_id = %ld", (long)run.run_id), 2);
}

static void test_unfinished_is_not_seen_and_is_dropped(void **state)
{
	const struct blob_new in = {ACCOUNT, BLOB_UPLOAD, "x", 0, 0, 1 << 30, 0};
	struct blob_writer *w;
	int64_t before = testdb_i64("SELECT count(*) FROM blobs"), dropped;

	(void)state;
	assert_true(blob_open(web, &in, &w, &err));
	assert_true(blob_write(w, data, BLOB_CHUNK_SIZE, &err));
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs WHERE NOT complete"), 1);
	blob_writer_free(w);
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs"), before);
	/* one whose process died is swept, a young one is not */
	testdb_exec("INSERT INTO blobs (account_id, name, kind, file_name, created_at)"
		    " VALUES (1, 'blob-old', 'upload', 'x', now() - interval '1 hour'), (1, "
		    "'blob-new', 'upload',"
		    " 'x', now())");
	assert_true(blob_sweep(worker, 60000, &dropped, &err));
	assert_int_equal(dropped, 1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs WHERE name = 'blob-new'"), 1);
}

static void test_empty(void **state)
{
	const struct blob_new in = {ACCOUNT, BLOB_UPLOAD, "x", 0, 0, 10, 0};
	struct blob_made made;
	const unsigned char *piece;
	size_t n;

	(void)state;
	assert_true(fixture_blob(worker, &in, "", 0, &made, &err));
	assert_int_equal(made.size_bytes, 0);
	assert_true(blob_chunk(worker, pool, made.id, 0, &piece, &n, &err));
	assert_int_equal(n, 0);
}

/* What a runner saved is the run's as long as it has the job, whatever was begun before. */
static void test_a_stale_runner_adds_nothing(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_claim(worker, pool);
	const struct blob_new in = {ACCOUNT, BLOB_PATCH, "a.patch", run.run_id, run.turn_id,
		1 << 30, 1 << 30, &job->fence};
	struct blob_writer *begun, *full;
	struct blob_made made;
	int64_t n;

	(void)state;
	assert_true(fixture_blob(worker, &in, "x", 1, &made, &err));
	assert_true(blob_open(worker, &in, &begun, &err));
	assert_true(blob_write(begun, "x", 1, &err));
	assert_true(blob_open(worker, &in, &full, &err));
	assert_true(job_release(worker, "w1", &n, &err));
	(void)fixture_claim(worker, pool);
	assert_false(blob_close(begun, &made, &err));
	assert_true(is_fence_lost(&err));
	assert_false(blob_write(full, data, BLOB_CHUNK_SIZE, &err));
	assert_true(is_fence_lost(&err));
	assert_false(fixture_blob(worker, &in, "x", 1, &made, &err));
	assert_true(is_fence_lost(&err));
	blob_writer_free(begun);
	blob_writer_free(full);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM blobs WHERE run_id = %ld", (long)run.run_id), 1);
	assert_false(blob_replace(worker, &job->fence, run.run_id, run.turn_id, made.id, &err));
	assert_true(is_fence_lost(&err));
}

static void test_saved_again_is_not_kept_twice(void **state)
{
	struct run_made run = fixture_run(web, ACCOUNT);
	struct job *job = fixture_claim(worker, pool);
	struct blob_new in = {ACCOUNT, BLOB_ARTIFACT, "a", run.run_id, run.turn_id, 1000, 10000};
	struct blob_made a, again, b, patch;
	int64_t newest;

	(void)state;
	assert_true(blob_newest(worker, run.run_id, &newest, &err));
	assert_int_equal(newest, 0);
	assert_true(fixture_blob(worker, &in, "one", 3, &a, &err));
	assert_true(fixture_blob(worker, &in, "one", 3, &again, &err));
	assert_true(blob_drop_repeat(worker, again.id, &err));
	in.file_name = "b";
	assert_true(fixture_blob(worker, &in, "one", 3, &b, &err));
	assert_true(blob_drop_repeat(worker, b.id, &err)); /* another file: it stays */
	in.kind = BLOB_PATCH;
	assert_true(fixture_blob(worker, &in, "p1", 2, &patch, &err));
	assert_true(blob_newest(worker, run.run_id, &newest, &err));
	assert_int_equal(newest, patch.id);
	/* saved anew: a changed, b did not and was not stored again, the patch is another */
	in.kind = BLOB_ARTIFACT;
	in.file_name = "a";
	assert_true(fixture_blob(worker, &in, "two", 3, &again, &err));
	in.kind = BLOB_PATCH;
	assert_true(fixture_blob(worker, &in, "p2", 2, &patch, &err));
	assert_true(blob_replace(worker, &job->fence, run.run_id, run.turn_id, newest, &err));
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM blobs WHERE run_id = %ld", (long)run.run_id), 3);
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs WHERE id IN (%ld, %ld, %ld)",
				 (long)b.id, (long)again.id, (long)patch.id),
		3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_patch_is_counted),
		T(test_streamed_in_pieces_and_back),
		T(test_caps),
		T(test_unfinished_is_not_seen_and_is_dropped),
		T(test_empty),
		T(test_a_stale_runner_adds_nothing),
		T(test_saved_again_is_not_kept_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
