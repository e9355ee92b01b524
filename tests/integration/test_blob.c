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
	web = testdb_open("asb_web");
	worker = testdb_open("asb_worker");
	pool = pool_new();
	random_bytes(data, sizeof(data));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	db_free(web);
	db_free(worker);
	pool_free(pool);
	return 0;
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
	assert_true(blob_put(worker, &in, data, 1000, &made, &err));
	assert_false(blob_put(worker, &in, data, 1001, &made, &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_string_equal(err.reason, "blob_too_large");
	assert_false(blob_put(worker, &in, data, 501, &made, &err));
	assert_string_equal(err.reason, "run_blobs_full");
	assert_true(blob_put(worker, &in, data, 500, &made, &err));
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
	assert_true(blob_put(worker, &in, "", 0, &made, &err));
	assert_int_equal(made.size_bytes, 0);
	assert_true(blob_chunk(worker, pool, made.id, 0, &piece, &n, &err));
	assert_int_equal(n, 0);
	assert_true(blob_drop(worker, made.id, &err));
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs WHERE id = %ld", (long)made.id), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_streamed_in_pieces_and_back),
		T(test_caps),
		T(test_unfinished_is_not_seen_and_is_dropped),
		T(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
