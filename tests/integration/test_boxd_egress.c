/*
 * asb-boxd's way out: its proxy, with a gate played by the test.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

/* The proxy's port, out of an exec's environment. */
static int proxy_connect(struct boxd_peer *p, uint32_t stream)
{
	CLEANUP(buf) struct buf out = BUF_INIT(4096);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)boxd_script(p, stream, "", "echo ${http_proxy##*:}", &out);
	to.sin_port = htons((uint16_t)strtol(out.data, NULL, 10));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void socket_put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* All until the end, or `want` bytes. */
static void socket_get(int fd, struct buf *out, size_t want)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	char text[4096];
	ssize_t n;

	while (out->len < want) {
		if (poll(&pfd, 1, 10000) != 1)
			fail_msg("the proxy says nothing");
		n = read(fd, text, sizeof(text));
		if (n <= 0)
			return;
		(void)buf_add(out, text, (size_t)n);
	}
}

static uint32_t open_expect(struct boxd_peer *p, const char *says)
{
	char text[512];

	do
		assert_true(boxd_next(p));
	while (p->frame.type != WIRE_OPEN);
	assert_true(p->frame.stream >= WIRE_STREAM_EGRESS);
	assert_true(p->frame.length < sizeof(text));
	memcpy(text, p->frame.payload, p->frame.length);
	text[p->frame.length] = '\0';
	assert_string_equal(text, says);
	return p->frame.stream;
}

static void test_proxy_connect(void **state)
{
	CLEANUP(buf) struct buf got = BUF_INIT(4 << 20);
	static char block[30000];
	uint64_t allowed = WIRE_WINDOW, sent = 0;
	struct boxd_peer p;
	uint32_t stream;
	int fd;

	(void)state;
	boxd_open(&p, "cgroup");
	fd = proxy_connect(&p, 1);
	socket_put(fd, "CONNECT Example.org:443 HTTP/1.1\r\nHost: x\r\n\r\nearly");
	stream = open_expect(&p, "{\"host\":\"example.org\",\"port\":443}");
	boxd_say(&p, WIRE_ACCEPT, stream, "{}");
	(void)boxd_expect(&p, WIRE_DATA, stream);
	assert_int_equal(p.frame.length, 5);
	assert_memory_equal(p.frame.payload, "early", 5);
	socket_get(fd, &got, 39);
	assert_string_equal(got.data, "HTTP/1.1 200 Connection established\r\n\r\n");
	/* 1.5 MB down under credit: the program reads while the gate sends */
	buf_reset(&got);
	memset(block, 'y', sizeof(block));
	while (sent < 1500000) {
		size_t n =
			sizeof(block) < allowed - sent ? sizeof(block) : (size_t)(allowed - sent);

		if (n) {
			boxd_send(&p, WIRE_DATA, stream, block, n);
			sent += n;
			continue;
		}
		socket_get(fd, &got, (size_t)sent - 100000);
		(void)boxd_expect(&p, WIRE_CREDIT, stream);
		assert_true(wire_u64(&p.frame, &allowed));
	}
	boxd_send(&p, WIRE_EOF, stream, NULL, 0);
	socket_get(fd, &got, SIZE_MAX);
	assert_int_equal(got.len, sent);
	assert_int_equal(close(fd), 0);
	(void)boxd_expect(&p, WIRE_EOF, stream);
	boxd_close(&p);
}

static void test_proxy_route(void **state)
{
	static const char request[] =
		"GET /git/h/o/n.git/info/refs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
	CLEANUP(buf) struct buf got = BUF_INIT(1 << 16);
	struct boxd_peer p;
	uint32_t stream;
	int fd;

	(void)state;
	boxd_open(&p, "cgroup");
	fd = proxy_connect(&p, 1);
	socket_put(fd, request);
	stream = open_expect(&p, "{\"route\":\"/git\"}");
	boxd_say(&p, WIRE_ACCEPT, stream, "{}");
	(void)boxd_expect(&p, WIRE_DATA, stream);
	assert_int_equal(p.frame.length, strlen(request));
	assert_memory_equal(p.frame.payload, request, strlen(request));
	boxd_send(&p, WIRE_DATA, stream, "HTTP/1.1 204 x\r\n\r\n", 18);
	boxd_send(&p, WIRE_EOF, stream, NULL, 0);
	socket_get(fd, &got, SIZE_MAX);
	assert_string_equal(got.data, "HTTP/1.1 204 x\r\n\r\n");
	(void)close(fd);

	fd = proxy_connect(&p, 2);
	socket_put(fd, "GET ftp://h/ HTTP/1.1\r\n\r\n");
	buf_reset(&got);
	socket_get(fd, &got, SIZE_MAX);
	assert_non_null(strstr(got.data, "HTTP/1.1 400 Bad Request\r\n"));
	(void)close(fd);

	/* the program goes first: the gate is told */
	fd = proxy_connect(&p, 3);
	socket_put(fd, "CONNECT a.example:1 HTTP/1.1\r\n\r\n");
	stream = open_expect(&p, "{\"host\":\"a.example\",\"port\":1}");
	boxd_say(&p, WIRE_ACCEPT, stream, "{}");
	(void)close(fd);
	do
		assert_true(boxd_next(&p));
	while (p.frame.stream != stream ||
		(p.frame.type != WIRE_REFUSE && p.frame.type != WIRE_EOF));
	boxd_close(&p);
}

/* What a client may ask again for is a 503, which clients do; a no that stays is a 403. */
static void test_proxy_refusals(void **state)
{
	static const struct {
		const char *reason;
		bool passes;
	} rows[] = {{"sealed", false}, {"gate_down", true}, {"gate_unavailable", true},
		{"limit", true}, {"too_fast", true}, {"too_many_streams", true},
		{"protocol", false}};
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(buf) struct buf got = BUF_INIT(1 << 16);
		int fd = proxy_connect(&p, 1 + (uint32_t)i);
		char said[64];
		uint32_t stream;

		socket_put(fd, "GET http://h.example/ HTTP/1.1\r\n\r\n");
		stream =
			open_expect(&p, "{\"host\":\"h.example\",\"port\":80,\"scheme\":\"http\"}");
		boxd_say(&p, WIRE_REFUSE, stream, "{\"reason\":\"%s\",\"message\":\"It is so.\"}",
			rows[i].reason);
		socket_get(fd, &got, SIZE_MAX);
		(void)snprintf(said, sizeof(said), "(%s). It is so.\n", rows[i].reason);
		if (!strstr(got.data, said) ||
			!strstr(got.data, rows[i].passes ? "HTTP/1.1 503 Service Unavailable\r\n"
							 : "HTTP/1.1 403 Forbidden\r\n") ||
			!strstr(got.data, "\r\nRetry-After: 1\r\n") == rows[i].passes ||
			!strstr(got.data, "asb-ask") != rows[i].passes)
			fail_msg("row %zu: %s", i, got.data);
		(void)close(fd);
	}
	boxd_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proxy_connect),
		cmocka_unit_test(test_proxy_route),
		cmocka_unit_test(test_proxy_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
