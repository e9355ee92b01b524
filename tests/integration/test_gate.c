/*
 * asb-gate whole: the real program, a real PostgreSQL for its rows, a real git server (git
 * http-backend behind nginx) as upstream, and a scripted model endpoint. This test plays the shim:
 * it speaks frames over gate.sock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "child.h"
#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testprogram.h"
#include "text.h"
#include "wire.h"

#define BASE_UID 1900040000
#define SLOT 3
#define BOX "box-gatetest"

static struct pool *pool;
static const char *dir;
static int git_port, model_port;
static struct child gate, model;
static struct err err;

static int port_free(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	CLEANUP(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

static void run(const char *const *argv)
{
	const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", NULL};
	struct child c = {.argv = argv, .env = env};
	int status;

	assert_true(child_start(&c, &err));
	assert_true(child_wait(&c, 30000, &status, &err));
	assert_int_equal(status, 0);
}

static void file_write(const char *path, const char *text)
{
	CLEANUP(file) FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

/* The model endpoint: answers each request with a fixed stream of two events and keeps what it was
 * sent in DIR/model.seen. Leaves out: everything that a model is. */
static _Noreturn void model_serve(int fd)
{
	static const char answer[] =
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		"Set-Cookie: a=b\r\nrequest-id: req_1\r\nConnection: close\r\n\r\n"
		"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n";

	for (;;) {
		CLEANUP(fd) int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);

		while (!memmem(seen.data, seen.len, "ENDBODY", 7)) {
			char *to = buf_room(&seen, 4096);
			ssize_t n = to ? recv(c, to, 4096, 0) : 0;

			if (n <= 0)
				break;
			buf_grew(&seen, (size_t)n);
		}
		file_write(pool_printf(pool, "%s/model.seen", dir), seen.data);
		(void)!send(c, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
	}
}

static void model_start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	model_port = port_free();
	a.sin_port = htons((uint16_t)model_port);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 8), 0);
	model.pid = fork();
	model.pidfd = -1;
	if (!model.pid)
		model_serve(fd);
	(void)close(fd);
}

static void gate_start(void)
{
	const char *const argv[] = {testprogram("asb-gate"), NULL};
	const char *const env[] = {pool_printf(pool, "ASB_RUN_DIR=%s", dir),
		pool_printf(pool, "ASB_DB=%s", testdb_conninfo("asb_gate")),
		pool_printf(pool, "BOX_UID_BASE=%d", BASE_UID),
		pool_printf(pool, "ASB_GIT_UPSTREAMS=git.test=http://127.0.0.1:%d", git_port),
		pool_printf(pool, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d/", model_port),
		"ANTHROPIC_API_KEY=sk-the-real-key", "MCP_HTTP_TOKEN=a-token-that-is-long-enough",
		NULL};
	const char *path = pool_printf(pool, "%s/gate.sock", dir);

	gate = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	assert_true(child_start(&gate, &err));
	for (int i = 0; i < 100 && access(path, F_OK); i++)
		(void)poll(NULL, 0, 50);
}

static int setup(void **state)
{
	char template[] = "/tmp/asb-gate.XXXXXX";

	(void)state;
	pool = pool_new();
	dir = pool_strdup(pool, mkdtemp(template));
	assert_int_equal(chmod(dir, 0755), 0);
	git_port = port_free();
	run((const char *const[]){"/usr/bin/mkdir", pool_printf(pool, "%s/tree", dir), NULL});
	file_write(pool_printf(pool, "%s/tree/hello.txt", dir), "hello from upstream\n");
	run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "start",
		pool_printf(pool, "%s/git", dir), pool_printf(pool, "%d", git_port), NULL});
	run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "add",
		pool_printf(pool, "%s/git", dir), "owner/name", pool_printf(pool, "%s/tree", dir),
		NULL});
	run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "add",
		pool_printf(pool, "%s/git", dir), "owner/secret", pool_printf(pool, "%s/tree", dir),
		NULL});
	model_start();
	testdb_exec("INSERT INTO boxes (account_id, name, state, image, class, memory_bytes, cpus, "
		    "disk_bytes,"
		    " host, slot, deadline_at, expires_at) VALUES (1, '" BOX
		    "', 'ready', 'base', 's', 1, 1, 1,"
		    " 'h', %d, now() + '1 h', now() + '1 h')",
		SLOT);
	testdb_exec("INSERT INTO runs (account_id, name, box_id, title, task, agent, source, "
		    "repos, created_by)"
		    " SELECT 1, 'run-gatetest', id, 't', 't', 'script', 'git',"
		    " '[{\"repo\":\"owner/name\",\"dir\":\"name\"}]', 'operator' FROM boxes WHERE "
		    "name = '" BOX "'");
	gate_start();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	child_kill(&gate);
	child_kill(&model);
	run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "stop",
		pool_printf(pool, "%s/git", dir), NULL});
	run((const char *const[]){"/usr/bin/rm", "-rf", dir, NULL});
	pool_free(pool);
	return 0;
}

