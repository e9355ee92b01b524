/*
 * The host's side of the box protocol, as small as a test wants it.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"

void boxd_start(struct boxd_peer *p, const char *groups)
{
	const char *program = getenv("ASB_BOXD") ? getenv("ASB_BOXD") : "build/box/asb-boxd";
	int pair[2];

	memset(p, 0, sizeof(*p));
	memcpy(p->dir, "/tmp/asb-boxd-XXXXXX", 21);
	assert_non_null(mkdtemp(p->dir));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	p->pid = fork();
	if (p->pid == 0) {
		(void)dup2(pair[1], 3);
		(void)closefrom(4);
		(void)execl(program, "asb-boxd", "--fd", "3", "--run", p->dir, "--groups", groups,
			(char *)NULL);
		_exit(99);
	}
	(void)close(pair[1]);
	p->fd = pair[0];
	wire_decoder_init(&p->in);
}

bool boxd_next(struct boxd_peer *p)
{
	struct pollfd pfd = {.fd = p->fd, .events = POLLIN};
	struct err err = {0};
	bool got;
	ssize_t n;

	for (;;) {
		assert_true(wire_decode(&p->in, &p->frame, &got, &err));
		if (got)
			return true;
		if (poll(&pfd, 1, BOXD_WAIT_MS) != 1)
			fail_msg("boxd says nothing");
		n = read(p->fd, wire_decoder_room(&p->in, 65536), 65536);
		if (n <= 0)
			return false;
		wire_decoder_grew(&p->in, (size_t)n);
	}
}

static const char *text_of(const struct wire_frame *f)
{
	static char text[WIRE_PAYLOAD_MAX + 1];

	memcpy(text, f->payload, f->length);
	text[f->length] = '\0';
	return text;
}

const char *boxd_text(const struct boxd_peer *p)
{
	return text_of(&p->frame);
}

const char *boxd_expect(struct boxd_peer *p, enum wire_type type, uint32_t stream)
{
	do
		if (!boxd_next(p))
			fail_msg("boxd ended, %s was expected", wire_type_name(type));
	while (p->frame.type != type || p->frame.stream != stream);
	return text_of(&p->frame);
}

void boxd_send(
	struct boxd_peer *p, enum wire_type type, uint32_t stream, const void *data, size_t n)
{
	struct buf out = BUF_INIT(WIRE_HEADER + WIRE_PAYLOAD_MAX);

	assert_true(wire_add(&out, type, stream, data, n));
	/* an end that is closed already is for boxd_next to see */
	(void)!send(p->fd, out.data, out.len, MSG_NOSIGNAL);
	buf_done(&out);
}

void boxd_say(struct boxd_peer *p, enum wire_type type, uint32_t stream, const char *fmt, ...)
{
	struct buf json = BUF_INIT(WIRE_PAYLOAD_MAX);
	va_list ap;

	va_start(ap, fmt);
	assert_true(buf_addv(&json, fmt, ap));
	va_end(ap);
	boxd_send(p, type, stream, json.data, json.len);
	buf_done(&json);
}

void boxd_credit(struct boxd_peer *p, uint32_t stream, uint64_t value)
{
	unsigned char payload[8];

	wire_put_u64(payload, value);
	boxd_send(p, WIRE_CREDIT, stream, payload, sizeof(payload));
}

void boxd_attach(struct boxd_peer *p)
{
	char entropy[129];
	const char *text;

	memset(entropy, '5', 128);
	entropy[128] = '\0';
	boxd_say(p, WIRE_ATTACH, 0, "{\"protocol\":1,\"nonce\":\"n1\"}");
	text = boxd_expect(p, WIRE_HELLO, 0);
	assert_non_null(strstr(text, "\"nonce\":\"n1\""));
	boxd_say(p, WIRE_WELCOME, 0,
		"{\"time_ms\":%lld,\"entropy\":\"%s\",\"hostname\":\"box-test\",\"machine_id\":\"%."
		"32s\"}",
		(long long)time_now_ms(), entropy, entropy);
	text = boxd_expect(p, WIRE_READY, 0);
	text = strstr(text, "\"boot_id\":\"");
	assert_non_null(text);
	memcpy(p->boot_id, text + 11, 36);
}

void boxd_open(struct boxd_peer *p, const char *groups)
{
	boxd_start(p, groups);
	assert_int_equal(chmod(p->dir, 0777), 0);
	boxd_attach(p);
}

static int path_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

