/*
 * The box's way out: an HTTP proxy on 127.0.0.1 that knows no policy. It reads one request head,
 * turns it into an OPEN for the gate (a named route, a CONNECT, an absolute URL) and relays bytes
 * under credit. What the gate refuses is said to the program as a 403 with the reason; what it only
 * cannot do now as a 503, after which clients ask again.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "egress_head.h"
#include "loop.h"
#include "pool.h"

#define CONNS_MAX 256
#define FRAME_BYTES (16u * 1024)

enum conn_state {
	CONN_HEAD,   /* the request's head is being read */
	CONN_ASKED,  /* OPEN was sent */
	CONN_OPEN,   /* ACCEPTed: bytes flow */
	CONN_ANSWER, /* a last answer of ours is being written, then it ends */
};

struct conn {
	struct boxd *boxd;
	struct conn *next;
	uint32_t stream;
	int fd;
	struct watch *watch;
	enum conn_state state;
	bool connect;  /* CONNECT: we answer 200 ourselves */
	struct buf up; /* from the program, for the gate */
	uint64_t up_sent, up_allowed;
	bool up_eof, up_eof_sent;
	struct buf down; /* from the gate, for the program */
	uint64_t down_taken, down_credited;
	bool down_eof, down_shut;
};

static void conn_free(struct conn *c)
{
	struct conn **at = &c->boxd->conns;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	watch_remove(c->watch);
	(void)close(c->fd);
	buf_done(&c->up);
	buf_done(&c->down);
	free(c);
}

void egress_drop_all(struct boxd *b)
{
	while (b->conns)
		conn_free(b->conns);
}

/* The program has gone: the gate may stop too. */
static void conn_abort(struct conn *c)
{
	static const char gone[] = "{\"reason\":\"closed\",\"message\":\"the program closed it\"}";

	if (c->boxd->ready && (c->state == CONN_ASKED || c->state == CONN_OPEN))
		channel_send_raw(c->boxd, WIRE_REFUSE, c->stream, gone, sizeof(gone) - 1);
	conn_free(c);
}

static void conn_arm(struct conn *c)
{
	bool want_in = !c->up_eof && c->state != CONN_ANSWER && c->up.len < WIRE_WINDOW / 2;

	/* asked and not answered: what a program sends meanwhile waits in the socket */
	if (c->state == CONN_ASKED)
		want_in = false;
	watch_set_events(c->watch, (want_in ? EPOLLIN : 0) | (c->down.len ? EPOLLOUT : 0));
}

static void answer(struct conn *c, int status, const char *phrase, const char *text)
{
	(void)buf_addf(&c->down,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n%s"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
		status, phrase, status == 503 ? "Retry-After: 1\r\n" : "", strlen(text), text);
	c->state = CONN_ANSWER;
	c->down_eof = true;
}

/* Writes to the program. False when the connection was freed. */
static bool down_write(struct conn *c)
{
	unsigned char credit[8];

	while (c->down.len) {
		ssize_t n = send(c->fd, c->down.data, c->down.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			conn_abort(c);
			return false;
		}
		buf_shift(&c->down, (size_t)n);
		c->down_taken += (uint64_t)n;
	}
	if (c->state == CONN_OPEN && c->down_taken - c->down_credited >= FRAME_BYTES) {
		wire_put_u64(credit, c->down_taken + WIRE_WINDOW);
		channel_send_raw(c->boxd, WIRE_CREDIT, c->stream, credit, sizeof(credit));
		c->down_credited = c->down_taken;
	}
	if (c->down_eof && !c->down.len && !c->down_shut) {
		c->down_shut = true;
		(void)shutdown(c->fd, SHUT_WR);
	}
	/* an answer of ours ends it; else both directions must have ended */
	if (c->down_shut && (c->state == CONN_ANSWER || c->up_eof_sent)) {
		conn_free(c);
		return false;
	}
	conn_arm(c);
	return true;
}

