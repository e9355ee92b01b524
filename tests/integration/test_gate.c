/*
 * asb-gate whole: the real program, a real PostgreSQL for its rows, a real git server (git
 * http-backend behind nginx) as upstream. This test plays the shim: it speaks frames over
 * gate.sock. The model's route is test_gate_model.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "cleanup.h"
#include "gatesite.h"
#include "pool.h"
#include "testdb.h"
#include "text.h"
#include "wire.h"

static struct pool *pool;
static const char *dir;
static int git_port;
static struct err err;

static int setup(void **state)
{
	(void)state;
	pool = pool_new();
	dir = gatesite_dir(pool);
	git_port = port_free();
	command_run(
		(const char *const[]){"/usr/bin/mkdir", pool_printf(pool, "%s/tree", dir), NULL});
	file_write(pool_printf(pool, "%s/tree/hello.txt", dir), "hello from upstream\n");
	command_run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "start",
		pool_printf(pool, "%s/git", dir), pool_printf(pool, "%d", git_port), NULL});
	command_run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "add",
		pool_printf(pool, "%s/git", dir), "owner/name", pool_printf(pool, "%s/tree", dir),
		NULL});
	command_run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "add",
		pool_printf(pool, "%s/git", dir), "owner/secret", pool_printf(pool, "%s/tree", dir),
		NULL});
	gatesite_start(pool, dir,
		(const char *const[]){
			pool_printf(
				pool, "ASB_GIT_UPSTREAMS=git.test=http://127.0.0.1:%d", git_port),
			NULL});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	command_run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "stop",
		pool_printf(pool, "%s/git", dir), NULL});
	gatesite_stop(dir);
	pool_free(pool);
	return 0;
}

/* The answer to one request on a stream of its own. */
static const char *ask(struct gate_peer *p, uint32_t stream, const char *request)
{
	return gate_peer_ask(p, pool, stream, request, NULL);
}

#define S(n) GATE_STREAM(n)

static void fetches_the_runs_repo_and_no_other(void **state)
{
	struct gate_peer p;
	const char *a;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	a = ask(&p, S(1),
		"GET /git/git.test/owner/name.git/info/refs?service=git-upload-pack "
		"HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 200"));
	assert_non_null(strstr(a, "application/x-git-upload-pack-advertisement"));
	assert_non_null(strstr(a, "refs/heads/main"));
	a = ask(&p, S(2),
		"GET /git/git.test/owner/secret.git/info/refs?service=git-upload-pack "
		"HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 403"));
	assert_non_null(strstr(a, "not a repository of this run"));
	assert_null(strstr(a, "refs/heads/main"));
	a = ask(&p, S(3),
		"GET /git/git.test/owner/name.git/info/refs?service=git-receive-pack "
		"HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 403"));
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE allowed AND target = "
				    "'git.test/owner/name'"),
		1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND reason = "
				    "'repo_not_in_run'"),
		1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND reason = "
				    "'git_fetch_only'"),
		1);
	gate_peer_close(&p);
}

static void the_open_world_is_refused_and_says_why(void **state)
{
	struct wire_frame f;
	struct gate_peer p;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, S(1), "{\"host\":\"example.com\",\"port\":443}");
	assert_true(gate_peer_next(&p, &f));
	assert_int_equal(f.type, WIRE_REFUSE);
	assert_non_null(memmem(f.payload, f.length, "sealed", 6));
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND target = "
				    "'example.com:443'"),
		1);
	assert_non_null(strstr(ask(&p, S(2), "GET /nowhere HTTP/1.1\r\n\r\n"), "HTTP/1.1 404"));
	assert_non_null(strstr(ask(&p, S(3), "GET / HTTP/1.1\nbare\r\n\r\n"), "HTTP/1.1 400"));
	gate_peer_close(&p);
}

static void a_shim_is_only_its_own_box(void **state)
{
	struct wire_frame f;
	struct gate_peer p;

	(void)state;
	if (getuid()) {
		print_message("not root: other uids cannot be tried\n");
		skip();
	}
	gate_peer_open(&p, dir, GATE_UID + 1);
	assert_false(gate_peer_next(&p, &f)); /* closed without a word */
	gate_peer_close(&p);
	gate_peer_open(&p, dir, GATE_UID); /* the same, with the right uid, is served */
	gate_peer_say(&p, WIRE_PING, 0, "x");
	assert_true(gate_peer_next(&p, &f));
	assert_int_equal(f.type, WIRE_PONG);
	gate_peer_say(&p, WIRE_DATA, 7, "not an egress stream");
	assert_false(gate_peer_next(&p, &f));
	gate_peer_close(&p);
}

