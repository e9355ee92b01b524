/*
 * Runners, and the worker's pings. A connection of the right uid attaches to a lane with an epoch;
 * the highest epoch of a lane has it, an older one is refused or closed, admin closes everybody. A
 * runner that came before the box is ready waits for its HELLO; one that came after the box's end
 * still gets what was spooled, and then why it ended.
 */
#include "shim.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "json.h"
#include "log.h"
#include "pool.h"
#include "sockpeer.h"
#include "text.h"

/* Beyond the fill of its queue a runner gets only answers to what it asked. */
#define RUNNER_OUT_MAX (4u * 1024 * 1024)
/* While the queue to the box is longer, its runners and the gate are not read. */
#define BOX_BUSY (1024u * 1024)
#define RUNNERS_MAX 64
/* HELLO has a frame: 256 streams and the machine take less than the rest of it. */
#define QUESTION_BESIDE (32u * 1024)

static void runner_error(struct runner *r, const char *code, const char *message)
{
	CLEANUP(buf) struct buf b = BUF_INIT(32768);

	(void)buf_addf(&b, "{\"code\":\"%s\",\"message\":", code);
	json_add_quoted(&b, message, strlen(message));
	(void)buf_addc(&b, '}');
	(void)peer_send(&r->peer, WIRE_ERROR, 0, b.data, b.len);
	r->peer.ending = true;
}

/* Takes the lane from its runner; the connection may live on to carry the reason. */
static void runner_detach(struct runner *r)
{
	if (!r->lane)
		return;
	if (r->lane->runner == r) {
		r->lane->runner = NULL;
		streams_orphan(r->shim, r->lane);
	}
	stream0_forget(r->shim, r);
	r->lane = NULL;
}

static void runner_fence(struct runner *r)
{
	runner_detach(r);
	runner_error(r, "stale_epoch", "a newer epoch has attached");
}

struct runner *runner_of(struct shim *shim, const struct lane *lane)
{
	for (struct lane *l = shim->lanes; l; l = l->next)
		if (lane ? l == lane : !strcmp(l->name, "drive"))
			return l->runner;
	return NULL;
}

static bool lane_is_valid(const char *name)
{
	int64_t id;

	if (!strcmp(name, "drive") || !strcmp(name, "ask") || !strcmp(name, "look") ||
		!strcmp(name, "admin"))
		return true;
	return text_has_prefix(name, "exec:") && strlen(name) < LANE_NAME_SIZE &&
	       text_to_i64(name + 5, 0, INT64_MAX, &id);
}

static struct lane *lane_get(struct shim *shim, const char *name)
{
	struct lane *l;

	for (l = shim->lanes; l; l = l->next)
		if (!strcmp(l->name, name))
			return l;
	l = mem_alloc(sizeof(*l));
	(void)snprintf(l->name, sizeof(l->name), "%s", name);
	l->epoch = -1;
	l->next = shim->lanes;
	shim->lanes = l;
	return l;
}

static bool is_admin(const struct runner *r)
{
	return r->lane && !strcmp(r->lane->name, "admin");
}

static void fence_all(struct shim *shim, const struct runner *but)
{
	for (struct runner *r = shim->runners; r; r = r->next)
		if (r != but && r->lane)
			runner_fence(r);
}

static bool attach_take(struct runner *r, const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct shim *shim = r->shim;
	const char *name;
	struct lane *lane;
	bool resume = false;
	int64_t epoch;

	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return err_wrap(err, "attach");
	if (!json_get_text(o, "lane", &name) || !lane_is_valid(name) ||
		!json_get_i64(o, "epoch", &epoch) || epoch < 0)
		return err_set(err, ERR_INVALID, "attach: no such lane, or no epoch");
	lane = lane_get(shim, name);
	/* all epochs of a site are one sequence: what was claimed before the admin job is over */
	if (epoch < lane->epoch || epoch < shim->admin_epoch) {
		runner_error(r, "stale_epoch", "a newer epoch has attached");
		return true;
	}
	if (lane->runner)
		runner_fence(lane->runner);
	lane->epoch = epoch;
	lane->runner = r;
	r->lane = lane;
	r->epoch = epoch;
	if (is_admin(r)) {
		shim->admin_epoch = epoch;
		fence_all(shim, r);
	}
	if (json_get_bool(o, "resume", &resume) && resume && !box_resume(shim, err))
		return false;
	streams_rewind(shim, lane);
	log_info("box=%s lane=%s epoch=%lld attached", shim->name, lane->name, (long long)epoch);
	return true;
}