/* --- the shim's part -----------------------------------------------------------------------------
 */

struct peer {
	int fd;
	struct wire_decoder in;
};

static void peer_send(struct peer *p, enum wire_type type, uint32_t stream, const char *data)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

	assert_true(wire_add(&b, type, stream, data, strlen(data)));
	assert_int_equal(send(p->fd, b.data, b.len, MSG_NOSIGNAL), (ssize_t)b.len);
}

/* The next frame, or false when the gate closed the connection. */
static bool peer_next(struct peer *p, struct wire_frame *f)
{
	struct pollfd pfd = {.fd = p->fd, .events = POLLIN};
	bool got;

	for (;;) {
		assert_true(wire_decode(&p->in, f, &got, &err));
		if (got)
			return true;
		assert_int_equal(poll(&pfd, 1, 10000), 1);
		ssize_t n = recv(p->fd, wire_decoder_room(&p->in, 65536), 65536, 0);
		if (n <= 0)
			return false;
		wire_decoder_grew(&p->in, (size_t)n);
	}
}

/* Connects as this uid (a child becomes it and hands the socket over) and attaches. */
static void peer_open(struct peer *p, uid_t uid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int status;
	pid_t pid;

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/gate.sock", dir);
	wire_decoder_init(&p->in);
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* SO_PEERCRED is the identity at connect(2), and the socket is shared with the child */
	pid = fork();
	if (!pid)
		_exit(setuid(uid) || connect(p->fd, (struct sockaddr *)&a, sizeof(a)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	peer_send(p, WIRE_ATTACH, 0, "{\"box\":\"" BOX "\"}");
}

static void peer_close(struct peer *p)
{
	wire_decoder_done(&p->in);
	(void)close(p->fd);
}

/* Opens a route stream, sends a request and collects the answer until EOF or REFUSE. */
static const char *ask(struct peer *p, uint32_t stream, const char *request)
{
	struct buf b = BUF_INIT(1 << 20);
	struct wire_frame f;

	peer_send(p, WIRE_OPEN, stream, "{\"route\":\"/\"}");
	assert_true(peer_next(p, &f));
	assert_int_equal(f.type, WIRE_ACCEPT);
	peer_send(p, WIRE_DATA, stream, request);
	for (;;) {
		assert_true(peer_next(p, &f));
		assert_int_equal(f.stream, stream);
		if (f.type == WIRE_EOF || f.type == WIRE_REFUSE)
			break;
		if (f.type == WIRE_DATA)
			assert_true(buf_add(&b, f.payload, f.length));
	}
	for (size_t i = 0; i < b.len; i++) /* git ends a ref with NUL; strstr is to see past it */
		if (!b.data[i])
			b.data[i] = ' ';
	const char *text = pool_memdup(pool, b.data, b.len);
	buf_done(&b);
	return text;
}

#define UID (BASE_UID + 16 + SLOT)
#define S(n) (WIRE_STREAM_EGRESS + (n))

static void fetches_the_runs_repo_and_no_other(void **state)
{
	struct peer p;
	const char *a;

	(void)state;
	peer_open(&p, UID);
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
	peer_close(&p);
}

static void the_model_route_overwrites_credentials(void **state)
{
	struct peer p;
	const char *a, *seen;
	char text[8192] = "";

	(void)state;
	peer_open(&p, UID);
	a = ask(&p, S(1),
		"POST /model/v1/messages?beta=true HTTP/1.1\r\nX-Api-Key: "
		"attackers\r\nAuthorization: Bearer attackers\r\n"
		"Cookie: attackers\r\nAnthropic-Version: 2023-06-01\r\nContent-Type: "
		"application/json\r\n"
		"Transfer-Encoding: "
		"chunked\r\n\r\n9\r\n{\"a\":\"b\"}\r\n7\r\nENDBODY\r\n0\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 200"));
	assert_non_null(strstr(a, "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n"));
	assert_non_null(strstr(a, "request-id: req_1"));
	assert_null(strstr(a, "Set-Cookie"));
	{
		CLEANUP(file) FILE *f = fopen(pool_printf(pool, "%s/model.seen", dir), "re");

		assert_non_null(f);
		assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	}
	seen = text;
	assert_non_null(strstr(seen, "x-api-key: sk-the-real-key"));
	assert_non_null(strstr(seen, "anthropic-version: 2023-06-01"));
	assert_non_null(strstr(seen, "ENDBODY"));
	assert_null(strstr(seen, "attackers"));
	a = ask(&p, S(2), "POST /model/v1/files HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 403"));
	a = ask(&p, S(3), "HEAD /model HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(a, "HTTP/1.1 200"));
	peer_close(&p);
}

static void the_open_world_is_refused_and_says_why(void **state)
{
	struct wire_frame f;
	struct peer p;

	(void)state;
	peer_open(&p, UID);
	peer_send(&p, WIRE_OPEN, S(1), "{\"host\":\"example.com\",\"port\":443}");
	assert_true(peer_next(&p, &f));
	assert_int_equal(f.type, WIRE_REFUSE);
	assert_non_null(memmem(f.payload, f.length, "sealed", 6));
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND target = "
				    "'example.com:443'"),
		1);
	assert_non_null(strstr(ask(&p, S(2), "GET /nowhere HTTP/1.1\r\n\r\n"), "HTTP/1.1 404"));
	assert_non_null(strstr(ask(&p, S(3), "GET / HTTP/1.1\nbare\r\n\r\n"), "HTTP/1.1 400"));
	peer_close(&p);
}

