/*
 * The last part of the seal's proof: the gate is asked for a package, by the connection that any
 * program of the box has to it. It must refuse. Nothing waits for it here; who asked for the proof
 * has a deadline of its own, and without an answer there is no proof.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "cleanup.h"
#include "loop.h"
#include "pool.h"

/* The gate knows the path, and makes no row of what it refuses of it. */
static const char request[] = "GET " WIRE_SEAL_PATH " HTTP/1.1\r\nHost: gate\r\n\r\n";
/* "HTTP/1.1 403" */
#define STATUS_LEN 12
#define CHILD_WAIT_S 20

struct gate_ask {
	struct boxd *boxd;
	uint32_t stream;
	struct buf json;
	bool sealed;
	int fd;
	struct watch *watch;
	struct buf heard;
};

/* 403 is the gate's no; 503 is boxd's own where there is no gate at all, and the gate's where it
 * cannot read what is allowed: nothing comes in then either. */
static bool refuses(const char *heard, const char **said)
{
	static const struct {
		const char *status, *said;
		bool refused;
	} rows[] = {{"HTTP/1.1 403", "refused: 403", true}, {"HTTP/1.1 503", "refused: 503", true},
		{"HTTP/1.1 2", "answered: 2xx", false}, {"HTTP/1.1 4", "answered: 4xx", false},
		{"HTTP/1.1 5", "answered: 5xx", false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strncmp(heard, rows[i].status, strlen(rows[i].status))) {
			*said = rows[i].said;
			return rows[i].refused;
		}
	*said = "no answer";
	return false;
}

void probe_gate_drop(struct boxd *b)
{
	struct gate_ask *a = b->gate_ask;

	if (!a)
		return;
	b->gate_ask = NULL;
	watch_remove(a->watch);
	(void)close(a->fd);
	buf_done(&a->json);
	buf_done(&a->heard);
	free(a);
}

static void heard_all(struct gate_ask *a)
{
	struct boxd *b = a->boxd;
	const char *said;
	bool refused = refuses(a->heard.data, &said);

	probe_end(b, &a->json, said, a->sealed && refused);
	channel_send(b, WIRE_PROBE, a->stream, &a->json);
	probe_gate_drop(b);
}

static void gate_said(struct loop *loop, uint32_t events, void *arg)
{
	struct gate_ask *a = arg;
	char text[256];
	ssize_t n = read(a->fd, text, sizeof(text));

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && a->heard.len < STATUS_LEN)
		(void)buf_add(&a->heard, text, (size_t)n);
	if (n <= 0 || a->heard.len >= STATUS_LEN)
		heard_all(a);
}

void probe_gate_ask(struct boxd *b, uint32_t stream, const struct buf *json, bool sealed)
{
	struct gate_ask *a = mem_alloc(sizeof(*a));

	/* one proof at a time: the older one's asker has given up */
	probe_gate_drop(b);
	*a = (struct gate_ask){
		.boxd = b, .stream = stream, .sealed = sealed, .fd = egress_inside(b)};
	buf_init(&a->json, 8192);
	buf_init(&a->heard, 4096);
	(void)buf_add(&a->json, json->data, json->len);
	b->gate_ask = a;
	if (a->fd < 0 ||
		write(a->fd, request, sizeof(request) - 1) != (ssize_t)sizeof(request) - 1) {
		heard_all(a);
		return;
	}
	a->watch = loop_add_fd(b->loop, a->fd, EPOLLIN, gate_said, a);
}

bool probe_gate_refuses(int port, const char **said)
{
	const struct timeval wait = {.tv_sec = CHILD_WAIT_S};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	CLEANUP(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char heard[STATUS_LEN + 1] = "";

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) &&
		!connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
		send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0)
		(void)!recv(fd, heard, STATUS_LEN, MSG_WAITALL);
	return refuses(heard, said);
}