static void hello_execs(struct shim *shim, struct buf *b)
{
	bool any = false;

	for (struct stream *s = shim->streams; s; s = s->next) {
		if (s->dead || !stream_is_exec(s))
			continue;
		(void)buf_addf(b, "%s{\"stream\":%u,\"lane\":\"%s\",\"from\":%llu,\"exited\":%s}",
			any ? "," : "", s->id, s->lane->name, (unsigned long long)s->acked,
			s->ended ? "true" : "false");
		any = true;
	}
}

static bool question_is_theirs(const struct runner *r)
{
	struct shim *shim = r->shim;
	struct stream *s = stream_find(shim, shim->question.stream);

	if (!shim->question.id)
		return false;
	return is_admin(r) || (s ? s->lane == r->lane : !strcmp(r->lane->name, "drive"));
}

static void runner_greet(struct runner *r)
{
	CLEANUP(buf) struct buf b = BUF_INIT(WIRE_PAYLOAD_MAX);
	struct shim *shim = r->shim;
	struct box *box = &shim->box;
	bool asked = question_is_theirs(r);

	r->greeted = true;
	(void)buf_addf(&b, "{\"box\":\"%s\",\"boot_id\":", shim->name);
	json_add_quoted(&b, box->boot_id, strlen(box->boot_id));
	(void)buf_adds(&b, ",\"kernel\":");
	json_add_quoted(&b, box->kernel, strlen(box->kernel));
	(void)buf_addf(&b, ",\"ready\":true,\"machine\":%s,\"execs\":[", box->machine);
	hello_execs(shim, &b);
	(void)buf_addc(&b, ']');
	/* one that is too long to stand beside the rest follows in its own frame */
	if (asked && shim->question.json.len <= QUESTION_BESIDE)
		(void)buf_addf(&b, ",\"question\":%s", shim->question.json.data);
	(void)buf_addc(&b, '}');
	if (b.failed || !peer_send(&r->peer, WIRE_HELLO, 0, b.data, b.len))
		runner_error(r, "protocol", "the box's state does not fit a frame");
	else if (asked && shim->question.json.len > QUESTION_BESIDE)
		(void)peer_send(&r->peer, WIRE_QUESTION, 0, shim->question.json.data,
			shim->question.json.len);
}

/* Opens a stream in the box; an error on the stream itself where it cannot be. */
static bool request_take(struct runner *r, const struct wire_frame *f)
{
	static const char taken[] = "{\"code\":\"conflict\",\"message\":\"the stream is in use\"}";
	static const char many[] = "{\"code\":\"limited\",\"message\":\"too many streams\"}";
	struct shim *shim = r->shim;
	struct stream *s;

	if (!f->stream || f->stream >= WIRE_STREAM_EGRESS || stream_find(shim, f->stream)) {
		(void)peer_send(&r->peer, WIRE_ERROR, f->stream, taken, sizeof(taken) - 1);
		return true;
	}
	s = stream_add(shim, f->stream, (enum wire_type)f->type, r->lane);
	if (!s) {
		(void)peer_send(&r->peer, WIRE_ERROR, f->stream, many, sizeof(many) - 1);
		return true;
	}
	return box_relay(shim, f);
}

static bool stream0_take(struct runner *r, const struct wire_frame *f, struct err *err)
{
	if (!stream0_asked(r->shim, (enum wire_type)f->type, r))
		return err_set(err, ERR_LIMITED, "too many requests on stream 0");
	return box_relay(r->shim, f);
}