static void a_shim_is_only_its_own_box(void **state)
{
	struct wire_frame f;
	struct peer p;

	(void)state;
	if (getuid()) {
		print_message("not root: other uids cannot be tried\n");
		skip();
	}
	peer_open(&p, UID + 1);
	assert_false(peer_next(&p, &f)); /* closed without a word */
	peer_close(&p);
	peer_open(&p, UID); /* the same, with the right uid, is served */
	peer_send(&p, WIRE_PING, 0, "x");
	assert_true(peer_next(&p, &f));
	assert_int_equal(f.type, WIRE_PONG);
	peer_send(&p, WIRE_DATA, 7, "not an egress stream");
	assert_false(peer_next(&p, &f));
	peer_close(&p);
}

/* A box that takes nothing holds back its own transfer only. */
static void credit_holds_the_answer_back(void **state)
{
	struct wire_frame f;
	struct peer p;
	size_t got = 0;
	unsigned char u64[8];

	(void)state;
	run((const char *const[]){"/usr/bin/dd", "if=/dev/urandom",
		pool_printf(pool, "of=%s/tree/big", dir), "bs=1M", "count=2", "status=none", NULL});
	run((const char *const[]){
		"/usr/bin/rm", "-rf", pool_printf(pool, "%s/git/repos/owner/name.git", dir), NULL});
	run((const char *const[]){"/usr/bin/bash", "tests/support/git-upstream", "add",
		pool_printf(pool, "%s/git", dir), "owner/name", pool_printf(pool, "%s/tree", dir),
		NULL});
	peer_open(&p, UID);
	const char *refs = ask(&p, S(1),
		"GET /git/git.test/owner/name.git/info/refs?service=git-upload-pack "
		"HTTP/1.1\r\n\r\n");
	const char *head = strstr(refs, " HEAD");
	assert_non_null(head);
	const char *want = pool_printf(pool, "0032want %.40s\n00000009done\n", head - 40);
	peer_send(&p, WIRE_OPEN, S(2), "{\"route\":\"/git\"}");
	assert_true(peer_next(&p, &f));
	peer_send(&p, WIRE_DATA, S(2),
		pool_printf(pool,
			"POST /git/git.test/owner/name.git/git-upload-pack HTTP/1.1\r\n"
			"Content-Type: application/x-git-upload-pack-request\r\nContent-Length: "
			"%zu\r\n\r\n%s",
			strlen(want), want));
	for (int64_t until = time_boot_ms() + 1500; time_boot_ms() < until;) {
		struct pollfd pfd = {.fd = p.fd, .events = POLLIN};
		bool more;

		assert_true(wire_decode(&p.in, &f, &more, &err));
		if (more && f.type == WIRE_DATA)
			got += f.length;
		else if (!more && poll(&pfd, 1, 200) == 1)
			wire_decoder_grew(&p.in,
				(size_t)recv(p.fd, wire_decoder_room(&p.in, 65536), 65536, 0));
	}
	assert_true(got > 0 && got <= WIRE_WINDOW);
	wire_put_u64(u64, 64 << 20);
	CLEANUP(buf) struct buf b = BUF_INIT(64);
	assert_true(wire_add(&b, WIRE_CREDIT, S(2), u64, 8));
	assert_int_equal(send(p.fd, b.data, b.len, MSG_NOSIGNAL), (ssize_t)b.len);
	do {
		assert_true(peer_next(&p, &f));
		got += f.type == WIRE_DATA ? f.length : 0;
	} while (f.type == WIRE_DATA);
	assert_int_equal(f.type, WIRE_EOF);
	assert_true(got > 2 << 20);
	peer_close(&p);
}

