/*
 * The byte stream to the host. Reads frames and has them obeyed; writes what was queued and, while
 * there is room, asks the bulk senders in turn for one frame each. Watches the host going: a VM
 * gives it 2 s to come back, a plain process ends with its descriptor.
 */
#include <sys/reboot.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "exec.h"
#include "look.h"
#include "loop.h"
#include "text.h"
#include "worker.h"

/* Bulk stops at this fill; control frames go on to OUT_MAX. */
#define OUT_ROOM (96u * 1024)
#define OUT_STOP (1u << 20) /* past this no more requests are read */
#define OUT_MAX (4u << 20)
#define READ_BYTES (64u * 1024)
#define GRACE_MS 2000
#define GRACE_LOOK_MS 10
/* Writes in one loop round, so that a fast host does not keep the rest from being served. */
#define ROUNDS 16

static void everything_kill(struct boxd *b)
{
	for (struct exec *e = b->execs; e; e = e->next)
		(void)group_signal(e, SIGKILL);
	workers_kill_all(b);
	if (b->owns_machine)
		(void)kill(-1, SIGKILL);
}

static int left_count(struct boxd *b)
{
	int n = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	for (struct exec *e = b->execs; e; e = e->next)
		n += group_count(e);
	return n;
}

_Noreturn void boxd_end(struct boxd *b, int status)
{
	int64_t until = time_boot_ms() + 1000;

	everything_kill(b);
	while (left_count(b) && time_boot_ms() < until) {
		everything_kill(b);
		(void)usleep(2000);
	}
	if (b->owns_machine) {
		sync();
		(void)reboot(RB_POWER_OFF);
	}
	while (b->execs)
		exec_forget(b->execs);
	group_done(b);
	exit(status);
}

bool channel_has_room(const struct boxd *b)
{
	return b->out.len < OUT_ROOM;
}

void channel_send_raw(struct boxd *b, enum wire_type type, uint32_t stream, const void *p, size_t n)
{
	if (!wire_add(&b->out, type, stream, p, n))
		b->broken = true;
}

void channel_send(struct boxd *b, enum wire_type type, uint32_t stream, const struct buf *json)
{
	if (json->failed)
		b->broken = true;
	else
		channel_send_raw(b, type, stream, json->data, json->len);
}

void channel_done(struct boxd *b, uint32_t stream, const struct buf *json)
{
	channel_send(b, WIRE_DONE, stream, json);
}

void channel_error(struct boxd *b, uint32_t stream, const struct err *err, const char *entry)
{
	CLEANUP(buf) struct buf json = BUF_INIT(WIRE_PAYLOAD_MAX);
	const char *code = err->reason[0] ? err->reason : err_info(err->code)->name;

	(void)buf_addc(&json, '{');
	boxjson_add_text(&json, "code", code);
	boxjson_add_text(&json, "message", err->msg);
	if (entry)
		boxjson_add_text(&json, "entry", entry);
	(void)buf_addc(&json, '}');
	channel_send(b, WIRE_ERROR, stream, &json);
}

/* Moves head_left on over n written bytes; out still holds them. */
static void head_advance(struct boxd *b, size_t n)
{
	const unsigned char *p = (const unsigned char *)b->out.data;
	size_t at = 0, step;

	while (at < n) {
		if (!b->head_left)
			b->head_left = WIRE_HEADER +
				       (p[at] | (size_t)p[at + 1] << 8 | (size_t)p[at + 2] << 16);
		step = b->head_left < n - at ? b->head_left : n - at;
		b->head_left -= step;
		at += step;
	}
}

void channel_drop_unsent(struct boxd *b)
{
	b->out.len = b->head_left;
	b->out.failed = false;
	b->broken = false;
}

static void host_gone(struct boxd *b)
{
	if (!b->owns_machine)
		boxd_end(b, 0);
	watch_remove(b->channel_watch);
	b->channel_watch = NULL;
	b->ready = false;
	b->gone_since_ms = time_boot_ms();
	b->head_left = 0;
	buf_reset(&b->out);
	wire_decoder_done(&b->in);
	wire_decoder_init(&b->in);
	watch_set_timer(b->grace, GRACE_LOOK_MS, GRACE_LOOK_MS);
}

/* The last words where a rule was broken: the host should learn why, if it still listens. */
static _Noreturn void connection_end(struct boxd *b, const struct err *err)
{
	struct pollfd pfd = {.fd = b->channel, .events = POLLOUT};
	ssize_t n;

	channel_drop_unsent(b);
	channel_error(b, 0, err, NULL);
	while (b->out.len && poll(&pfd, 1, 500) > 0) {
		n = write(b->channel, b->out.data, b->out.len);
		if (n <= 0)
			break;
		buf_shift(&b->out, (size_t)n);
	}
	boxd_end(b, 1);
}

static void frames_obey(struct boxd *b)
{
	struct wire_frame f;
	struct err err = {0};
	bool got = true;

	while (got) {
		if (!wire_decode(&b->in, &f, &got, &err))
			connection_end(b, &err);
		if (got && !dispatch(b, &f, &err))
			connection_end(b, &err);
	}
}

static void channel_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct boxd *b = arg;
	ssize_t n;

	(void)loop;
	if (events & EPOLLIN) {
		n = read(b->channel, wire_decoder_room(&b->in, READ_BYTES), READ_BYTES);
		if (n > 0) {
			wire_decoder_grew(&b->in, (size_t)n);
			frames_obey(b);
			return;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		host_gone(b);
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		host_gone(b);
	}
}

static void grace_look(struct loop *loop, uint32_t events, void *arg)
{
	struct boxd *b = arg;
	struct pollfd pfd = {.fd = b->channel, .events = POLLIN};

	(void)events;
	if (poll(&pfd, 1, 0) >= 0 && !(pfd.revents & (POLLHUP | POLLERR))) {
		b->channel_watch = loop_add_fd(loop, b->channel, EPOLLIN, channel_ready, b);
		watch_set_timer(b->grace, -1, 0);
		return;
	}
	if (b->ever_attached && time_boot_ms() - b->gone_since_ms > GRACE_MS)
		boxd_end(b, 0);
}

void channel_open(struct boxd *b, int fd)
{
	b->channel = fd;
	wire_decoder_init(&b->in);
	buf_init(&b->out, OUT_MAX);
	b->grace = loop_add_timer(b->loop, -1, 0, grace_look, b);
	b->channel_watch = loop_add_fd(b->loop, fd, EPOLLIN, channel_ready, b);
}

/* One frame of each kind of sender; false when none has any. */
static bool senders_ask(struct boxd *b)
{
	bool any = false;

	if (!b->ready)
		return false;
	any |= exec_pump(b);
	any |= workers_pump(b);
	any |= looks_pump(b);
	any |= egress_pump(b);
	return any;
}

void channel_flush(struct boxd *b)
{
	struct err err = {0};
	bool more = false;
	ssize_t n;

	if (b->broken) {
		(void)err_set(&err, ERR_UPSTREAM, "the host reads too slowly");
		connection_end(b, &err);
	}
	for (int i = 0; i < ROUNDS && b->channel_watch; i++) {
		while (channel_has_room(b) && (more = senders_ask(b)))
			;
		if (!b->out.len)
			break;
		n = write(b->channel, b->out.data, b->out.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			host_gone(b);
		if (n <= 0)
			break;
		head_advance(b, (size_t)n);
		buf_shift(&b->out, (size_t)n);
	}
	if (b->channel_watch)
		watch_set_events(b->channel_watch, (b->out.len < OUT_STOP ? EPOLLIN : 0) |
							   (b->out.len || more ? EPOLLOUT : 0));
}