int boxd_wait(struct boxd_peer *p)
{
	int status = 0;
	pid_t pid = 0;

	for (int i = 0; i < BOXD_WAIT_MS / 10 && pid == 0; i++) {
		pid = waitpid(p->pid, &status, WNOHANG);
		if (pid == 0)
			(void)usleep(10000);
	}
	if (pid != p->pid) {
		(void)kill(p->pid, SIGKILL);
		fail_msg("boxd does not end");
	}
	(void)close(p->fd);
	wire_decoder_done(&p->in);
	(void)nftw(p->dir, path_remove, 16, FTW_DEPTH | FTW_PHYS);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void boxd_close(struct boxd_peer *p)
{
	boxd_send(p, WIRE_BYE, 0, NULL, 0);
	assert_int_equal(boxd_wait(p), 0);
}

const char *boxd_script(struct boxd_peer *p, uint32_t stream, const char *members,
	const char *script, struct buf *out)
{
	uint64_t end;

	boxd_say(p, WIRE_EXEC, stream, "{\"argv\":[\"/bin/sh\",\"-c\",\"%s\"],\"cwd\":\"/\"%s}",
		script, members);
	for (;;) {
		assert_true(boxd_next(p));
		if (p->frame.stream != stream)
			continue;
		if (p->frame.type == WIRE_ERROR)
			fail_msg("%s", text_of(&p->frame));
		if (p->frame.type == WIRE_EXIT)
			break;
		if (p->frame.type != WIRE_STDOUT && p->frame.type != WIRE_STDERR)
			continue;
		end = wire_get_u64(p->frame.payload) + p->frame.length - WIRE_OFFSET;
		if (out)
			(void)buf_add(
				out, p->frame.payload + WIRE_OFFSET, p->frame.length - WIRE_OFFSET);
		boxd_credit(p, stream, end);
	}
	boxd_send(p, WIRE_ACK_EXIT, stream, NULL, 0);
	return text_of(&p->frame);
}

enum wire_type boxd_tar_in(struct boxd_peer *p, uint32_t stream, const char *path,
	const struct buf *tar, const char **answer)
{
	uint64_t sent = 0, allowed = WIRE_WINDOW;
	bool eof = false;

	boxd_say(p, WIRE_TAR_IN, stream, "{\"path\":\"%s\",\"user\":\"agent\"}", path);
	for (;;) {
		size_t n = tar->len - sent < 30000 ? tar->len - sent : 30000;

		n = n < allowed - sent ? n : (size_t)(allowed - sent);
		if (n) {
			boxd_send(p, WIRE_DATA, stream, tar->data + sent, n);
			sent += n;
			continue;
		}
		if (sent == tar->len && !eof) {
			boxd_send(p, WIRE_EOF, stream, NULL, 0);
			eof = true;
		}
		assert_true(boxd_next(p));
		if (p->frame.stream != stream)
			continue;
		if (p->frame.type == WIRE_CREDIT)
			assert_true(wire_u64(&p->frame, &allowed));
		else if (p->frame.type == WIRE_DONE || p->frame.type == WIRE_ERROR)
			break;
	}
	*answer = text_of(&p->frame);
	return (enum wire_type)p->frame.type;
}

size_t boxd_file_size(const struct boxd_peer *p, const char *name)
{
	char path[128];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	return stat(path, &st) ? 0 : (size_t)st.st_size;
}

pid_t boxd_pid(const struct boxd_peer *p, const char *name)
{
	char path[128], text[32] = "";
	int64_t pid = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	for (int i = 0; i < 500; i++) {
		CLEANUP(fd) int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

		if (n > 1 && text[n - 1] == '\n') {
			text[n - 1] = '\0';
			assert_true(text_to_i64(text, 2, INT32_MAX, &pid));
			return (pid_t)pid;
		}
		(void)usleep(10000);
	}
	fail_msg("no %s", path);
	return 0;
}

static bool grown(const struct boxd_peer *p, const char *name, size_t before, int timeout_ms)
{
	const int64_t until = time_boot_ms() + timeout_ms;

	while (boxd_file_size(p, name) == before && time_boot_ms() < until)
		(void)usleep(20000);
	return boxd_file_size(p, name) != before;
}

void boxd_grows(const struct boxd_peer *p, const char *name)
{
	if (!grown(p, name, boxd_file_size(p, name), 20000))
		fail_msg("%s does not grow", name);
}

void boxd_rests(const struct boxd_peer *p, const char *name)
{
	if (grown(p, name, boxd_file_size(p, name), 300))
		fail_msg("%s grows", name);
}

int64_t boxd_number(const char *json, const char *key)
{
	char want[64];
	const char *at;

	(void)snprintf(want, sizeof(want), "\"%s\":", key);
	at = strstr(json, want);
	if (!at)
		fail_msg("no %s in %s", key, json);
	return strtoll(at + strlen(want), NULL, 10);
}
