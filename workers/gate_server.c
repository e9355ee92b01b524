/*
 * The gate's side of the shims: one connection a box, frames in, frames out. A shim is known by
 * the uid the kernel says it has, compared with the slot of the box it names; a frame that does not
 * belong ends the connection, and with it every stream of that box.
 */
#include "gate.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "json.h"
#include "log.h"
#include "loop.h"
#include "pool.h"
#include "queries.h"

#define BOX_UID_OFFSET 16 /* docs/decisions/0001: boxes from base+16 */
#define OUT_MAX (WIRE_WINDOW * (GATE_STREAMS_PER_BOX + 1))

static void conn_close(struct gate_conn *c)
{
	while (c->streams)
		gate_stream_free(c->streams);
	watch_remove(c->watch);
	(void)close(c->fd);
	wire_decoder_done(&c->in);
	buf_done(&c->out);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	free(c);
}

void gate_conn_send(
	struct gate_conn *c, enum wire_type type, uint32_t stream, const void *payload, size_t n)
{
	/* what does not fit marks the buffer failed, and gate_conn_flush then closes */
	(void)wire_add(&c->out, type, stream, payload, n);
}

static bool conn_write(struct gate_conn *c)
{
	while (c->out.len) {
		ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		buf_shift(&c->out, (size_t)n);
	}
	return true;
}

void gate_conn_flush(struct gate_conn *c)
{
	if (c->out.failed || !conn_write(c)) {
		log_warn("box=%s gone, its streams end", c->box);
		conn_close(c);
		return;
	}
	watch_set_events(c->watch, c->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static bool conn_attach(struct gate_conn *c, const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(result) struct result res = {0};
	const struct config *cfg = c->gate->cfg;
	const char *box;

	if (c->attached || f->type != WIRE_ATTACH)
		return err_set(err, ERR_UPSTREAM, "%s before ATTACH", wire_type_name(f->type));
	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return false;
	if (!json_get_text(o, "box", &box) || strlen(box) >= sizeof(c->box))
		return err_set(err, ERR_UPSTREAM, "ATTACH without a box");
	if (!db_query(c->gate->db, Q_GATE_BOX, ARGS(db_text(box)), &res, err))
		return false;
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no live box %s", log_quote(box));
	if (cfg->uid_base ? c->peer_uid !=
				    (uid_t)(cfg->uid_base + BOX_UID_OFFSET + result_i64(&res, 0, 2))
			  : c->peer_uid != getuid())
		return err_set(
			err, ERR_FORBIDDEN, "uid %u is not box %s", c->peer_uid, log_quote(box));
	/* a shim that came back before its old connection was seen to end; and no box has two */
	for (struct gate_conn *old = c->gate->conns, *next; old; old = next) {
		next = old->next;
		if (old->attached && !strcmp(old->box, box))
			conn_close(old);
	}
	memcpy(c->box, box, strlen(box) + 1);
	c->attached = true;
	log_info("box=%s attached", c->box);
	return true;
}

static struct gate_stream *stream_find(struct gate_conn *c, uint32_t id)
{
	for (struct gate_stream *s = c->streams; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

static bool conn_frame(struct gate_conn *c, const struct wire_frame *f, struct err *err)
{
	struct gate_stream *s;
	uint64_t v;

	if (!c->attached)
		return conn_attach(c, f, err);
	if (f->type == WIRE_PING) {
		gate_conn_send(c, WIRE_PONG, f->stream, f->payload, f->length);
		return true;
	}
	if (f->stream < WIRE_STREAM_EGRESS)
		return err_set(
			err, ERR_UPSTREAM, "%s on stream %u", wire_type_name(f->type), f->stream);
	s = stream_find(c, f->stream);
	if (f->type == WIRE_OPEN) {
		if (s)
			return err_set(err, ERR_UPSTREAM, "stream %u opened twice", f->stream);
		gate_stream_open(c, f);
		return true;
	}
	if (!s) /* the last frames of a stream that we have ended already */
		return true;
	if (f->type == WIRE_DATA)
		gate_stream_data(s, f);
	else if (f->type == WIRE_EOF)
		gate_stream_eof(s);
	else if (f->type == WIRE_CREDIT && wire_u64(f, &v))
		gate_stream_credit(s, v);
	else if (f->type == WIRE_REFUSE)
		gate_stream_free(s); /* the program in the box hung up */
	else
		return err_set(err, ERR_UPSTREAM, "%s from a box", wire_type_name(f->type));
	return true;
}

static void conn_event(struct loop *loop, uint32_t events, void *arg)
{
	struct gate_conn *c = arg;
	struct wire_frame f;
	struct err err;
	bool got;

	(void)loop;
	if (events & EPOLLIN) {
		unsigned char *to = wire_decoder_room(&c->in, 64 * 1024);
		ssize_t n = recv(c->fd, to, 64 * 1024, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			conn_close(c);
			return;
		}
		if (n > 0)
			wire_decoder_grew(&c->in, (size_t)n);
		for (;;) {
			if (!wire_decode(&c->in, &f, &got, &err) ||
				(got && !conn_frame(c, &f, &err))) {
				log_warn("box=%s refused: %s", c->box, err.msg);
				conn_close(c);
				return;
			}
			if (!got)
				break;
		}
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		conn_close(c);
		return;
	}
	gate_conn_flush(c);
}

/* The socket's mode lets every uid of the host connect. */
static bool uid_may_be_box(const struct gate *g, uid_t uid)
{
	int64_t base = g->cfg->uid_base;

	return base ? uid >= base + BOX_UID_OFFSET && uid < base + 256 : uid == getuid();
}

static void listen_event(struct loop *loop, uint32_t events, void *arg)
{
	struct gate *g = arg;
	struct gate_conn *c;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(g->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || !uid_may_be_box(g, peer.uid)) {
		(void)close(fd);
		return;
	}
	c = mem_alloc(sizeof(*c));
	c->gate = g;
	c->fd = fd;
	c->peer_uid = peer.uid;
	wire_decoder_init(&c->in);
	buf_init(&c->out, OUT_MAX);
	c->next = g->conns;
	c->prev = &g->conns;
	if (c->next)
		c->next->prev = &c->next;
	g->conns = c;
	c->watch = loop_add_fd(loop, fd, EPOLLIN, conn_event, c);
}

bool gate_listen(struct gate *g, int fd, struct err *err)
{
	if (listen(fd, 256))
		return err_errno(err, ERR_INTERNAL, "listen");
	g->listen_fd = fd;
	(void)loop_add_fd(g->loop, fd, EPOLLIN, listen_event, g);
	return true;
}

void gate_close_all(struct gate *g)
{
	while (g->conns)
		conn_close(g->conns);
}
