/*
 * asb-gate signs what has ended, once; asb-web hands it out; nobody else can make one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>

#include <sodium.h>

#include "cleanup.h"
#include "db.h"
#include "gatesite.h"
#include "pool.h"
#include "receipt.h"
#include "testdb.h"
#include "testweb.h"

#define SEED "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define WAIT_MS 30000

static struct pool *pool;
static const char *dir;
static struct receipt_key key;

static int setup(void **state)
{
	struct err err;

	(void)state;
	pool = pool_new();
	dir = gatesite_dir(pool);
	assert_true(receipt_key_read(SEED, &key, &err));
	/* one that ended when there was no gate */
	testdb_exec(
		"INSERT INTO boxes (account_id, name, state, image, class, memory_bytes, cpus, "
		"disk_bytes, deadline_at, expires_at, guest_boot_id, template, installed, readback)"
		" VALUES (1, 'box-ended', 'gone', 'base', 's', 1024, 1, 4096, now(), now(), "
		"'boot-1',"
		" 'key-1', '[{\"name\":\"idna\",\"version\":\"3.7\"}]', '{\"spawn\":{\"nics\":0},"
		"\"probe\":{\"nics\":[],\"tcp\":\"ENETUNREACH: 1.1.1.1:80\",\"sealed\":true}}')");
	return 0;
}

static void gate_begin(void)
{
	gatesite_start(pool, dir,
		(const char *const[]){"ASB_RECEIPT_KEY=" SEED, "ASB_RESCAN_MS=500", NULL});
}

static int teardown(void **state)
{
	(void)state;
	gatesite_stop(dir);
	testweb_done();
	pool_free(pool);
	return 0;
}

/* An exec that somebody asked for, in this state, with what it wrote. */
static int64_t exec_make(const char *name, const char *state)
{
	int64_t log = testdb_i64("INSERT INTO logs (account_id) VALUES (1) RETURNING id");

	testdb_exec(
		"INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		"src_off, src_len, body) VALUES (1, %lld, 1, 1, 0, 1, 0, 6, 'hello\n'), (1, %lld, "
		"2, 2, 1, 1, 6, 4, 'err\n'), (1, %lld, 3, 1, 2, 1, 10, 6, 'world\n')",
		(long long)log, (long long)log, (long long)log);
	return testdb_i64(
		"INSERT INTO execs (account_id, name, box_id, stream, lane, argv, timeout_ms, "
		"log_id, "
		"state, exit_code, epoch, started_at, finished_at, code_sha256) SELECT 1, '%s', "
		"id, "
		"(SELECT coalesce(max(stream), 0) + 1 FROM execs), 'exec:' || %lld, '[\"true\"]', "
		"5000, %lld, '%s', 3, 77, now() - interval '2 s', now(), 'abc' FROM boxes WHERE "
		"name = "
		"'box-ended' RETURNING id",
		name, (long long)log, (long long)log, state);
}

/* The receipts there are of it, after waiting for the first. */
static int64_t receipts_of(const char *column, int64_t id, int ms)
{
	int64_t n = 0;

	for (int i = 0; i * 50 < ms && !n; i++) {
		n = testdb_i64(
			"SELECT count(*) FROM receipts WHERE %s = %lld", column, (long long)id);
		if (!n)
			(void)poll(NULL, 0, 50);
	}
	return n;
}

static const char *said(const char *column, int64_t id, const char *path)
{
	return pool_strdup(
		pool, testdb_text("SELECT body::jsonb #>> '{%s}' FROM receipts WHERE %s = "
				  "%lld",
			      path, column, (long long)id));
}