/* The whole box, not a lane of it: answered here. */
static bool is_box_freeze(const struct runner *r, const struct wire_frame *f)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *lane;
	struct err ignored;

	return f->type == WIRE_FREEZE && !f->stream && is_admin(r) &&
	       json_parse((const char *)f->payload, f->length, &o, &ignored) &&
	       json_get_text(o, "lane", &lane) && !strcmp(lane, "box");
}

static bool freeze_take(struct runner *r, struct err *err)
{
	static const char done[] = "{\"frozen\":\"box\"}";

	return box_pause(r->shim, err) &&
	       (peer_send(&r->peer, WIRE_DONE, 0, done, sizeof(done) - 1) || r->peer.ending);
}

/* A frame for a stream that the runner's lane (or, for admin, anybody) opened. */
static bool stream_frame(struct runner *r, const struct wire_frame *f, struct err *err)
{
	struct shim *shim = r->shim;
	struct stream *s = stream_find(shim, f->stream);
	uint64_t offset;

	/* it crossed with the stream's end, or is another lane's: nothing to do */
	if (!s || s->orphan || (s->lane != r->lane && !(is_admin(r) && f->type == WIRE_SIGNAL)))
		return true;
	if (f->type == WIRE_CREDIT && stream_is_exec(s)) {
		if (!wire_u64(f, &offset) || !stream_ack(shim, s, offset))
			return err_set(err, ERR_INVALID, "acknowledges what it never got");
		return true;
	}
	if (f->type == WIRE_CREDIT && stream_sends_data(s)) {
		if (!wire_u64(f, &offset))
			return err_set(err, ERR_INVALID, "credit without a number");
		stream_allow(s, offset);
	}
	if (f->type == WIRE_ACK_EXIT && !stream_ack_exit(shim, s))
		return err_set(err, ERR_INVALID, "acknowledges an exit that was not");
	return box_relay(shim, f);
}

static bool attached_take(struct runner *r, const struct wire_frame *f, struct err *err)
{
	switch (f->type) {
	case WIRE_EXEC:
	case WIRE_TAR_IN:
	case WIRE_TAR_OUT:
	case WIRE_STAT:
	case WIRE_LIST:
	case WIRE_READ:
	case WIRE_SEARCH:
	case WIRE_DIFF:
		return request_take(r, f);
	case WIRE_METRICS:
	case WIRE_PROBE:
	case WIRE_FREEZE:
	case WIRE_THAW:
		if (is_box_freeze(r, f))
			return freeze_take(r, err);
		return f->stream ? request_take(r, f) : stream0_take(r, f, err);
	case WIRE_ANSWER:
		return stream0_take(r, f, err);
	case WIRE_CLOCK:
		return box_relay(r->shim, f);
	case WIRE_STDIN:
	case WIRE_EOF:
	case WIRE_DATA:
	case WIRE_SIGNAL:
	case WIRE_CREDIT:
	case WIRE_ACK_EXIT:
		return stream_frame(r, f, err);
	case WIRE_BYE:
		if (!is_admin(r))
			return err_set(err, ERR_FORBIDDEN, "BYE is for lane admin");
		box_bye(r->shim);
		return true;
	default:
		return err_set(
			err, ERR_INVALID, "%s is not a runner's to send", wire_type_name(f->type));
	}
}

static bool runner_frame(struct peer *p, const struct wire_frame *f, struct err *err)
{
	struct runner *r = p->owner;
	struct shim *shim = r->shim;

	shim->silence_ms = 0;
	if (f->type == WIRE_PING)
		return peer_send(p, WIRE_PONG, f->stream, f->payload, f->length) || p->ending;
	if (f->type == WIRE_PONG ||
		(p->ending && !r->lane)) /* a fenced one may still be speaking */
		return true;
	if (!r->lane && f->type == WIRE_ATTACH && !f->stream) {
		if (attach_take(r, f, err))
			return true;
	} else if (!r->lane) {
		(void)err_set(err, ERR_INVALID, "%s before ATTACH", wire_type_name(f->type));
	} else if (!r->greeted && shim->box.state != BOX_DEAD) {
		(void)err_set(err, ERR_INVALID, "%s before HELLO", wire_type_name(f->type));
	} else if (shim->box.state == BOX_DEAD && f->type != WIRE_CREDIT &&
		   f->type != WIRE_ACK_EXIT && f->type != WIRE_BYE) {
		return true; /* it will hear of the end */
	} else {
		(void)err_set(err, ERR_BUSY, "the box reads nothing");
		if (attached_take(r, f, err) || shim->box.state == BOX_DEAD)
			return true;
	}
	runner_detach(r);
	runner_error(r, "protocol", err->msg);
	return true;
}

