/*
 * PROBE: what the box can reach, tried from inside by connecting and sending to public, metadata
 * and likely host addresses, all at once. Where not every try fails at once, a short-lived child
 * tries again and after 300 ms says how each kind failed. "sealed" is only said where every try
 * failed and there is no network card.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "text.h"
#include "worker.h"

#define PROBE_MS 300

enum probe_kind { PROBE_TCP, PROBE_UDP, PROBE_DNS, PROBE__COUNT };

static const char *const kind_names[] = {
	[PROBE_TCP] = "tcp", [PROBE_UDP] = "udp", [PROBE_DNS] = "dns"};
static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == PROBE__COUNT, "a name per kind");

/* Public, cloud metadata, and where QEMU's and Docker's host would be. */
static const struct {
	enum probe_kind kind;
	const char *address;
	uint16_t port;
} tries[] = {
	{PROBE_TCP, "1.1.1.1", 443},
	{PROBE_TCP, "169.254.169.254", 80},
	{PROBE_TCP, "10.0.2.2", 80},
	{PROBE_TCP, "172.17.0.1", 80},
	{PROBE_TCP, "192.168.0.1", 80},
	{PROBE_UDP, "1.1.1.1", 443},
	{PROBE_UDP, "169.254.169.254", 53},
	{PROBE_UDP, "10.0.2.2", 53},
	{PROBE_DNS, "8.8.8.8", 53},
	{PROBE_DNS, "10.0.2.3", 53},
};
#define TRIES (sizeof(tries) / sizeof(tries[0]))

/* A query for the A record of example.com. */
static const unsigned char dns_query[] = "\x5a\x5a\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
					 "\x07"
					 "example"
					 "\x03"
					 "com"
					 "\x00\x00\x01\x00\x01";

/* Starts one; the socket, or -1 with *failed its errno. */
static int try_start(size_t i, int *failed)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(tries[i].port)};
	int tcp = tries[i].kind == PROBE_TCP;
	int fd =
		socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, tries[i].address, &to.sin_addr);
	*failed = 0;
	if (fd < 0 || (connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS) ||
		(!tcp && send(fd, dns_query, sizeof(dns_query) - 1, MSG_NOSIGNAL) < 0))
		*failed = errno;
	if (*failed && fd >= 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* What became of a socket that poll spoke of: 0 reached, else its errno. */
static int try_result(size_t i, int fd, short revents)
{
	socklen_t size = sizeof(int);
	int e = 0;
	char byte;

	if (!revents)
		return ETIMEDOUT;
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size);
	if (!e && tries[i].kind != PROBE_TCP && recv(fd, &byte, 1, MSG_DONTWAIT) < 0)
		e = errno;
	return e;
}

/* Starts all; how many have not failed at once. */
static size_t tries_start(struct pollfd fds[TRIES], int failed[TRIES])
{
	size_t open = 0;

	for (size_t i = 0; i < TRIES; i++) {
		fds[i].fd = try_start(i, &failed[i]);
		fds[i].events = tries[i].kind == PROBE_TCP ? POLLOUT : POLLIN;
		open += fds[i].fd >= 0;
		if (fds[i].fd >= 0)
			failed[i] = ETIMEDOUT;
	}
	return open;
}

static void tries_run(int failed[TRIES])
{
	struct pollfd fds[TRIES];
	int64_t until = time_boot_ms() + PROBE_MS, left;
	size_t open = tries_start(fds, failed);

	while (open && (left = until - time_boot_ms()) > 0 && poll(fds, TRIES, (int)left) > 0)
		for (size_t i = 0; i < TRIES; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			failed[i] = try_result(i, fds[i].fd, fds[i].revents);
			(void)close(fds[i].fd);
			fds[i].fd = -1;
			open--;
		}
}

/* "reached A:P" for the first that got through, else how the first one failed. */
static bool kind_add(struct buf *json, enum probe_kind kind, const int failed[TRIES])
{
	CLEANUP(buf) struct buf text = BUF_INIT(256);
	size_t said = TRIES;

	for (size_t i = 0; i < TRIES; i++)
		if (tries[i].kind == kind && (said == TRIES || (failed[said] && !failed[i])))
			said = i;
	if (failed[said])
		(void)buf_addf(&text, "%s: %s:%u", strerrorname_np(failed[said]),
			tries[said].address, tries[said].port);
	else
		(void)buf_addf(&text, "reached %s:%u", tries[said].address, tries[said].port);
	boxjson_add_text(json, kind_names[kind], text.data);
	return failed[said] != 0;
}

static void result_add(struct buf *json, const int failed[TRIES])
{
	bool sealed = machine_nics() == 0;

	(void)buf_addc(json, '{');
	boxjson_add_key(json, "nics");
	(void)buf_addc(json, '[');
	nics_add(json);
	(void)buf_addc(json, ']');
	for (int k = 0; k < PROBE__COUNT; k++)
		sealed &= kind_add(json, (enum probe_kind)k, failed);
	boxjson_add_bool(json, "sealed", sealed);
	(void)buf_addc(json, '}');
}

static int probe_child(int data, int answer, const void *arg)
{
	CLEANUP(buf) struct buf json = BUF_INIT(8192);
	int failed[TRIES];

	(void)data;
	(void)arg;
	tries_run(failed);
	result_add(&json, failed);
	answer_done(answer, &json);
	return 0;
}

/* True where every try failed at once, as in a machine without a network: nothing to wait for. */
static bool probe_at_once(struct buf *json)
{
	struct pollfd fds[TRIES];
	int failed[TRIES];

	if (!tries_start(fds, failed)) {
		result_add(json, failed);
		return true;
	}
	for (size_t i = 0; i < TRIES; i++)
		if (fds[i].fd >= 0)
			(void)close(fds[i].fd);
	return false;
}

bool probe_start(struct boxd *b, uint32_t stream, struct err *err)
{
	CLEANUP(buf) struct buf json = BUF_INIT(8192);

	if (!probe_at_once(&json))
		return worker_start(b, WORKER_PROBE, stream, "agent", probe_child, NULL, err);
	channel_send(b, WIRE_PROBE, stream, &json);
	return true;
}
