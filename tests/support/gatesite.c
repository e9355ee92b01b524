/*
 * asb-gate and the shim's end of its socket.
 */
#include "gatesite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testprogram.h"

static struct child gate;

int port_free(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	CLEANUP(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

void command_run(const char *const *argv)
{
	const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", NULL};
	struct child c = {.argv = argv, .env = env};
	struct err err;
	int status;

	assert_true(child_start(&c, &err));
	assert_true(child_wait(&c, 30000, &status, &err));
	assert_int_equal(status, 0);
}

void file_write(const char *path, const char *text)
{
	CLEANUP(file) FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

const char *gatesite_dir(struct pool *pool)
{
	char template[] = "/tmp/asb-gate.XXXXXX";
	const char *dir = pool_strdup(pool, mkdtemp(template));

	assert_int_equal(chmod(dir, 0755), 0);
	return dir;
}

void gatesite_program(struct pool *pool, const char *dir, const char *const *settings)
{
	const char *const argv[] = {testprogram("asb-gate"), NULL};
	const char *path = pool_printf(pool, "%s/gate.sock", dir);
	const char *env[16] = {pool_printf(pool, "ASB_RUN_DIR=%s", dir),
		pool_printf(pool, "ASB_DB=%s", testdb_conninfo("asb_gate")),
		"MCP_HTTP_TOKEN=a-token-that-is-long-enough"};
	struct err err;

	for (size_t i = 0; settings[i]; i++)
		env[3 + i] = settings[i];
	(void)unlink(path); /* of one that ran before */
	gate = (struct child){.argv = argv, .env = env, .die_with_parent = true};
	assert_true(child_start(&gate, &err));
	for (int i = 0; i < 400 && access(path, F_OK); i++)
		(void)poll(NULL, 0, 50);
}

void gatesite_start(struct pool *pool, const char *dir, const char *const *settings)
{
	const char *with_uids[16] = {pool_printf(pool, "BOX_UID_BASE=%d", GATE_BASE_UID)};

	for (size_t i = 0; settings[i]; i++)
		with_uids[1 + i] = settings[i];
	testdb_exec("INSERT INTO boxes (account_id, name, state, image, class, memory_bytes, cpus, "
		    "disk_bytes, host, slot, deadline_at, expires_at) VALUES (1, '" GATE_BOX
		    "', 'ready', 'base', 's', 1, 1, 1, 'h', %d, now() + '1 h', now() + '1 h')",
		GATE_SLOT);
	testdb_exec("INSERT INTO runs (account_id, name, box_id, title, task, agent, source, "
		    "repos, created_by) SELECT 1, 'run-gatetest', id, 't', 't', 'script', 'git',"
		    " '[{\"repo\":\"owner/name\",\"dir\":\"name\"}]', 'operator' FROM boxes WHERE "
		    "name = '" GATE_BOX "'");
	testdb_exec(
		"INSERT INTO turns (account_id, run_id, box_id, n, message, state)"
		" SELECT 1, id, box_id, 1, 't', 'running' FROM runs WHERE name = 'run-gatetest'");
	gatesite_program(pool, dir, with_uids);
}

void gatesite_start_logged(struct pool *pool, const char *dir, const char *const *settings)
{
	CLEANUP(fd) int saved = dup(2);
	CLEANUP(fd)
	int log = open(pool_printf(pool, "%s/log", dir), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)dup2(log, 2);
	gatesite_start(pool, dir, settings);
	(void)dup2(saved, 2);
}

const char *gatesite_file(struct pool *pool, const char *dir, const char *name)
{
	CLEANUP(file) FILE *f = fopen(pool_printf(pool, "%s/%s", dir, name), "re");
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
	size_t n;

	while (f && (n = fread(buf_room(&b, 4096), 1, 4096, f)) > 0)
		buf_grew(&b, n);
	return pool_memdup(pool, b.data, b.len);
}

int gatesite_model(struct pool *pool, const char *dir, const char *key_text, pid_t *endpoint)
{
	const char *log = pool_printf(pool, "%s/requests", dir),
		   *key = pool_printf(pool, "%s/key", dir);
	int out[2], port = 0;
	char said[64] = "";

	file_write(key, pool_printf(pool, "%s\n", key_text));
	assert_int_equal(pipe(out), 0);
	*endpoint = fork();
	if (!*endpoint) {
		(void)dup2(out[1], 1);
		(void)execlp("node", "node", "tests/support/model-endpoint", "0", log, key,
			(char *)NULL);
		_exit(99);
	}
	(void)close(out[1]);
	assert_true(read(out[0], said, sizeof(said) - 1) > 0);
	(void)close(out[0]);
	assert_int_equal(sscanf(said, "port %d", &port), 1);
	return port;
}

void gatesite_end(void)
{
	child_kill(&gate);
}

void gatesite_stop(const char *dir)
{
	gatesite_end();
	command_run((const char *const[]){"/usr/bin/rm", "-rf", dir, NULL});
}

void gate_peer_send(
	struct gate_peer *p, enum wire_type type, uint32_t stream, const void *data, size_t n)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

	assert_true(wire_add(&b, type, stream, data, n));
	assert_int_equal(send(p->fd, b.data, b.len, MSG_NOSIGNAL), (ssize_t)b.len);
}

void gate_peer_say(struct gate_peer *p, enum wire_type type, uint32_t stream, const char *text)
{
	gate_peer_send(p, type, stream, text, strlen(text));
}

void gate_peer_credit(struct gate_peer *p, uint32_t stream, uint64_t value)
{
	unsigned char u64[8];

	wire_put_u64(u64, value);
	gate_peer_send(p, WIRE_CREDIT, stream, u64, sizeof(u64));
}

bool gate_peer_next(struct gate_peer *p, struct wire_frame *f)
{
	struct pollfd pfd = {.fd = p->fd, .events = POLLIN};
	struct err err;
	ssize_t n;
	bool got;

	for (;;) {
		assert_true(wire_decode(&p->in, f, &got, &err));
		if (got)
			return true;
		assert_int_equal(poll(&pfd, 1, 20000), 1);
		n = recv(p->fd, wire_decoder_room(&p->in, 65536), 65536, 0);
		if (n <= 0)
			return false;
		wire_decoder_grew(&p->in, (size_t)n);
	}
}

/* The gate's socket is there before the gate listens on it. */
static bool connect_soon(int fd, const struct sockaddr_un *a)
{
	for (int i = 0; i < 3000; i++) {
		if (!connect(fd, (const struct sockaddr *)a, sizeof(*a)))
			return true;
		(void)usleep(10000);
	}
	return false;
}

void gate_peer_open(struct gate_peer *p, const char *dir, uid_t uid)
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
		_exit(setuid(uid) || !connect_soon(p->fd, &a));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	gate_peer_say(p, WIRE_ATTACH, 0, "{\"box\":\"" GATE_BOX "\"}");
}

void gate_peer_close(struct gate_peer *p)
{
	wire_decoder_done(&p->in);
	(void)close(p->fd);
}

const char *gate_peer_answer(struct gate_peer *p, struct pool *pool, uint32_t stream, bool *whole)
{
	CLEANUP(buf) struct buf b = BUF_INIT(4 << 20);
	struct wire_frame f;

	for (;;) {
		assert_true(gate_peer_next(p, &f));
		if (f.stream != stream)
			continue;
		if (f.type == WIRE_EOF || f.type == WIRE_REFUSE)
			break;
		if (f.type == WIRE_DATA) {
			assert_true(buf_add(&b, f.payload, f.length));
			gate_peer_credit(p, stream, b.len + WIRE_WINDOW);
		}
	}
	if (whole)
		*whole = f.type == WIRE_EOF;
	for (size_t i = 0; i < b.len; i++) /* git ends a ref with NUL; strstr is to see past it */
		if (!b.data[i])
			b.data[i] = ' ';
	return pool_memdup(pool, b.data, b.len);
}

const char *gate_peer_ask(
	struct gate_peer *p, struct pool *pool, uint32_t stream, const char *request, bool *whole)
{
	struct wire_frame f;

	gate_peer_say(p, WIRE_OPEN, stream, "{\"route\":\"/\"}");
	do
		assert_true(gate_peer_next(p, &f));
	while (f.stream != stream);
	assert_int_equal(f.type, WIRE_ACCEPT);
	gate_peer_say(p, WIRE_DATA, stream, request);
	return gate_peer_answer(p, pool, stream, whole);
}