/* A box that takes nothing holds back its own transfer only. */
static void credit_holds_the_answer_back(void **state)
{
	struct wire_frame f;
	struct gate_peer p;
	size_t got = 0;

	(void)state;
	command_run((const char *const[]){"/usr/bin/dd", "if=/dev/urandom",
		pool_printf(pool, "of=%s/tree/big", dir), "bs=1M", "count=2", "status=none", NULL});
	command_run((const char *const[]){
		"/usr/bin/rm", "-rf", pool_printf(pool, "%s/git/repos/owner/name.git", dir), NULL});
	command_run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "add",
		pool_printf(pool, "%s/git", dir), "owner/name", pool_printf(pool, "%s/tree", dir),
		NULL});
	gate_peer_open(&p, dir, GATE_UID);
	const char *refs = ask(&p, S(1),
		"GET /git/git.test/owner/name.git/info/refs?service=git-upload-pack "
		"HTTP/1.1\r\n\r\n");
	const char *head = strstr(refs, " HEAD");
	assert_non_null(head);
	const char *want = pool_printf(pool, "0032want %.40s\n00000009done\n", head - 40);
	gate_peer_say(&p, WIRE_OPEN, S(2), "{\"route\":\"/git\"}");
	assert_true(gate_peer_next(&p, &f));
	gate_peer_say(&p, WIRE_DATA, S(2),
		pool_printf(pool,
			"POST /git/git.test/owner/name.git/git-upload-pack HTTP/1.1\r\n"
			"Content-Type: application/x-git-upload-pack-request\r\nContent-Length: "
			"%zu\r\n\r\n%s",
			strlen(want), want));
	/* what comes is waited for; and then nothing more for a second */
	for (int64_t until = time_boot_ms() + 30000; time_boot_ms() < until;) {
		struct pollfd pfd = {.fd = p.fd, .events = POLLIN};
		bool more;

		assert_true(wire_decode(&p.in, &f, &more, &err));
		if (more && f.type == WIRE_DATA)
			got += f.length;
		else if (!more && poll(&pfd, 1, got ? 1000 : 30000) == 1)
			wire_decoder_grew(&p.in,
				(size_t)recv(p.fd, wire_decoder_room(&p.in, 65536), 65536, 0));
		else if (!more)
			break;
	}
	assert_true(got > 0 && got <= WIRE_WINDOW);
	gate_peer_credit(&p, S(2), 64 << 20);
	do {
		assert_true(gate_peer_next(&p, &f));
		got += f.type == WIRE_DATA ? f.length : 0;
	} while (f.type == WIRE_DATA);
	assert_int_equal(f.type, WIRE_EOF);
	assert_true(got > 2 << 20);
	gate_peer_close(&p);
}

/* More than may be opened at once: refused without a row; and what was left of the burst has rows.
 */
static void a_box_that_opens_without_end_leaves_a_bounded_number_of_rows(void **state)
{
	int64_t before = testdb_i64("SELECT count(*) FROM egress"), rows;
	struct wire_frame f;
	struct gate_peer p;
	int sealed = 0;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	for (uint32_t i = 0; i < 600; i++) {
		gate_peer_say(
			&p, WIRE_OPEN, S(1000 + i), "{\"host\":\"example.org\",\"port\":443}");
		assert_true(gate_peer_next(&p, &f));
		assert_int_equal(f.type, WIRE_REFUSE);
		sealed += memmem(f.payload, f.length, "sealed", 6) != NULL;
	}
	assert_non_null(memmem(f.payload, f.length, "too_fast", 8));
	rows = testdb_i64("SELECT count(*) FROM egress") - before;
	assert_int_equal(rows, sealed);
	assert_true(sealed >= 256 && sealed < 600);
	gate_peer_close(&p);
}

static void a_box_has_one_connection(void **state)
{
	struct gate_peer first, second;
	struct wire_frame f;

	(void)state;
	gate_peer_open(&first, dir, GATE_UID);
	gate_peer_say(&first, WIRE_PING, 0, "a");
	assert_true(gate_peer_next(&first, &f));
	gate_peer_open(&second, dir, GATE_UID);
	gate_peer_say(&second, WIRE_PING, 0, "b");
	assert_true(gate_peer_next(&second, &f));
	assert_false(gate_peer_next(&first, &f));
	gate_peer_close(&first);
	gate_peer_close(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fetches_the_runs_repo_and_no_other),
		cmocka_unit_test(the_open_world_is_refused_and_says_why),
		cmocka_unit_test(a_shim_is_only_its_own_box),
		cmocka_unit_test(credit_holds_the_answer_back),
		cmocka_unit_test(a_box_has_one_connection),
		cmocka_unit_test(a_box_that_opens_without_end_leaves_a_bounded_number_of_rows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
