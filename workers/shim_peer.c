/*
 * One framed connection of the shim. Reading: at most one buffer a round, so that a chatty peer
 * does not keep the others waiting. Writing: what the kernel takes, the rest stays in a queue with
 * a maximum. Nothing here blocks.
 */
#include "shim.h"

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE (64u * 1024)
/* Written bytes at the front of the queue are dropped in one move when they are this many. */
#define SHIFT_SIZE (256u * 1024)

static void peer_ready(struct loop *loop, uint32_t events, void *arg);

void peer_open(struct peer *p, struct loop *loop, int fd, size_t out_max,
	const struct peer_class *class, void *owner)
{
	memset(p, 0, sizeof(*p));
	p->class = class;
	p->owner = owner;
	p->loop = loop;
	p->fd = fd;
	p->events = EPOLLIN;
	wire_decoder_init(&p->in);
	buf_init(&p->out, out_max);
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	p->watch = loop_add_fd(loop, fd, EPOLLIN, peer_ready, p);
}

void peer_close(struct peer *p)
{
	if (p->fd < 0)
		return;
	watch_remove(p->watch);
	(void)close(p->fd);
	p->watch = NULL;
	p->fd = -1;
	buf_done(&p->out);
	p->out_at = 0;
	/* a frame being handled points into the decoder */
	if (!p->busy)
		wire_decoder_done(&p->in);
}

bool peer_is_open(const struct peer *p)
{
	return p->watch != NULL;
}

static void peer_closed(struct peer *p, const struct err *err)
{
	peer_close(p);
	p->class->closed(p, err);
}

bool peer_send(struct peer *p, enum wire_type type, uint32_t stream, const void *payload, size_t n)
{
	return peer_is_open(p) && !p->ending && wire_add(&p->out, type, stream, payload, n);
}

bool peer_relay(struct peer *p, const struct wire_frame *f)
{
	return peer_send(p, (enum wire_type)f->type, f->stream, f->payload, f->length);
}

size_t peer_queued(const struct peer *p)
{
	return p->out.len - p->out_at;
}

/* Hands every whole frame on; false: the peer is closed or broke a rule. */
static bool peer_decode(struct peer *p, struct err *err)
{
	struct wire_frame f;
	bool got = true, fine = true;

	p->busy = true;
	while (fine && got && peer_is_open(p)) {
		fine = wire_decode(&p->in, &f, &got, err);
		if (fine && got)
			fine = p->class->frame(p, &f, err);
	}
	p->busy = false;
	if (!peer_is_open(p)) {
		wire_decoder_done(&p->in);
		return false;
	}
	if (!fine)
		peer_closed(p, err);
	return fine;
}

/* One read. more: there may be another one at once. */
static bool peer_read(struct peer *p, bool *more)
{
	struct err err;
	ssize_t n = read(p->fd, wire_decoder_room(&p->in, READ_SIZE), READ_SIZE);

	*more = n > 0;
	if (n > 0) {
		wire_decoder_grew(&p->in, (size_t)n);
		return peer_decode(p, &err);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n < 0)
		(void)err_errno(&err, ERR_BUSY, "read");
	peer_closed(p, n < 0 ? &err : NULL);
	return false;
}

void peer_drain(struct peer *p)
{
	/* what a dead process left in the socket is bounded by the socket's buffer */
	for (bool more = true; more && peer_is_open(p);)
		if (!peer_read(p, &more))
			return;
}

static void peer_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct peer *p = arg;
	bool more;

	(void)loop;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		(void)peer_read(p, &more);
}

static void peer_events(struct peer *p)
{
	uint32_t want = (p->paused ? 0 : EPOLLIN) | (peer_queued(p) ? EPOLLOUT : 0);

	if (want == p->events)
		return;
	p->events = want;
	watch_set_events(p->watch, want);
}

void peer_flush(struct peer *p)
{
	ssize_t n = 0;

	if (!peer_is_open(p))
		return;
	while (peer_queued(p)) {
		n = write(p->fd, p->out.data + p->out_at, peer_queued(p));
		if (n <= 0)
			break;
		p->out_at += (size_t)n;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		struct err err;

		(void)err_errno(&err, ERR_BUSY, "write");
		/* it closed without reading all, but what it said before counts */
		peer_drain(p);
		if (peer_is_open(p))
			peer_closed(p, &err);
		return;
	}
	if (!peer_queued(p)) {
		buf_reset(&p->out);
		p->out_at = 0;
		/* the other side reads to the end and closes */
		if (p->ending)
			(void)shutdown(p->fd, SHUT_WR);
	} else if (p->out_at >= SHIFT_SIZE) {
		buf_shift(&p->out, p->out_at);
		p->out_at = 0;
	}
	peer_events(p);
}