static void runner_closed(struct peer *p, const struct err *err)
{
	struct runner *r = p->owner;

	if (err)
		log_warn("box=%s runner lost: %s", r->shim->name, err->msg);
	runner_detach(r);
	r->dead = true;
}

static const struct peer_class runner_class = {runner_frame, runner_closed};

/* Is there room for one more? A fenced one that does not close its end makes room. */
static bool runner_room(struct shim *shim)
{
	struct runner *oldest = NULL;
	int n = 0;

	for (struct runner *r = shim->runners; r; r = r->next) {
		if (!r->dead && !r->lane && r->peer.ending)
			oldest = r;
		n += !r->dead;
	}
	if (n < RUNNERS_MAX)
		return true;
	if (!oldest)
		return false;
	peer_close(&oldest->peer);
	oldest->dead = true;
	return true;
}

static void runner_accept(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;
	CLEANUP(fd) int fd = accept4(shim->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct runner *r;
	uid_t uid;

	(void)events;
	if (fd < 0)
		return;
	uid = socket_peer(fd);
	if (uid != shim->worker_uid || !runner_room(shim)) {
		log_warn("box=%s peer with uid=%u refused", shim->name, uid);
		return;
	}
	r = mem_alloc(sizeof(*r));
	r->shim = shim;
	r->next = shim->runners;
	shim->runners = r;
	peer_open(&r->peer, loop, STEAL_FD(fd), RUNNER_OUT_MAX, &runner_class, r);
}

void runners_listen(struct shim *shim, int listener)
{
	shim->listener = listener;
	shim->listen_watch = loop_add_fd(shim->loop, listener, EPOLLIN, runner_accept, shim);
}

static void runner_settle(struct runner *r)
{
	struct shim *shim = r->shim;
	bool empty = true;

	if (r->lane && !r->greeted && shim->box.was_ready)
		runner_greet(r);
	/* until its socket is full, which is what wakes us again, or nothing is left */
	do {
		if (r->lane && r->greeted)
			empty = streams_pump(shim, r->lane, &r->peer);
		peer_flush(&r->peer);
	} while (!empty && r->lane && peer_is_open(&r->peer) && !peer_queued(&r->peer));
	if (r->lane && shim->box.state == BOX_DEAD && empty && !r->told) {
		r->told = true;
		runner_error(r, shim->box.end_code, shim->box.end_message.data);
	}
	/* pings come on connections without a lane, which are always read */
	r->peer.paused =
		r->lane && shim->box.state != BOX_DEAD && peer_queued(&shim->box.peer) > BOX_BUSY;
	peer_flush(&r->peer);
}

void runners_settle(struct shim *shim)
{
	for (struct runner *r = shim->runners; r; r = r->next)
		if (!r->dead)
			runner_settle(r);
	for (struct runner **at = &shim->runners; *at;) {
		struct runner *r = *at;

		if (!r->dead) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		peer_close(&r->peer);
		free(r);
	}
	shim->gate.peer.paused = peer_queued(&shim->box.peer) > BOX_BUSY;
}

void runners_free(struct shim *shim)
{
	for (struct runner *r = shim->runners; r; r = r->next)
		r->dead = true;
	runners_settle(shim);
	while (shim->lanes) {
		struct lane *l = shim->lanes;

		shim->lanes = l->next;
		free(l);
	}
}
