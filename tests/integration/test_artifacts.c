/*
 * Saving /artifacts: each file is a blob of the run, once for each content it has had. The box is a
 * child that answers TAR_OUT with an archive.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifacts.h"
#include "blob.h"
#include "buf.h"
#include "fixture.h"
#include "guest.h"
#include "pool.h"
#include "runner.h"
#include "tar.h"
#include "testdb.h"
#include "text.h"

#define STREAM 5u

static struct db *worker;
static struct run_made run;
static struct err err;

static void file_add(struct buf *tar, const char *name, const char *text)
{
	const struct tar_entry e = {.name = name, .size = strlen(text), .mode = 0644};

	assert_true(tar_add_header(tar, &e) && buf_adds(tar, text) && tar_add_padding(tar, e.size));
}

/* A box with these two files; how many were taken. */
static int64_t save(const char *first, const char *second)
{
	struct buf tar = BUF_INIT(65536), out = BUF_INIT(1 << 20);
	struct runner r = {.pool = pool_new(), .worker = -1, .db = worker};
	const struct blob_new like = {.account_id = ACCOUNT,
		.run_id = run.run_id,
		.turn_id = run.turn_id,
		.max_bytes = 1 << 20,
		.run_max_bytes = 1 << 20};
	struct guest g = GUEST_INIT(&r);
	int64_t count = 0;
	int pair[2];
	pid_t box;

	r.job.account_id = ACCOUNT;
	file_add(&tar, "one.txt", first);
	file_add(&tar, "sub/two.txt", second);
	assert_true(tar_add_end(&tar));
	assert_true(wire_add(&out, WIRE_DATA, STREAM, tar.data, tar.len));
	assert_true(wire_add(&out, WIRE_DONE, STREAM, "{}", 2));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	box = fork();
	if (!box) {
		(void)alarm(20);
		(void)!write(pair[1], out.data, out.len);
		(void)pause();
	}
	g.fd = pair[0];
	g.next_stream = STREAM;
	g.end_stream = STREAM + 1;
	wire_decoder_init(&g.in);
	if (!artifacts_save(&g, &like, time_boot_ms() + 10000, &count, &err))
		fail_msg("%s", err.msg);
	(void)kill(box, SIGKILL);
	(void)waitpid(box, NULL, 0);
	guest_detach(&g);
	(void)close(pair[1]);
	buf_done(&tar);
	buf_done(&out);
	pool_free(r.pool);
	return count;
}

static int64_t blobs(const char *file_name)
{
	return testdb_i64(
		"SELECT count(*) FROM blobs WHERE run_id = %lld AND kind = 'artifact' AND "
		"complete AND file_name = '%s'",
		(long long)run.run_id, file_name);
}

static void test_unchanged_files_are_there_once(void **state)
{
	(void)state;
	assert_int_equal(save("a", "b"), 2);
	assert_int_equal(blobs("one.txt"), 1);
	assert_int_equal(blobs("sub_two.txt"), 1);
	assert_int_equal(save("a", "other"), 2);
	assert_int_equal(blobs("one.txt"), 1);
	assert_int_equal(blobs("sub_two.txt"), 2);
	assert_int_equal(testdb_i64("SELECT count(*) FROM blobs WHERE NOT complete"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_unchanged_files_are_there_once)};
	struct db *web = testdb_open("asb_web");
	int failed;

	worker = testdb_open("asb_worker");
	run = fixture_run(web, ACCOUNT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	db_free(worker);
	db_free(web);
	return failed;
}
