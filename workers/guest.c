/*
 * The connection to a shim. Frames of streams that nobody here follows are drained and forgotten:
 * they are leftovers of a runner that died in the middle of a step this one does anew.
 */
#include "guest.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

#define SEND_MS 30000	/* a shim that takes nothing for so long is gone */
#define STREAM_BLOCK 16 /* numbers taken from boxes.next_stream at a time */

/* Words of turns.reason that a shim or a box may say in ERROR. */
static const char *const lost_words[] = {
	"box_lost",
	"agent_lost",
	"guest_panic",
	"oom",
	"protocol",
	"worker_lost",
	"stale_epoch",
	"not_ready",
};

static bool box_gone(struct err *err, const char *what)
{
	(void)err_set(err, ERR_UPSTREAM, "%s", what);
	return err_advise(err, "box_lost", NULL);
}

static bool protocol_broken(struct err *err, const char *what)
{
	(void)err_set(err, ERR_UPSTREAM, "%s", what);
	return err_advise(err, "protocol", NULL);
}

bool guest_json(const struct wire_frame *frame, struct json_object **out, struct err *err)
{
	if (json_parse((const char *)frame->payload, frame->length, out, err))
		return true;
	(void)err_wrap(err, "%s of the box", wire_type_name(frame->type));
	err->code = ERR_UPSTREAM;
	return err_advise(err, "protocol", NULL);
}

/* An ERROR frame as an error; its code becomes the reason only where it is a word of ours. */
static bool frame_error(const struct wire_frame *frame, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf sane = BUF_INIT(400);
	const char *code = "", *message = "", *entry = NULL;

	if (!guest_json(frame, &o, err))
		return false;
	(void)json_get_text(o, "code", &code);
	(void)json_get_text(o, "message", &message);
	text_add_sane(&sane, message, strnlen(message, 180));
	if (json_get_text(o, "entry", &entry)) {
		(void)buf_adds(&sane, ": ");
		text_add_sane(&sane, entry, strnlen(entry, 100));
	}
	(void)err_set(err, ERR_UPSTREAM, "%s", sane.data);
	for (size_t i = 0; i < sizeof(lost_words) / sizeof(lost_words[0]); i++)
		if (!strcmp(code, lost_words[i]))
			(void)err_advise(err, code, NULL);
	return false;
}

/* The box refused a request on stream 0 (an answer that an earlier runner had given already): the
 * connection goes on. */
static bool is_refusal(const struct wire_frame *frame)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *code;
	struct err ignored;

	return guest_json(frame, &o, &ignored) && json_get_text(o, "code", &code) &&
	       !strcmp(code, "refused");
}

