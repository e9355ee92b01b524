/*
 * The package routes of the real asb-gate against static indexes on loopback: what a box with an
 * open window gets, what no other does, and where its bytes end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "cleanup.h"
#include "gatesite.h"
#include "pool.h"
#include "testdb.h"
#include "wire.h"

#define S(n) GATE_STREAM(n)
#define GET(path) "GET " path " HTTP/1.1\r\nHost: 127.0.0.1:8377\r\n\r\n"
#define BUDGET 1000000

static struct pool *pool;
static const char *dir, *index_dir;

/* What connects there is never answered. */
static int silent_port(int *fd)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*fd, (const struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(*fd, 8), 0);
	assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &n), 0);
	return ntohs(at.sin_port);
}

static int setup(void **state)
{
	const char *port;
	int n;

	(void)state;
	pool = pool_new();
	dir = gatesite_dir(pool);
	index_dir = pool_printf(pool, "%s/index", dir);
	n = port_free();
	port = pool_printf(pool, "%d", n);
	command_run((const char *const[]){
		"/usr/bin/bash", "tests/support/package-index", "start", index_dir, port, NULL});
	gatesite_start(pool, dir,
		(const char *const[]){pool_printf(pool,
					      "ASB_PKG_PYPI=http://127.0.0.1:%d/simple "
					      "http://127.0.0.1:%d/files",
					      n, n),
			pool_printf(pool, "ASB_PKG_GO=http://127.0.0.1:%d/go", n),
			pool_printf(pool, "ASB_PKG_MAVEN=http://127.0.0.1:%d/maven", n),
			"ASB_PKG_NPM=", pool_printf(pool, "ASB_PKG_BYTES_MAX=%d", BUDGET), NULL});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	command_run((const char *const[]){
		"/usr/bin/bash", "tests/support/package-index", "stop", index_dir, NULL});
	gatesite_stop(dir);
	pool_free(pool);
	return 0;
}

static void egress_set(const char *word)
{
	testdb_exec("UPDATE boxes SET purpose = 'sandbox', language = 'python', egress = '%s' "
		    "WHERE name = '" GATE_BOX "'",
		word);
}

static const char *ask(struct gate_peer *p, uint32_t stream, const char *request)
{
	return gate_peer_ask(p, pool, stream, request, NULL);
}

static void an_open_window_reaches_the_indexes(void **state)
{
	struct gate_peer p;
	const char *a;

	(void)state;
	egress_set("packages");
	gate_peer_open(&p, dir, GATE_UID);
	a = ask(&p, S(1), GET("/pkg/pypi/simple/asb-greeting/"));
	assert_non_null(strstr(a, "HTTP/1.1 200"));
	assert_non_null(strstr(a, "\"/pkg/pypi/files/asb_greeting-1.0.0-py3-none-any.whl#sha256="));
	assert_null(strstr(a, "http://127.0.0.1"));
	a = ask(&p, S(2), GET("/pkg/pypi/files/asb_greeting-1.0.0-py3-none-any.whl"));
	assert_non_null(strstr(a, "asb_greeting.py"));
	a = ask(&p, S(3), GET("/pkg/go/example.test/greeting/@v/list"));
	assert_non_null(strstr(a, "v1.0.0\nv1.1.0\n"));
	a = ask(&p, S(4),
		"HEAD /pkg/maven/test/example/greeting/1.0/greeting-1.0.pom HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 200"));
	assert_null(strstr(a, "<project"));
	a = ask(&p, S(5), GET("/pkg/maven/test/example/greeting/1.0/greeting-1.0.pom"));
	assert_non_null(strstr(a, "<version>1.0</version>"));
	a = ask(&p, S(6), GET("/pkg/pypi/simple/asb-absent/"));
	assert_non_null(strstr(a, "HTTP/1.1 404"));
	a = ask(&p, S(7), GET("/pkg/npm/left-pad"));
	assert_non_null(strstr(a, "ASB_PKG_NPM"));
	a = ask(&p, S(8), "POST /pkg/pypi/legacy/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
	assert_non_null(strstr(a, "HTTP/1.1 403"));
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM egress WHERE allowed AND route = 'pkg-pypi' "
			   "AND bytes_down > 0 AND target = 'pypi/simple/asb-greeting/'"),
		1);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND reason = "
				    "'pkg_path'"),
		1);
	gate_peer_close(&p);
}

static void a_closed_window_and_a_run_reach_none(void **state)
{
	struct gate_peer p;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	egress_set("sealed");
	assert_non_null(
		strstr(ask(&p, S(1), GET("/pkg/pypi/simple/asb-greeting/")), "HTTP/1.1 403"));
	assert_non_null(strstr(ask(&p, S(2),
				       GET("/git/git.test/owner/name.git/info/refs"
					   "?service=git-upload-pack")),
		"this box is sealed"));
	/* what boxd asks for its proof: refused as well, but no row of somebody's doing */
	assert_non_null(strstr(ask(&p, S(5), GET(WIRE_SEAL_PATH)), "HTTP/1.1 403"));
	testdb_exec("UPDATE boxes SET purpose = 'run', egress = 'run' WHERE name = '" GATE_BOX "'");
	assert_non_null(strstr(ask(&p, S(3), GET("/pkg/pypi/simple/asb-greeting/")),
		"name them when it is created"));
	egress_set("packages");
	assert_non_null(
		strstr(ask(&p, S(4), GET("/pkg/pypi/simple/asb-greeting/")), "HTTP/1.1 200"));
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND reason = "
				    "'sealed'"),
		3);
	assert_non_null(strstr(ask(&p, S(6), GET(WIRE_SEAL_PATH)), "ASB_PKG_NPM"));
	gate_peer_close(&p);
}

