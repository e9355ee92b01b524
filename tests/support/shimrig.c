/*
 * The rig around a real shim. See shimrig.h.
 */
#include "shimrig.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"
#include "json.h"
#include "testprogram.h"
#include "text.h"

#define WAIT_MS 10000

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "shimrig: %s: %s\n", what, strerror(errno));
	abort();
}

static void must(bool fine, const struct err *err)
{
	if (fine)
		return;
	(void)fprintf(stderr, "shimrig: %s\n", err->msg);
	abort();
}

static struct sockaddr_un address(const char *dir, const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.60s/%s", dir, name);
	return a;
}

static int listen_on(const char *dir, const char *name)
{
	struct sockaddr_un a = address(dir, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 64))
		fail(name);
	return fd;
}

static int connect_to(const char *dir, const char *name)
{
	struct sockaddr_un a = address(dir, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		fail(name);
	return fd;
}

/* The box: "--fd 3 --run DIR/asb". Its channel goes to whoever listens on DIR/fake.sock. */
void shimrig_main(int argc, char **argv)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 0, *slash;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int channel = 3, fd;

	if (argc < 5 || strcmp(argv[1], "--fd") != 0)
		return;
	slash = strrchr(argv[4], '/');
	*slash = '\0';
	fd = connect_to(argv[4], "fake.sock");
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &channel, sizeof(int));
	if (sendmsg(fd, &msg, 0) != 1)
		fail("hand the channel over");
	(void)close(3);
	for (;;)
		(void)pause();
}

static int channel_receive(int listener, pid_t *box)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room)};
	struct pollfd p = {.fd = listener, .events = POLLIN};
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	int channel;

	if (poll(&p, 1, WAIT_MS) != 1)
		fail("the shim started no box");
	CLEANUP(fd) int fd = accept(listener, NULL, NULL);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
		recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) != 1)
		fail("take the channel");
	memcpy(&channel, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	*box = cred.pid;
	return channel;
}

static void shim_start(struct rig *rig, int listener, int report, const char *const *env)
{
	static char self[300];
	char gate[128], dir[128], boxd[320];
	const char *list[24] = {
		"ASB_BOX=box-rig", "ASB_RUNTIME=process", "ASB_LOG_LEVEL=error", gate, dir, boxd};
	const char *const argv[] = {"asb-rigtests-box-rig", "0", NULL};
	const struct child_fd fds[] = {{listener, 3}, {report, 4}};
	struct child c = {
		.path = testprogram("asb-shim"), .argv = argv, .env = list, .fds = fds, .nfds = 2};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t at = 6;
	struct err err;

	self[n > 0 ? n : 0] = '\0';
	(void)snprintf(gate, sizeof(gate), "ASB_GATE_SOCKET=%s/gate.sock", rig->dir);
	(void)snprintf(dir, sizeof(dir), "ASB_BOX_DIR=%s", rig->dir);
	(void)snprintf(boxd, sizeof(boxd), "ASB_SHIM_BOXD=%s", self);
	while (env && *env && at < 23)
		list[at++] = *env++;
	must(child_start(&c, &err), &err);
	(void)close(c.pidfd);
	rig->shim = c.pid;
}

void shimrig_start(struct rig *rig, const char *const *env)
{
	int pair[2];
	char text[4096];

	*rig = (struct rig){.dir = "/tmp/asb-shimrig.XXXXXX"};
	if (!mkdtemp(rig->dir) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		fail("mkdtemp");
	CLEANUP(fd) int fake = listen_on(rig->dir, "fake.sock");
	CLEANUP(fd) int listener = listen_on(rig->dir, "shim.sock");
	shim_start(rig, listener, pair[1], env);
	(void)close(pair[1]);
	rig->fds[0] = channel_receive(fake, &rig->box);
	if (recv(pair[0], text, sizeof(text), 0) <= 0)
		fail("no report");
	(void)close(pair[0]);
	boxlink_init(&rig->link, rig->fds[0], -1);
}

void shimrig_greet(struct rig *rig, int64_t skew_ms)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct wire_frame f;
	const char *nonce;
	char text[512];
	struct err err;

	want_frame(&rig->link, WIRE_ATTACH, 0, &f);
	must(json_parse((const char *)f.payload, f.length, &o, &err) &&
			json_get_text(o, "nonce", &nonce),
		&err);
	(void)snprintf(text, sizeof(text),
		"{\"protocol\":1,\"nonce\":\"%s\",\"build\":\"rig\",\"boot_id\":\"old\",\"kernel\":"
		"\"6.1-rig\","
		"\"machine\":{\"memory_bytes\":1,\"cpus\":1,\"nics\":0,\"uid\":0,\"clock_ms\":1},"
		"\"execs\":[]}",
		nonce);
	send_json(&rig->link, WIRE_HELLO, 0, text);
	want_frame(&rig->link, WIRE_WELCOME, 0, &f);
	(void)snprintf(text, sizeof(text), "{\"boot_id\":\"fresh\",\"clock_ms\":%lld}",
		(long long)(time_now_ms() + skew_ms));
	send_json(&rig->link, WIRE_READY, 0, text);
}