static void test_caught_up(void **state)
{
	int64_t done = exec_make("exec-done", "done"), running;

	(void)state;
	running = exec_make("exec-running", "running");
	gate_begin();
	assert_int_equal(receipts_of("exec_id", done, WAIT_MS), 1);
	assert_int_equal(receipts_of("exec_id", running, 0), 0);
	assert_string_equal(testdb_text("SELECT key FROM receipt_keys"), key.name);
	assert_string_equal(said("exec_id", done, "exec"), "exec-done");
	assert_string_equal(said("exec_id", done, "outcome,exit_code"), "3");
	assert_string_equal(said("exec_id", done, "epoch"), "77");
	assert_string_equal(said("exec_id", done, "box,boot_id"), "boot-1");
	assert_string_equal(said("exec_id", done, "box,template"), "key-1");
	assert_string_equal(said("exec_id", done, "packages,0,version"), "3.7");
	assert_string_equal(said("exec_id", done, "seal,sealed"), "true");
	assert_string_equal(said("exec_id", done, "seal,tcp"), "ENETUNREACH: 1.1.1.1:80");
	assert_string_equal(said("exec_id", done, "limits,timeout_ms"), "5000");
	assert_string_equal(said("exec_id", done, "ran,code_sha256"), "abc");
	assert_string_equal(said("exec_id", done, "output,stdout,bytes"), "12");
	/* of "hello\nworld\n" and "err\n", as sha256sum says */
	assert_string_equal(said("exec_id", done, "output,stdout,sha256"),
		testdb_text("SELECT encode(sha256('hello\nworld\n'), 'hex')"));
	assert_string_equal(said("exec_id", done, "output,stderr,sha256"),
		testdb_text("SELECT encode(sha256('err\n'), 'hex')"));
	/* it ends: woken, not by the next look alone */
	testdb_exec("UPDATE execs SET state = 'done' WHERE id = %lld", (long long)running);
	assert_int_equal(receipts_of("exec_id", running, WAIT_MS), 1);
}

/* A turn is signed when its job is through: until then its patch may come. */
static void test_turn(void **state)
{
	int64_t turn = testdb_i64("SELECT id FROM turns WHERE state = 'running'"), patch;

	(void)state;
	testdb_exec(
		"INSERT INTO jobs (account_id, kind, lane, turn_id) VALUES (1, 'turn', 'drive', "
		"%lld)",
		(long long)turn);
	testdb_exec(
		"UPDATE turns SET state = 'done', reason = 'ok', exit_code = 0, finished_at = now()"
		" WHERE id = %lld",
		(long long)turn);
	/* two looks */
	assert_int_equal(receipts_of("turn_id", turn, 1200), 0);
	patch = testdb_i64(
		"INSERT INTO blobs (account_id, name, kind, file_name, sha256) VALUES (1, "
		"'blob-p', 'patch', 'p', 'f00') RETURNING id");
	testdb_exec("UPDATE turns SET patch_id = %lld WHERE id = %lld", (long long)patch,
		(long long)turn);
	testdb_exec("DELETE FROM jobs WHERE turn_id = %lld", (long long)turn);
	assert_int_equal(receipts_of("turn_id", turn, WAIT_MS), 1);
	assert_string_equal(said("turn_id", turn, "of"), "turn");
	assert_string_equal(said("turn_id", turn, "session"), "run-gatetest");
	assert_string_equal(said("turn_id", turn, "outcome,patch_sha256"), "f00");
	assert_string_equal(said("turn_id", turn, "outcome,reason"), "ok");
	assert_string_equal(said("turn_id", turn, "tree,repos,0,repo"), "owner/name");
	assert_string_equal(said("turn_id", turn, "ran,message_sha256"),
		testdb_text("SELECT encode(sha256('t'), 'hex')"));
}