static void head_look(struct conn *c)
{
	CLEANUP(buf) struct buf json = BUF_INIT(2048);
	struct egress_target target;
	struct boxd *b = c->boxd;
	const char *wrong;

	switch (egress_head_read(c->up.data, c->up.len, &target, &wrong)) {
	case EGRESS_MORE:
		return;
	case EGRESS_BAD:
		answer(c, 400, "Bad Request", wrong);
		return;
	case EGRESS_WHOLE:
		break;
	}
	if (!b->ready) {
		answer(c, 503, "Service Unavailable", "the host is not attached\n");
		return;
	}
	c->connect = target.kind == EGRESS_CONNECT;
	if (c->connect)
		buf_shift(&c->up, target.head_bytes);
	(void)buf_addc(&json, '{');
	if (target.kind == EGRESS_ROUTE) {
		boxjson_add_text(&json, "route", target.name);
	} else {
		boxjson_add_text(&json, "host", target.name);
		boxjson_add_i64(&json, "port", target.port);
		if (target.kind == EGRESS_HTTP)
			boxjson_add_text(&json, "scheme", "http");
	}
	(void)buf_addc(&json, '}');
	c->stream = WIRE_STREAM_EGRESS | (b->next_egress++ & 0x7fffffffu);
	c->state = CONN_ASKED;
	channel_send(b, WIRE_OPEN, c->stream, &json);
}

static void conn_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct conn *c = arg;
	char *to;
	ssize_t n = 1;

	(void)loop;
	if (events & EPOLLIN && !c->up_eof) {
		to = buf_room(&c->up, FRAME_BYTES);
		n = to ? read(c->fd, to, FRAME_BYTES) : 1;
		if (to && n > 0)
			buf_grew(&c->up, (size_t)n);
		c->up.failed = false;
		if (n == 0)
			c->up_eof = true;
		if (c->state == CONN_HEAD && n > 0)
			head_look(c);
	}
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
		(events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLIN)) ||
		(c->state == CONN_HEAD && c->up_eof)) {
		conn_abort(c);
		return;
	}
	(void)down_write(c);
}

static void conn_new(struct boxd *b, int fd)
{
	struct conn *c = mem_alloc(sizeof(*c));

	c->boxd = b;
	c->fd = fd;
	c->up_allowed = WIRE_WINDOW;
	buf_init(&c->up, WIRE_WINDOW);
	buf_init(&c->down, 2 * WIRE_WINDOW + WIRE_PAYLOAD_MAX);
	c->watch = loop_add_fd(b->loop, fd, EPOLLIN, conn_ready, c);
	c->next = b->conns;
	b->conns = c;
}

int egress_inside(struct boxd *b)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	conn_new(b, pair[0]);
	return pair[1];
}

static void conn_accept(struct loop *loop, uint32_t events, void *arg)
{
	struct boxd *b = arg;
	int fd, n = 0;

	(void)loop;
	(void)events;
	fd = accept4(b->egress_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	for (struct conn *c = b->conns; c; c = c->next)
		n++;
	if (n < CONNS_MAX)
		conn_new(b, fd);
	else
		(void)close(fd);
}

void egress_listen(struct boxd *b)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t size = sizeof(addr);
	int fd, on = 1;

	if (b->proxy_port == 0)
		return;
	addr.sin_port = htons((uint16_t)(b->proxy_port < 0 ? 0 : b->proxy_port));
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b->proxy_port = 0;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 64) ||
		getsockname(fd, (struct sockaddr *)&addr, &size)) {
		(void)fprintf(stderr, "warn boxd proxy: %s, no egress\n", strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	b->egress_fd = fd;
	b->proxy_port = ntohs(addr.sin_port);
	b->egress_watch = loop_add_fd(b->loop, fd, EPOLLIN, conn_accept, b);
}

/* Is it over in a moment, whatever the policy says? The words are those of shim and gate. */
static bool reason_passes(const char *reason)
{
	static const char *const words[] = {
		"gate_down", "gate_unavailable", "limit", "too_fast", "too_many_streams"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(reason, words[i]))
			return true;
	return false;
}

static void refuse(struct conn *c, const struct wire_frame *f)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf text = BUF_INIT(4096);
	const char *reason = "policy", *message = "";
	const struct boxjson *in;
	struct err ignored;

	if (c->state != CONN_ASKED) {
		conn_free(c);
		return;
	}
	if (boxjson_parse(pool, f->payload, f->length, &in, &ignored)) {
		if (!boxjson_text(in, "reason", "policy", &reason, &ignored))
			reason = "policy";
		if (!boxjson_text(in, "message", "", &message, &ignored))
			message = "";
	}
	if (reason_passes(reason)) {
		(void)buf_addf(&text,
			"The gate cannot take the connection now (%.64s). %.2048s\n"
			"Try again in a moment.\n",
			reason, message);
		answer(c, 503, "Service Unavailable", text.data);
	} else {
		(void)buf_addf(&text,
			"The policy of this box refused the connection (%.64s). %.2048s\n"
			"To ask for it: asb-ask \"please allow ...\", or add the host to the run's "
			"allowed hosts.\n",
			reason, message);
		answer(c, 403, "Forbidden", text.data);
	}
	(void)down_write(c);
}