void shimrig_ready(struct rig *rig)
{
	shimrig_start(rig, NULL);
	shimrig_greet(rig, 0);
}

static void file_remove(const char *dir, const char *name)
{
	(void)unlink(address(dir, name).sun_path);
}

void shimrig_stop(struct rig *rig)
{
	(void)kill(rig->shim, SIGKILL);
	(void)waitpid(rig->shim, NULL, 0);
	(void)kill(rig->box, SIGKILL);
	boxlink_done(&rig->link);
	(void)close(rig->fds[0]);
	file_remove(rig->dir, "fake.sock");
	file_remove(rig->dir, "shim.sock");
	file_remove(rig->dir, "gate.sock");
	(void)rmdir(rig->dir);
}

static bool is_gone(pid_t pid)
{
	char path[64], text[512], *at;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CLEANUP(file) FILE *f = fopen(path, "re");
	if (!f)
		return true;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	at = strrchr(text, ')');
	return !at || at[2] == 'Z' || at[2] == 'X';
}

bool gone_within(pid_t pid, int ms)
{
	for (int64_t end = time_boot_ms() + ms; time_boot_ms() < end; (void)usleep(2000))
		if (is_gone(pid))
			return true;
	return is_gone(pid);
}

void peer_connect(struct rig *rig, struct peerlink *p)
{
	p->fd = connect_to(rig->dir, "shim.sock");
	boxlink_init(&p->link, p->fd, -1);
}

void peer_attach(struct peerlink *p, const char *lane, int epoch)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "{\"lane\":\"%s\",\"epoch\":%d}", lane, epoch);
	send_json(&p->link, WIRE_ATTACH, 0, text);
}

void peer_hello(struct rig *rig, struct peerlink *p, const char *lane, int epoch,
	struct json_object **hello)
{
	struct json_object *o = NULL;
	struct wire_frame f;
	struct err err;

	peer_connect(rig, p);
	peer_attach(p, lane, epoch);
	want_frame(&p->link, WIRE_HELLO, 0, &f);
	must(json_parse((const char *)f.payload, f.length, &o, &err), &err);
	if (hello)
		*hello = o;
	else
		json_free(o);
}

void peer_end(struct peerlink *p)
{
	boxlink_done(&p->link);
	(void)close(p->fd);
	p->fd = -1;
}

void want_frame(struct boxlink *l, enum wire_type type, uint32_t stream, struct wire_frame *f)
{
	struct err err;

	must(boxlink_next(l, WAIT_MS, f, &err), &err);
	if (f->type == type && f->stream == stream)
		return;
	(void)fprintf(stderr, "shimrig: wanted %s on %u, got %s on %u: %.*s\n",
		wire_type_name(type), stream, wire_type_name(f->type), f->stream, (int)f->length,
		(const char *)f->payload);
	abort();
}

void want_error(struct peerlink *p, const char *code)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *is = "";
	struct wire_frame f;
	struct err err;

	want_frame(&p->link, WIRE_ERROR, 0, &f);
	must(json_parse((const char *)f.payload, f.length, &o, &err), &err);
	(void)json_get_text(o, "code", &is);
	if (strcmp(is, code)) {
		(void)fprintf(stderr, "shimrig: wanted error %s, got %.*s\n", code, (int)f.length,
			(const char *)f.payload);
		abort();
	}
}

void want_silence(struct boxlink *l, int ms)
{
	struct wire_frame f;
	struct err err;

	if (!boxlink_next(l, ms, &f, &err) && err.code == ERR_TIMEOUT)
		return;
	(void)fprintf(stderr, "shimrig: wanted silence, got something\n");
	abort();
}

void send_json(struct boxlink *l, enum wire_type type, uint32_t stream, const char *json)
{
	struct err err;

	must(boxlink_send(l, type, stream, json, &err), &err);
}

void send_credit(struct boxlink *l, uint32_t stream, uint64_t value)
{
	unsigned char p[8];
	struct err err;

	wire_put_u64(p, value);
	must(boxlink_send_bytes(l, WIRE_CREDIT, stream, p, sizeof(p), &err), &err);
}

void send_output(struct boxlink *l, uint32_t stream, uint64_t offset, const void *data, size_t n)
{
	static unsigned char p[WIRE_PAYLOAD_MAX];
	struct err err;

	assert(n + WIRE_OFFSET <= sizeof(p));
	wire_put_u64(p, offset);
	memcpy(p + WIRE_OFFSET, data, n);
	must(boxlink_send_bytes(l, WIRE_STDOUT, stream, p, n + WIRE_OFFSET, &err), &err);
}

void shimrig_exec(struct rig *rig, struct peerlink *p, uint32_t stream)
{
	struct wire_frame f;

	send_json(&p->link, WIRE_EXEC, stream, "{\"argv\":[\"x\"]}");
	want_frame(&rig->link, WIRE_EXEC, stream, &f);
	send_json(&rig->link, WIRE_STARTED, stream, "{\"pid\":1}");
	want_frame(&p->link, WIRE_STARTED, stream, &f);
}
