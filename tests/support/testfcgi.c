/*
 * The client side of FastCGI, as little as a test needs.
 */
#include "testfcgi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "pool.h"

enum { BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6 };

static void add_record(struct buf *b, int type, const void *data, size_t n)
{
	const unsigned char head[8] = {1, (unsigned char)type, 0, 1, (unsigned char)(n >> 8),
		(unsigned char)(n & 0xff), 0, 0};

	(void)buf_add(b, head, sizeof(head));
	(void)buf_add(b, data, n);
}

static void add_length(struct buf *b, size_t n)
{
	if (n > 127) {
		(void)buf_addc(b, (char)(0x80 | (n >> 24)));
		(void)buf_addc(b, (char)(n >> 16));
		(void)buf_addc(b, (char)(n >> 8));
	}
	(void)buf_addc(b, (char)(n & 0xff));
}

static void add_param(struct buf *b, const char *param)
{
	size_t name = strcspn(param, "="), value = strlen(param) - name - 1;

	add_length(b, name);
	add_length(b, value);
	(void)buf_add(b, param, name);
	(void)buf_adds(b, param + name + 1);
}

static void make_request(struct pool *pool, struct buf *out, const char *method, const char *url,
	const char *const *params, const char *body, size_t n)
{
	static const unsigned char begin[8] = {0, 1, 0, 0, 0, 0, 0, 0};
	CLEANUP(buf) struct buf b = BUF_INIT(60000);
	size_t path = strcspn(url, "?");

	add_param(&b, pool_printf(pool, "REQUEST_METHOD=%s", method));
	add_param(&b, pool_printf(pool, "DOCUMENT_URI=%.*s", (int)path, url));
	add_param(&b, pool_printf(pool, "QUERY_STRING=%s", url[path] ? url + path + 1 : ""));
	add_param(&b, pool_printf(pool, "CONTENT_LENGTH=%zu", n));
	add_param(&b, "REMOTE_ADDR=127.0.0.1");
	for (; *params; params++)
		add_param(&b, *params);
	add_record(out, BEGIN, begin, sizeof(begin));
	add_record(out, PARAMS, b.data, b.len);
	add_record(out, PARAMS, "", 0);
	for (size_t at = 0; at < n; at += 65528)
		add_record(out, STDIN, body + at, n - at < 65528 ? n - at : 65528);
	add_record(out, STDIN, "", 0);
}

static int open_socket(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = 20};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return fd;
	(void)close(fd);
	return -1;
}

/* STDOUT's content in place of the records; false where END_REQUEST does not come. */
static int take_records(struct buf *in, struct buf *out)
{
	size_t at = 0;

	while (in->len - at >= 8) {
		const unsigned char *h = (const unsigned char *)in->data + at;
		size_t n = (size_t)h[4] << 8 | h[5];

		if (in->len - at < 8 + n + h[6])
			return 0;
		if (h[1] == STDOUT)
			(void)buf_add(out, h + 8, n);
		if (h[1] == END)
			return 1;
		at += 8 + n + h[6];
	}
	return 0;
}

int testfcgi_pause_ms;

struct fcgi_answer testfcgi_ask(struct pool *pool, const char *socket_path, const char *method,
	const char *url, const char *const *params, const char *body, size_t n)
{
	CLEANUP(buf)
	struct buf request = BUF_INIT(64 << 20), in = BUF_INIT(64 << 20), out = BUF_INIT(64 << 20);
	CLEANUP(fd) int fd = -1;
	struct fcgi_answer a = {0};
	ssize_t got;

	/* first: who connects and says nothing for 2 s is dropped */
	make_request(pool, &request, method, url, params, body, n);
	fd = open_socket(socket_path);
	if (fd < 0)
		return a;
	(void)usleep((useconds_t)testfcgi_pause_ms * 1000);
	for (size_t at = 0; at < request.len; at += (size_t)got) {
		got = send(fd, request.data + at, request.len - at, MSG_NOSIGNAL);
		if (got <= 0)
			return a;
	}
	do {
		got = read(fd, buf_room(&in, 65536), 65536);
		if (got > 0)
			buf_grew(&in, (size_t)got);
	} while (got > 0);
	if (!take_records(&in, &out))
		return a;
	a.text = pool_memdup(pool, out.data, out.len);
	a.n = out.len;
	a.status = strncmp(a.text, "Status: ", 8) ? 200 : (int)strtol(a.text + 8, NULL, 10);
	return a;
}