static bool data(struct conn *c, const struct wire_frame *f, struct err *err)
{
	if (c->state != CONN_OPEN || c->down_eof)
		return err_set(err, ERR_INVALID, "DATA on stream %u", f->stream);
	if (!buf_add(&c->down, f->payload, f->length))
		return err_set(err, ERR_INVALID, "DATA of stream %u beyond its credit", f->stream);
	(void)down_write(c);
	return true;
}

bool egress_frame(struct boxd *b, const struct wire_frame *f, struct err *err)
{
	struct conn *c;
	uint64_t value;

	for (c = b->conns; c; c = c->next)
		if (c->state != CONN_HEAD && c->stream == f->stream)
			break;
	/* the program has closed it meanwhile */
	if (!c)
		return true;
	switch (f->type) {
	case WIRE_ACCEPT:
		if (c->state != CONN_ASKED)
			return err_set(err, ERR_INVALID, "ACCEPT twice");
		c->state = CONN_OPEN;
		if (c->connect)
			(void)buf_adds(&c->down, "HTTP/1.1 200 Connection established\r\n\r\n");
		(void)down_write(c);
		return true;
	case WIRE_REFUSE:
		refuse(c, f);
		return true;
	case WIRE_DATA:
		return data(c, f, err);
	case WIRE_EOF:
		c->down_eof = true;
		(void)down_write(c);
		return true;
	case WIRE_CREDIT:
		if (!wire_u64(f, &value))
			return err_set(err, ERR_INVALID, "credit without a number");
		if (value > c->up_allowed)
			c->up_allowed = value;
		return true;
	default:
		return err_set(err, ERR_INVALID, "%s on an egress stream", wire_type_name(f->type));
	}
}

/* One frame of one connection. */
static bool conn_pump(struct conn *c)
{
	size_t n = c->up.len < FRAME_BYTES ? c->up.len : FRAME_BYTES;

	if (c->state != CONN_OPEN || c->up_eof_sent)
		return false;
	if (n > c->up_allowed - c->up_sent)
		n = (size_t)(c->up_allowed - c->up_sent);
	if (n) {
		channel_send_raw(c->boxd, WIRE_DATA, c->stream, c->up.data, n);
		buf_shift(&c->up, n);
		c->up_sent += n;
		conn_arm(c);
		return true;
	}
	if (c->up_eof && !c->up.len) {
		channel_send_raw(c->boxd, WIRE_EOF, c->stream, NULL, 0);
		c->up_eof_sent = true;
		(void)down_write(c);
		return true;
	}
	return false;
}

bool egress_pump(struct boxd *b)
{
	struct conn *next;
	bool any = false;

	for (struct conn *c = b->conns; c && channel_has_room(b); c = next) {
		next = c->next;
		any |= conn_pump(c);
	}
	return any;
}
