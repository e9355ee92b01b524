/*
 * The way out: egress streams, which the box opens and the gate alone decides on. The shim carries
 * their frames and holds no policy; it keeps the list of open ones, so that all of them end when
 * the gate goes, and so that a box cannot open more than a bounded number. While there is no gate
 * every OPEN is refused at once: closed is the state that needs nobody.
 */
#include "shim.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "pool.h"
#include "sockpeer.h"

#define RECONNECT_MS 500
/* Of all streams together, for a gate that is slower than its own credits. */
#define GATE_OUT_MAX (16u * 1024 * 1024)

static void refuse(struct shim *shim, uint32_t id, const char *reason, const char *message)
{
	char text[160];
	int n = snprintf(
		text, sizeof(text), "{\"reason\":\"%s\",\"message\":\"%s\"}", reason, message);

	(void)box_send(shim, WIRE_REFUSE, id, text, (size_t)n);
}

static struct egress *egress_find(struct gate *g, uint32_t id)
{
	for (struct egress *e = g->egress; e; e = e->next)
		if (e->id == id)
			return e;
	return NULL;
}

static void egress_remove(struct gate *g, struct egress *gone)
{
	for (struct egress **at = &g->egress; *at; at = &(*at)->next) {
		if (*at != gone)
			continue;
		*at = gone->next;
		g->n--;
		free(gone);
		return;
	}
}

static void egress_end_all(struct shim *shim)
{
	while (shim->gate.egress) {
		refuse(shim, shim->gate.egress->id, "gate_down",
			"the connection to the gate was lost");
		egress_remove(&shim->gate, shim->gate.egress);
	}
}

/* After a frame of either side: is the stream over? */
static void egress_settle(struct gate *g, struct egress *e, const struct wire_frame *f, bool by_box)
{
	if (f->type == WIRE_EOF)
		*(by_box ? &e->box_eof : &e->gate_eof) = true;
	if (f->type == WIRE_REFUSE || f->type == WIRE_ERROR || (e->box_eof && e->gate_eof))
		egress_remove(g, e);
}

static bool gate_frame(struct peer *p, const struct wire_frame *f, struct err *err)
{
	struct shim *shim = p->owner;
	struct egress *e = egress_find(&shim->gate, f->stream);

	switch (f->type) {
	case WIRE_PING:
		(void)peer_send(p, WIRE_PONG, f->stream, f->payload, f->length);
		return true;
	case WIRE_PONG:
		return true;
	case WIRE_ACCEPT:
	case WIRE_REFUSE:
	case WIRE_DATA:
	case WIRE_EOF:
	case WIRE_CREDIT:
		break;
	default:
		return err_set(
			err, ERR_UPSTREAM, "%s is not the gate's to send", wire_type_name(f->type));
	}
	if (!e) /* it crossed with the stream's end */
		return true;
	if (f->type == WIRE_CREDIT && !wire_u64(f, &e->credit))
		return err_set(err, ERR_UPSTREAM, "credit without a number");
	if (!box_relay(shim, f))
		return err_set(err, ERR_UPSTREAM, "the box reads nothing");
	egress_settle(&shim->gate, e, f, false);
	return true;
}

static void gate_closed(struct peer *p, const struct err *err)
{
	struct shim *shim = p->owner;

	log_warn("box=%s gate lost: %s, retrying", shim->name, err ? err->msg : "closed");
	egress_end_all(shim);
}

static const struct peer_class gate_class = {gate_frame, gate_closed};

/* What listens there has the gate's uid, or is root; said once, tried again for ever. */
static bool gate_is_ours(struct shim *shim, int fd)
{
	uid_t uid = socket_peer(fd);
	bool ours = !uid || uid == shim->gate_uid;

	if (!ours && !shim->gate.impostor)
		log_error("box=%s gate socket is that of uid=%u, refused", shim->name, uid);
	shim->gate.impostor = !ours;
	return ours;
}

static void gate_connect(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char text[160];
	int n;

	(void)events;
	if (peer_is_open(&shim->gate.peer) || shim->box.state == BOX_DEAD)
		return;
	n = snprintf(a.sun_path, sizeof(a.sun_path), "%s", shim->gate_path);
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path) ||
		connect(fd, (const struct sockaddr *)&a, sizeof(a)) || !gate_is_ours(shim, fd))
		return;
	peer_open(&shim->gate.peer, loop, STEAL_FD(fd), GATE_OUT_MAX, &gate_class, shim);
	n = snprintf(text, sizeof(text), "{\"box\":\"%s\"}", shim->name);
	(void)peer_send(&shim->gate.peer, WIRE_ATTACH, 0, text, (size_t)n);
}

void gate_start(struct shim *shim)
{
	shim->gate.peer.fd = -1;
	shim->gate.timer = loop_add_timer(shim->loop, 0, RECONNECT_MS, gate_connect, shim);
}

void gate_stop(struct shim *shim)
{
	watch_remove(shim->gate.timer);
	shim->gate.timer = NULL;
	peer_close(&shim->gate.peer);
	while (shim->gate.egress)
		egress_remove(&shim->gate, shim->gate.egress);
}

static bool egress_open(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	struct gate *g = &shim->gate;
	struct egress *e;

	if (egress_find(g, f->stream))
		return err_set(err, ERR_UPSTREAM, "egress stream %u opened twice", f->stream);
	if (!peer_is_open(&g->peer)) {
		refuse(shim, f->stream, "gate_down", "the gate is not running; try again");
		return true;
	}
	if (g->n >= SHIM_EGRESS_MAX || !peer_relay(&g->peer, f)) {
		refuse(shim, f->stream, "limit", "too many connections at a time");
		return true;
	}
	e = mem_alloc(sizeof(*e));
	e->id = f->stream;
	e->next = g->egress;
	g->egress = e;
	g->n++;
	return true;
}

bool gate_take(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	struct gate *g = &shim->gate;
	struct egress *e;

	switch (f->type) {
	case WIRE_OPEN:
		return egress_open(shim, f, err);
	case WIRE_DATA:
	case WIRE_EOF:
	case WIRE_CREDIT:
	case WIRE_REFUSE:
	case WIRE_ERROR:
		break;
	default:
		return err_set(err, ERR_UPSTREAM, "egress stream %u: %s does not belong there",
			f->stream, wire_type_name(f->type));
	}
	e = egress_find(g, f->stream);
	if (!e) /* it crossed with our refusal */
		return true;
	if (f->type == WIRE_DATA) {
		e->sent += f->length;
		if (e->sent > e->credit + WIRE_WINDOW)
			return err_set(
				err, ERR_UPSTREAM, "egress stream %u: beyond its credit", e->id);
	}
	if (!peer_relay(&g->peer, f)) {
		refuse(shim, e->id, "limit", "the gate does not keep up");
		if (peer_send(&g->peer, WIRE_REFUSE, e->id, "{\"reason\":\"limit\"}", 18))
			egress_remove(g, e);
		else
			peer_close(&g->peer), egress_end_all(shim);
		return true;
	}
	egress_settle(g, e, f, true);
	return true;
}