/* Its id was drawn before another's, its row was committed after the gate had looked. */
static void test_committed_late(void **state)
{
	CLEANUP(db) struct db *db = testdb_open(TESTDB_SUPER);
	CLEANUP(tx) struct tx tx = {0};
	struct err err;
	int64_t late;

	(void)state;
	assert_true(db_begin(db, 0, &tx, &err));
	assert_true(db_exec(db,
		"INSERT INTO execs (account_id, name, box_id, stream, lane, argv, log_id, state) "
		"SELECT account_id, 'exec-late', box_id, 1000, lane, argv, log_id, 'done' "
		"FROM execs WHERE name = 'exec-done'",
		&err));
	(void)exec_make("exec-later", "running");
	/* two looks */
	(void)poll(NULL, 0, 1200);
	assert_true(db_commit(&tx, &err));
	late = testdb_i64("SELECT id FROM execs WHERE name = 'exec-late'");
	assert_true(late < testdb_i64("SELECT id FROM execs WHERE name = 'exec-later'"));
	assert_int_equal(receipts_of("exec_id", late, WAIT_MS), 1);
}

static void test_final(void **state)
{
	char code[6];

	(void)state;
	assert_int_equal(testdb_try("asb_owner", 0, "UPDATE receipts SET body = '{}'", code), -1);
	assert_string_equal(code, "AS409");
	/* a second one of the same exec */
	assert_int_equal(
		testdb_try("asb_owner", 0,
			"INSERT INTO receipts (account_id, name, exec_id, key, body, signature)"
			" SELECT account_id, 'receipt-x', exec_id, key, body, signature FROM "
			"receipts WHERE exec_id IS NOT NULL LIMIT 1",
			code),
		-1);
	assert_string_equal(code, "23505");
}

/* What the door hands out is what verifies; every field is there to be checked. */
static void test_door(void **state)
{
	struct receipt_verdict v;
	struct answer a;
	struct err err;
	char *doc, *at;

	(void)state;
	a = testweb_operator(pool, "GET", "/receipt.json?exec=exec-done", NULL);
	assert_int_equal(a.status, 200);
	assert_true(receipt_verify(pool, a.body, a.body_n, key.name, &v, &err));
	assert_true(v.valid);
	doc = pool_memdup(pool, a.body, a.body_n);
	at = strstr(doc, "\"exit_code\": 3");
	assert_non_null(at);
	at[13] = '0';
	assert_true(receipt_verify(pool, doc, a.body_n, key.name, &v, &err));
	assert_false(v.valid);
	assert_string_equal(v.faults[0], "outcome.exit_code: says 0, was signed as 3");
	a = testweb_operator(pool, "GET", "/receipt.json?session=run-gatetest&turn=1", NULL);
	assert_int_equal(a.status, 200);
	assert_true(receipt_verify(pool, a.body, a.body_n, key.name, &v, &err) && v.valid);
	a = testweb_operator(pool, "GET", "/site.json", NULL);
	assert_string_equal(testweb_get(pool, &a, "receipt_key"), key.name);
	(void)exec_make("exec-queued", "queued");
	a = testweb_operator(pool, "GET", "/receipt.json?exec=exec-queued", NULL);
	assert_int_equal(a.status, 409);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "not_ended");
	a = testweb_operator(pool, "GET", "/receipt.json?exec=exec-none", NULL);
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "GET", "/receipt.json?session=run-gatetest&turn=9", NULL);
	assert_int_equal(a.status, 404);
	a = testweb_operator(pool, "GET", "/receipt.json", NULL);
	assert_int_equal(a.status, 422);
	a = testweb_operator(
		pool, "GET", "/receipt.json?exec=exec-done&session=run-gatetest", NULL);
	assert_int_equal(a.status, 422);
	/* another account's */
	testdb_exec("INSERT INTO accounts (name) VALUES ('other')");
	testdb_exec("UPDATE execs SET account_id = (SELECT id FROM accounts WHERE name = 'other') "
		    "WHERE name = 'exec-running'");
	a = testweb_operator(pool, "GET", "/receipt.json?exec=exec-running", NULL);
	assert_int_equal(a.status, 404);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caught_up),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_committed_late),
		cmocka_unit_test(test_final),
		cmocka_unit_test(test_door),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, setup, teardown);
}