/* What was opened in the window is no way around its end: neither a stream that waited with its
 * request, nor one whose answer the box takes slowly. */
static void the_end_of_the_window_ends_streams(void **state)
{
	struct wire_frame f;
	struct gate_peer p;
	const char *a;
	bool whole;

	(void)state;
	egress_set("packages");
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, S(1), "{\"route\":\"/pkg\"}");
	gate_peer_say(&p, WIRE_OPEN, S(2), "{\"route\":\"/pkg\"}");
	gate_peer_say(&p, WIRE_DATA, S(2), GET("/pkg/pypi/files/asb_big-1.0-py3-none-any.whl"));
	do
		assert_true(gate_peer_next(&p, &f));
	while (f.stream != S(2) || f.type != WIRE_DATA);
	egress_set("sealed");
	gate_peer_say(&p, WIRE_DATA, S(1), GET("/pkg/pypi/simple/asb-greeting/"));
	a = gate_peer_answer(&p, pool, S(1), &whole);
	assert_non_null(strstr(a, "HTTP/1.1 403"));
	(void)usleep(1500 * 1000);
	gate_peer_credit(&p, S(2), 64 << 20);
	a = gate_peer_answer(&p, pool, S(2), &whole);
	assert_false(whole);
	assert_true(strlen(a) < BUDGET / 2);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND reason = "
				    "'sealed' AND bytes_down > 100000"),
		1);
	gate_peer_close(&p);
}

/* What is allowed cannot be read: nothing comes in, and clients are told to ask again. */
static void without_a_database_it_is_not_now(void **state)
{
	struct wire_frame f;
	struct gate_peer p;
	const char *a;

	(void)state;
	egress_set("packages");
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, S(1), "{\"route\":\"/pkg\"}");
	assert_true(gate_peer_next(&p, &f));
	assert_int_equal(f.type, WIRE_ACCEPT);
	testdb_shut_out("asb_gate");
	gate_peer_say(&p, WIRE_DATA, S(1), GET("/pkg/pypi/simple/asb-greeting/"));
	a = gate_peer_answer(&p, pool, S(1), NULL);
	gate_peer_say(&p, WIRE_OPEN, S(2), "{\"route\":\"/pkg\"}");
	assert_true(gate_peer_next(&p, &f));
	testdb_let_in();
	if (strncmp(a, "HTTP/1.1 503 ", 13) != 0 || !strstr(a, "\r\nRetry-After: 1\r\n") ||
		!strstr(a, "\r\nX-Gate-Reason: gate_unavailable\r\n"))
		fail_msg("%s", a);
	assert_int_equal(f.type, WIRE_REFUSE);
	assert_non_null(memmem(f.payload, f.length, "\"gate_unavailable\"", 18));
	a = ask(&p, S(3), GET("/pkg/pypi/simple/asb-greeting/"));
	assert_non_null(strstr(a, "HTTP/1.1 200"));
	gate_peer_close(&p);
}

static void the_budget_ends_it(void **state)
{
	struct gate_peer p;
	const char *a;
	bool whole;

	(void)state;
	egress_set("packages");
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, S(1), "{\"route\":\"/pkg\"}");
	gate_peer_say(&p, WIRE_DATA, S(1), GET("/pkg/pypi/files/asb_big-1.0-py3-none-any.whl"));
	gate_peer_credit(&p, S(1), 64 << 20);
	a = gate_peer_answer(&p, pool, S(1), &whole);
	assert_false(whole);
	assert_true(strlen(a) < BUDGET + 65536);
	assert_true(strlen(a) > BUDGET / 2);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE reason = 'budget'"), 1);
	gate_peer_close(&p);
	/* nor does a new connection begin a new one */
	gate_peer_open(&p, dir, GATE_UID);
	a = ask(&p, S(2), GET("/pkg/pypi/files/asb_big-1.0-py3-none-any.whl"));
	assert_true(strlen(a) < 65536);
	gate_peer_close(&p);
}

/* Whoever waits for it in the box hears that nothing comes. */
static void a_silent_index_is_given_up(void **state)
{
	CLEANUP(fd) int silent = -1;
	struct gate_peer p;
	const char *a;

	(void)state;
	egress_set("packages");
	gatesite_end();
	gatesite_program(pool, dir,
		(const char *const[]){pool_printf(pool, "ASB_PKG_DEBIAN=http://127.0.0.1:%d",
					      silent_port(&silent)),
			pool_printf(pool, "BOX_UID_BASE=%d", GATE_BASE_UID),
			"ASB_MODEL_STALL_MS=1000", NULL});
	gate_peer_open(&p, dir, GATE_UID);
	a = ask(&p, S(1), GET("/pkg/debian/debian/dists/x"));
	assert_non_null(strstr(a, "HTTP/1.1 502"));
	gate_peer_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_window_reaches_the_indexes),
		cmocka_unit_test(a_closed_window_and_a_run_reach_none),
		cmocka_unit_test(the_end_of_the_window_ends_streams),
		cmocka_unit_test(without_a_database_it_is_not_now),
		cmocka_unit_test(the_budget_ends_it),
		cmocka_unit_test(a_silent_index_is_given_up),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