/* More than may be opened at once: refused without a row; and what was left of the burst has rows.
 */
static void a_box_that_opens_without_end_leaves_a_bounded_number_of_rows(void **state)
{
	int64_t before = testdb_i64("SELECT count(*) FROM egress"), rows;
	struct wire_frame f;
	struct peer p;
	int sealed = 0;

	(void)state;
	peer_open(&p, UID);
	for (uint32_t i = 0; i < 600; i++) {
		peer_send(&p, WIRE_OPEN, S(1000 + i), "{\"host\":\"example.org\",\"port\":443}");
		assert_true(peer_next(&p, &f));
		assert_int_equal(f.type, WIRE_REFUSE);
		sealed += memmem(f.payload, f.length, "sealed", 6) != NULL;
	}
	assert_non_null(memmem(f.payload, f.length, "too_fast", 8));
	rows = testdb_i64("SELECT count(*) FROM egress") - before;
	assert_int_equal(rows, sealed);
	assert_true(sealed >= 256 && sealed < 600);
	peer_close(&p);
}

static void a_box_has_one_connection(void **state)
{
	struct peer first, second;
	struct wire_frame f;

	(void)state;
	peer_open(&first, UID);
	peer_send(&first, WIRE_PING, 0, "a");
	assert_true(peer_next(&first, &f));
	peer_open(&second, UID);
	peer_send(&second, WIRE_PING, 0, "b");
	assert_true(peer_next(&second, &f));
	assert_false(peer_next(&first, &f));
	peer_close(&first);
	peer_close(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fetches_the_runs_repo_and_no_other),
		cmocka_unit_test(the_model_route_overwrites_credentials),
		cmocka_unit_test(the_open_world_is_refused_and_says_why),
		cmocka_unit_test(a_shim_is_only_its_own_box),
		cmocka_unit_test(credit_holds_the_answer_back),
		cmocka_unit_test(a_box_has_one_connection),
		cmocka_unit_test(a_box_that_opens_without_end_leaves_a_bounded_number_of_rows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