static bool frames_send(struct guest *g, const struct buf *out, struct err *err)
{
	int64_t until = time_boot_ms() + SEND_MS;
	size_t sent = 0;

	while (sent < out->len) {
		ssize_t k =
			send(g->fd, out->data + sent, out->len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd p = {.fd = g->fd, .events = POLLOUT};

		if (k > 0) {
			sent += (size_t)k;
			continue;
		}
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return box_gone(err, "the box's shim is gone");
		if (time_boot_ms() > until)
			return box_gone(err, "the box's shim takes nothing any more");
		(void)poll(&p, 1, 1000);
	}
	return true;
}

static bool frame_add(struct buf *out, enum wire_type type, uint32_t stream, const void *data,
	size_t n, struct err *err)
{
	return wire_add(out, type, stream, data, n) ||
	       err_set(err, ERR_TOO_LARGE, "%s of %zu bytes", wire_type_name(type), n);
}

bool guest_send(struct guest *g, enum wire_type type, uint32_t stream, const void *data, size_t n,
	struct err *err)
{
	CLEANUP(buf) struct buf out = BUF_INIT(WIRE_HEADER + WIRE_PAYLOAD_MAX);

	return frame_add(&out, type, stream, data, n, err) && frames_send(g, &out, err);
}

bool guest_send_exec(struct guest *g, uint32_t stream, const char *json, const void *input,
	size_t n, struct err *err)
{
	CLEANUP(buf) struct buf out = BUF_INIT(3 * WIRE_HEADER + 2 * WIRE_PAYLOAD_MAX);

	return frame_add(&out, WIRE_EXEC, stream, json, strlen(json), err) &&
	       (!input || ((!n || frame_add(&out, WIRE_STDIN, stream, input, n, err)) &&
				  frame_add(&out, WIRE_EOF, stream, NULL, 0, err))) &&
	       frames_send(g, &out, err);
}

bool guest_ack(struct guest *g, uint32_t stream, uint64_t offset, struct err *err)
{
	unsigned char payload[8];

	wire_put_u64(payload, offset);
	return guest_send(g, WIRE_CREDIT, stream, payload, sizeof(payload), err);
}

bool guest_ack_exit(struct guest *g, uint32_t stream, struct err *err)
{
	return guest_send(g, WIRE_ACK_EXIT, stream, "{}", 2, err);
}

/* Handles what no caller wants to see. */
static bool frame_drain(struct guest *g, const struct wire_frame *f, bool *drained, struct err *err)
{
	uint64_t off;

	*drained = true;
	if (f->type == WIRE_PING)
		return guest_send(g, WIRE_PONG, f->stream, f->payload, f->length, err);
	if (f->type == WIRE_PONG || (f->type == WIRE_ERROR && !f->stream && is_refusal(f)))
		return true;
	if (f->stream == 0 || f->stream == g->agent || f->stream == g->request) {
		*drained = false;
		return true;
	}
	if (f->type == WIRE_EXIT)
		return guest_ack_exit(g, f->stream, err);
	if (f->type != WIRE_STDOUT && f->type != WIRE_STDERR)
		return true;
	if (!wire_u64(f, &off))
		return protocol_broken(err, "output without an offset");
	return guest_ack(g, f->stream, off + f->length - WIRE_OFFSET, err);
}

/* Waits for bytes of the shim or words of the worker; *idle where the deadline passed. */
static bool wait_readable(
	struct guest *g, int64_t deadline, enum guest_event *event, bool *ready, struct err *err)
{
	int64_t left = deadline - time_boot_ms();
	struct pollfd p[2] = {
		{.fd = g->fd, .events = POLLIN},
		{.fd = g->r->worker, .events = POLLIN},
	};
	int n = poll(p, 2, left < 0 ? 0 : left > 60000 ? 60000 : (int)left);

	*ready = false;
	if (n < 0 && errno != EINTR)
		return err_errno(err, ERR_INTERNAL, "poll");
	if (n > 0 && p[1].revents) {
		bool cancel = g->r->cancel, term = g->r->term;

		runner_control(g->r);
		if (g->r->cancel != cancel || g->r->term != term) {
			*event = GUEST_CONTROL;
			return true;
		}
	}
	if (n > 0 && p[0].revents) {
		ssize_t k = recv(
			g->fd, wire_decoder_room(&g->in, 128u * 1024), 128u * 1024, MSG_DONTWAIT);

		if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
			return box_gone(err, "the box is gone");
		if (k > 0)
			wire_decoder_grew(&g->in, (size_t)k);
		*ready = k > 0;
		return true;
	}
	if (time_boot_ms() >= deadline)
		*event = GUEST_IDLE;
	return true;
}

bool guest_next(struct guest *g, int64_t deadline, enum guest_event *event,
	struct wire_frame *frame, struct err *err)
{
	if (g->fd < 0)
		return box_gone(err, "the box is not attached");
	for (;;) {
		bool got, drained, ready;

		if (!wire_decode(&g->in, frame, &got, err))
			return err_advise(err, "protocol", NULL);
		if (got) {
			if (!frame_drain(g, frame, &drained, err))
				return false;
			*event = GUEST_IDLE;
			if (drained && time_boot_ms() >= deadline)
				return true;
			if (drained)
				continue;
			if (frame->type == WIRE_ERROR && frame->stream == 0)
				return frame_error(frame, err);
			*event = GUEST_FRAME;
			return true;
		}
		*event = GUEST_FRAME;
		if (!wait_readable(g, deadline, event, &ready, err))
			return false;
		if (!ready && *event != GUEST_FRAME)
			return true;
	}
}

static bool shim_connect(struct guest *g, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/box/%s/shim.sock", g->r->cfg->run_dir,
		g->r->box.name);

	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(err, ERR_INTERNAL, "the path of the shim's socket is too long");
	g->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (g->fd < 0)
		return err_errno(err, ERR_INTERNAL, "socket");
	if (connect(g->fd, (struct sockaddr *)&a, sizeof(a)))
		return box_gone(err, "the box's shim does not answer");
	return true;
}

/* Leftovers of the lane that no one will follow again. */
static bool leftovers_kill(struct guest *g, struct err *err)
{
	struct json_object *execs = json_get(g->hello, "execs");

	for (size_t i = 0; i < json_count(execs); i++) {
		struct json_object *x = json_at(execs, i);
		const char *lane;
		int64_t stream;
		bool exited = false;

		if (!json_get_i64(x, "stream", &stream) || !json_get_text(x, "lane", &lane) ||
			stream <= 0 || stream >= WIRE_STREAM_EGRESS)
			return protocol_broken(err, "the shim's list of execs is broken");
		(void)json_get_bool(x, "exited", &exited);
		if (strcmp(lane, g->lane) || (uint32_t)stream == g->agent || exited)
			continue;
		static const char kill_all[] = "{\"signal\":9,\"all\":true}";
		if (!guest_send(
			    g, WIRE_SIGNAL, (uint32_t)stream, kill_all, sizeof(kill_all) - 1, err))
			return false;
	}
	return true;
}

