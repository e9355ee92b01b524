/*
 * PROBE: what the box can reach, tried from inside by connecting and sending to public, metadata
 * and likely host addresses, all at once. Where not every try fails at once, a short-lived child
 * tries again and after 300 ms says how each kind failed. "sealed" is only said where the kernel
 * knew no way for any of them, and there is no network card.
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

enum probe_kind { PROBE_TCP, PROBE_UDP, PROBE_DNS, PROBE_METADATA, PROBE_HOST, PROBE__COUNT };

static const char *const kind_names[] = {[PROBE_TCP] = "tcp",
	[PROBE_UDP] = "udp",
	[PROBE_DNS] = "dns",
	[PROBE_METADATA] = "metadata",
	[PROBE_HOST] = "host"};
static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == PROBE__COUNT, "a name per kind");

/* Public addresses, a cloud's metadata, and where a host would be: QEMU's, Docker's and Podman's,
 * and on the usual private networks. */
static const struct {
	enum probe_kind kind;
	bool tcp;
	const char *address; /* with a colon: IPv6 */
	uint16_t port;
} tries[] = {
	{PROBE_TCP, true, "1.1.1.1", 443},
	{PROBE_TCP, true, "8.8.8.8", 80},
	{PROBE_TCP, true, "2606:4700:4700::1111", 443},
	{PROBE_UDP, false, "1.1.1.1", 443},
	{PROBE_UDP, false, "224.0.0.251", 5353},
	{PROBE_UDP, false, "255.255.255.255", 67},
	{PROBE_DNS, false, "8.8.8.8", 53},
	{PROBE_DNS, false, "10.0.2.3", 53},
	{PROBE_DNS, true, "1.1.1.1", 853},
	{PROBE_METADATA, true, "169.254.169.254", 80},
	{PROBE_METADATA, false, "169.254.169.254", 53},
	{PROBE_METADATA, true, "fd00:ec2::254", 80},
	{PROBE_HOST, true, "10.0.2.2", 80},
	{PROBE_HOST, false, "10.0.2.2", 53},
	{PROBE_HOST, true, "172.17.0.1", 80},
	{PROBE_HOST, true, "10.88.0.1", 80},
	{PROBE_HOST, true, "192.168.0.1", 80},
	{PROBE_HOST, true, "192.168.127.1", 80},
	{PROBE_HOST, true, "fe80::1", 80},
};
#define TRIES (sizeof(tries) / sizeof(tries[0]))

/* A query for the A record of example.com. */
static const unsigned char dns_query[] = "\x5a\x5a\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
					 "\x07"
					 "example"
					 "\x03"
					 "com"
					 "\x00\x00\x01\x00\x01";

/* The address of try i; its size. */
static socklen_t try_address(size_t i, struct sockaddr_storage *to)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

	*to = (struct sockaddr_storage){0};
	if (!strchr(tries[i].address, ':')) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(tries[i].port);
		(void)inet_pton(AF_INET, tries[i].address, &v4->sin_addr);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(tries[i].port);
	v6->sin6_scope_id = 2; /* the first card, where there is one */
	(void)inet_pton(AF_INET6, tries[i].address, &v6->sin6_addr);
	return sizeof(*v6);
}

/* Starts one; the socket, or -1 with *failed its errno. */
static int try_start(size_t i, int *failed)
{
	struct sockaddr_storage to;
	socklen_t size = try_address(i, &to);
	const int on = 1;
	int fd = socket(to.ss_family,
		(tries[i].tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*failed = 0;
	if (fd >= 0 && !tries[i].tcp)
		(void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	if (fd < 0 || (connect(fd, (struct sockaddr *)&to, size) && errno != EINPROGRESS) ||
		(!tries[i].tcp && send(fd, dns_query, sizeof(dns_query) - 1, MSG_NOSIGNAL) < 0))
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
	if (!e && !tries[i].tcp && recv(fd, &byte, 1, MSG_DONTWAIT) < 0)
		e = errno;
	return e;
}

/* Starts all; how many have not failed at once. */
static size_t tries_start(struct pollfd fds[TRIES], int failed[TRIES])
{
	size_t open = 0;

	for (size_t i = 0; i < TRIES; i++) {
		fds[i].fd = try_start(i, &failed[i]);
		fds[i].events = tries[i].tcp ? POLLOUT : POLLIN;
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

/* Nothing has left the box. A refusal or silence comes of a network. */
static bool has_no_way(int failed)
{
	static const int list[] = {ENETUNREACH, EHOSTUNREACH, ENETDOWN, ENODEV, EADDRNOTAVAIL,
		EAFNOSUPPORT, EPROTONOSUPPORT, EINVAL, EACCES, EPERM};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i] == failed)
			return true;
	return false;
}

/* "reached A:P" or what else came for the first that found a way, else how the first one failed. */
static bool kind_add(struct buf *json, enum probe_kind kind, const int failed[TRIES])
{
	CLEANUP(buf) struct buf text = BUF_INIT(256);
	size_t said = TRIES;

	for (size_t i = 0; i < TRIES; i++)
		if (tries[i].kind == kind &&
			(said == TRIES || (has_no_way(failed[said]) && !has_no_way(failed[i]))))
			said = i;
	if (failed[said])
		(void)buf_addf(&text, "%s: %s:%u", strerrorname_np(failed[said]),
			tries[said].address, tries[said].port);
	else
		(void)buf_addf(&text, "reached %s:%u", tries[said].address, tries[said].port);
	boxjson_add_text(json, kind_names[kind], text.data);
	return has_no_way(failed[said]);
}

/* All but the gate; the object stays open. */
static bool result_add(struct buf *json, const int failed[TRIES])
{
	bool sealed = machine_nics() == 0;

	(void)buf_addc(json, '{');
	boxjson_add_key(json, "nics");
	(void)buf_addc(json, '[');
	nics_add(json);
	(void)buf_addc(json, ']');
	for (int k = 0; k < PROBE__COUNT; k++)
		sealed &= kind_add(json, (enum probe_kind)k, failed);
	return sealed;
}

void probe_end(struct boxd *b, struct buf *json, const char *gate, bool sealed)
{
	boxjson_add_text(json, "gate", gate);
	boxjson_add_bool(json, "sealed", sealed);
	limits_add(b, json);
	(void)buf_addc(json, '}');
}

static int probe_child(int data, int answer, const void *arg)
{
	CLEANUP(buf) struct buf json = BUF_INIT(8192);
	struct boxd *b = (struct boxd *)(uintptr_t)arg;
	const char *gate = "not asked";
	int failed[TRIES];
	bool sealed;

	(void)data;
	tries_run(failed);
	sealed = result_add(&json, failed);
	sealed = sealed && probe_gate_refuses(b->proxy_port, &gate);
	probe_end(b, &json, gate, sealed);
	answer_done(answer, &json);
	return 0;
}

/* True where every try failed at once, as in a machine without a network: nothing to wait for. */
static bool probe_at_once(struct buf *json, bool *sealed)
{
	struct pollfd fds[TRIES];
	int failed[TRIES];

	if (!tries_start(fds, failed)) {
		*sealed = result_add(json, failed);
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
	bool sealed;

	if (!probe_at_once(&json, &sealed))
		return worker_start(b, WORKER_PROBE, stream, "agent", probe_child, b, err);
	probe_gate_ask(b, stream, &json, sealed);
	return true;
}