static bool attach_once(struct guest *g, int64_t deadline, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	enum guest_event event;
	struct wire_frame f;
	const char *text;
	bool ready = false;

	if (!shim_connect(g, err))
		return false;
	wire_decoder_init(&g->in);
	json_add_text(o, "lane", g->lane);
	json_add_i64(o, "epoch", g->r->job.fence.epoch);
	if (g->resume)
		json_add_bool(o, "resume", true);
	text = json_text(o, g->r->pool);
	if (!guest_send(g, WIRE_ATTACH, 0, text, strlen(text), err))
		return false;
	do {
		if (!guest_next(g, deadline, &event, &f, err))
			return false;
		if (g->r->term)
			return err_set(err, ERR_BUSY, "the worker stops");
	} while (event == GUEST_CONTROL);
	if (event == GUEST_IDLE)
		return err_set(err, ERR_TIMEOUT, "the box did not answer in time");
	if (f.type != WIRE_HELLO || f.stream)
		return protocol_broken(err, "the shim did not say HELLO");
	if (!guest_json(&f, &g->hello, err))
		return false;
	if (json_get_bool(g->hello, "ready", &ready) && ready)
		return true;
	(void)err_set(err, ERR_UPSTREAM, "the box is not ready");
	return err_advise(err, "not_ready", NULL);
}

void guest_detach(struct guest *g)
{
	if (g->fd < 0)
		return;
	(void)close(g->fd);
	g->fd = -1;
	wire_decoder_done(&g->in);
	json_free(g->hello);
	g->hello = NULL;
}

void cleanup_guest(struct guest *g)
{
	guest_detach(g);
}

bool guest_attach(
	struct guest *g, const char *lane, uint32_t agent, int64_t deadline, struct err *err)
{
	int64_t no_shim_since = 0;

	g->lane = lane;
	g->agent = agent;
	for (;;) {
		bool final;

		if (attach_once(g, deadline, err))
			return leftovers_kill(g, err);
		guest_detach(g);
		/* a shim that is starting has no socket yet; one that is not there for 2 s died */
		if (!strcmp(err->reason, "box_lost") && !no_shim_since)
			no_shim_since = time_boot_ms();
		final = strcmp(err->reason, "not_ready") &&
			(strcmp(err->reason, "box_lost") || time_boot_ms() - no_shim_since > 2000);
		if (final || time_boot_ms() >= deadline)
			return err_wrap(err, "attach");
		if (!runner_sleep(g->r, 10))
			return err_set(err, ERR_BUSY, "the worker stops");
	}
}

static const char *hello_text(const struct guest *g, const char *key)
{
	const char *s = "";

	(void)json_get_text(g->hello, key, &s);
	return pool_strdup(g->r->pool, s);
}

const char *guest_boot_id(const struct guest *g)
{
	return hello_text(g, "boot_id");
}

const char *guest_kernel(const struct guest *g)
{
	return hello_text(g, "kernel");
}

const char *guest_machine(const struct guest *g)
{
	struct json_object *o = json_get(g->hello, "machine");

	return o ? json_text(o, g->r->pool) : "{}";
}

bool guest_has_exec(const struct guest *g, uint32_t stream)
{
	struct json_object *execs = json_get(g->hello, "execs");
	int64_t is;

	for (size_t i = 0; i < json_count(execs); i++)
		if (json_get_i64(json_at(execs, i), "stream", &is) && is == stream)
			return true;
	return false;
}

const char *guest_question(const struct guest *g)
{
	struct json_object *q = json_get(g->hello, "question");
	const char *id;

	return q && json_get_text(q, "id", &id) ? id : NULL;
}

static bool streams_body(struct runner *r, void *arg, struct err *err)
{
	return box_take_streams(r->db, &r->job.fence, r->box.id, STREAM_BLOCK, arg, err);
}

bool guest_streams_take(struct guest *g, struct err *err)
{
	int64_t first;

	if (g->next_stream != g->end_stream)
		return true;
	if (!runner_try(g->r, streams_body, &first, err))
		return false;
	g->next_stream = (uint32_t)first;
	g->end_stream = g->next_stream + STREAM_BLOCK;
	return true;
}

bool guest_stream(struct guest *g, uint32_t *stream, struct err *err)
{
	if (!guest_streams_take(g, err))
		return false;
	*stream = g->next_stream++;
	return true;
}
