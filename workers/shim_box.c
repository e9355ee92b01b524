/*
 * The box's end: the handshake after its start, what each of its frames means, its console and its
 * death. Every frame is taken as hostile: one that breaks a rule kills the box, code "protocol",
 * and never more than the box.
 */
#include "shim.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "killpoint.h"
#include "log.h"
#include "pool.h"
#include "random.h"
#include "text.h"

/* Kept of the console, and shown of it when the guest's kernel has died. */
#define CONSOLE_MAX (64u * 1024)
#define CONSOLE_SHOWN 2048
/* The queue to the box: runners and gate are not read while it is longer than a quarter, so only
 * the box itself (pings, refusals) can fill it. */
#define BOX_OUT_MAX (8u * 1024 * 1024)
/* A clock further off than this after WELCOME is a failed start. */
#define SKEW_MS 2000
/* For sync and power-off after BYE. */
#define BYE_MS 3000
/* From the end of its channel to the end of its process, which first takes its memory down. */
#define CLOSED_MS 5000

bool box_send(
	struct shim *shim, enum wire_type type, uint32_t stream, const void *payload, size_t n)
{
	return shim->box.state != BOX_DEAD && peer_send(&shim->box.peer, type, stream, payload, n);
}

bool box_relay(struct shim *shim, const struct wire_frame *f)
{
	return shim->box.state != BOX_DEAD && peer_relay(&shim->box.peer, f);
}

static bool console_says(const struct box *b, const char *words)
{
	return memmem(b->console_text.data, b->console_text.len, words, strlen(words)) != NULL;
}

/* How a box ended whose process ended. asb-boxd is the guest's first process: its death is a
 * panic as well, but one that says so. */
static const char *end_of(const struct box *b, const char **message)
{
	if (console_says(b, "Attempted to kill init")) {
		*message = "asb-boxd died in the guest";
		return "agent_lost";
	}
	if (console_says(b, "Kernel panic")) {
		*message = "the guest's kernel panicked";
		return "guest_panic";
	}
	*message = NULL;
	return "box_lost";
}

static void console_read(struct shim *shim)
{
	struct box *b = &shim->box;
	char text[4096];
	ssize_t n;

	/* bounded: a guest that never stops printing must not keep us here */
	for (int i = 0; i < 16 && (n = read(b->rt.vm.console, text, sizeof(text))) > 0; i++) {
		(void)buf_add(&b->console_text, text, (size_t)n);
		if (b->console_text.len > CONSOLE_MAX)
			buf_shift(&b->console_text, b->console_text.len - CONSOLE_MAX);
	}
}

/* The last lines of the console, or a panic's first ones, safe to show, after ": ". */
static void console_add(struct box *b, struct buf *out)
{
	size_t n = b->console_text.len, shown = n < CONSOLE_SHOWN ? n : CONSOLE_SHOWN;
	const char *from = b->console_text.data + n - shown, *panic;

	if (!n)
		return;
	/* a panic's first line says what it was, what follows is registers */
	panic = memmem(b->console_text.data, n, "Kernel panic", 12);
	if (panic) {
		size_t left = n - (size_t)(panic - b->console_text.data);

		from = panic;
		shown = left < CONSOLE_SHOWN ? left : CONSOLE_SHOWN;
	}
	(void)buf_adds(out, ": ");
	text_add_sane(out, from, shown);
}

/* A container is not our child, and ends with its channel; whether it did, asb-spawn proves. */
static void box_destroy(struct box *b)
{
	if (b->runtime->is_container)
		qemu_kill(&b->rt.vm);
	else
		b->runtime->destroy(&b->rt);
}

/* The process is gone and waited for; say so to the log and to whoever attaches. */
static void box_dead(struct shim *shim, const char *code)
{
	struct box *b = &shim->box;

	b->state = BOX_DEAD;
	b->end_code = code;
	watch_remove(b->pidfd);
	watch_remove(b->console);
	watch_remove(b->qmp);
	watch_remove(b->start_timer);
	watch_remove(b->bye_timer);
	b->pidfd = b->console = b->qmp = b->start_timer = b->bye_timer = NULL;
	peer_close(&b->peer);
	b->rt.vm.channel = -1;
	box_destroy(b);
	gate_stop(shim);
	watch_set_timer(shim->linger, shim->leaving ? 0 : shim->linger_ms, 0);
	log_info("box=%s ended code=%s message=%s", shim->name, code,
		log_quote(b->end_message.data));
}

void box_end(struct shim *shim, const char *code, const char *fmt, ...)
{
	struct box *b = &shim->box;
	va_list ap;

	if (b->state == BOX_DEAD)
		return;
	buf_reset(&b->end_message);
	va_start(ap, fmt);
	(void)buf_addv(&b->end_message, fmt, ap);
	va_end(ap);
	child_kill(&b->rt.vm.child);
	box_dead(shim, code);
}

/* The process ended by itself, or was killed from outside. */
static void box_lost(struct shim *shim)
{
	struct box *b = &shim->box;
	const char *code, *message;
	struct err ignored;
	int status = 0;

	/* what it had sent before is not lost with it */
	peer_drain(&b->peer);
	if (b->state == BOX_DEAD)
		return; /* its last words broke a rule */
	if (b->rt.vm.console >= 0)
		console_read(shim);
	watch_remove(b->pidfd);
	b->pidfd = NULL;
	if (!b->runtime->is_container)
		(void)!child_wait(&b->rt.vm.child, -1, &status, &ignored);
	buf_reset(&b->end_message);
	code = end_of(b, &message);
	if (message)
		(void)buf_adds(&b->end_message, message);
	else if (b->runtime->is_container)
		(void)buf_adds(&b->end_message, "the container ended");
	else if (WIFSIGNALED(status))
		(void)buf_addf(&b->end_message, "the box's process was killed by signal %d",
			WTERMSIG(status));
	else
		(void)buf_addf(
			&b->end_message, "the box's process ended with %d", WEXITSTATUS(status));
	console_add(b, &b->end_message);
	box_dead(shim, code);
}

static bool hello_take(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct box *b = &shim->box;
	const char *nonce, *boot_id, *kernel;
	int64_t protocol;

	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return err_wrap(err, "hello");
	if (!json_get_i64(o, "protocol", &protocol) || protocol != WIRE_PROTOCOL)
		return err_set(err, ERR_UPSTREAM, "hello: another protocol than %d", WIRE_PROTOCOL);
	if (!json_get_text(o, "nonce", &nonce) || strcmp(nonce, b->nonce))
		return err_set(err, ERR_UPSTREAM, "hello: not the answer to our nonce");
	if (!json_get_text(o, "boot_id", &boot_id) || !json_get_text(o, "kernel", &kernel) ||
		!json_get(o, "machine") || strlen(boot_id) > 64 || strlen(kernel) > 256)
		return err_set(err, ERR_UPSTREAM, "hello: a member is missing");
	b->boot_id = pool_strdup(shim->pool, boot_id);
	b->kernel = pool_strdup(shim->pool, kernel);
	b->machine = pool_strdup(shim->pool, json_text(json_get(o, "machine"), shim->pool));
	if (strlen(b->machine) > 4096)
		return err_set(err, ERR_UPSTREAM, "hello: too long");
	kill_point("shim_after_hello");
	return true;
}

static void start_late(struct loop *loop, uint32_t events, void *arg);

void box_welcome(struct shim *shim)
{
	unsigned char entropy[64], id[16];
	char entropy_hex[2 * sizeof(entropy) + 1], id_hex[2 * sizeof(id) + 1], text[512];
	int n;

	random_bytes(entropy, sizeof(entropy));
	random_bytes(id, sizeof(id));
	hex_encode(entropy, sizeof(entropy), entropy_hex);
	hex_encode(id, sizeof(id), id_hex);
	shim->box.welcomed_ms = time_now_ms();
	n = snprintf(text, sizeof(text),
		"{\"time_ms\":%lld,\"entropy\":\"%s\",\"hostname\":\"%s\",\"machine_id\":\"%s\"}",
		(long long)shim->box.welcomed_ms, entropy_hex, shim->name, id_hex);
	(void)box_send(shim, WIRE_WELCOME, 0, text, (size_t)n);
	if (!shim->box.start_timer)
		shim->box.start_timer =
			loop_add_timer(shim->loop, shim->start_ms, 0, start_late, shim);
	explicit_bzero(entropy, sizeof(entropy));
	explicit_bzero(entropy_hex, sizeof(entropy_hex));
	explicit_bzero(text, sizeof(text));
}

static bool ready_take(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	struct box *b = &shim->box;
	const char *boot_id;
	int64_t clock_ms;

	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return err_wrap(err, "ready");
	if (!json_get_text(o, "boot_id", &boot_id) || strlen(boot_id) > 64 ||
		!json_get_i64(o, "clock_ms", &clock_ms))
		return err_set(err, ERR_UPSTREAM, "ready: a member is missing");
	/* its clock was read somewhere between our WELCOME and now */
	if (clock_ms < b->welcomed_ms - SKEW_MS || clock_ms > time_now_ms() + SKEW_MS)
		return err_set(err, ERR_UPSTREAM, "ready: the box's clock is off by %lld ms",
			(long long)(clock_ms - time_now_ms()));
	b->boot_id = pool_strdup(shim->pool, boot_id);
	watch_remove(b->start_timer);
	b->start_timer = NULL;
	b->state = BOX_READY;
	b->was_ready = true;
	log_info("box=%s ready", shim->name);
	return true;
}

/* Frames of a box that is not ready: exactly the two of the handshake, in order. */
static bool greeting_take(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	struct box *b = &shim->box;

	if (f->stream == 0 && f->type == WIRE_HELLO && b->state == BOX_GREETING) {
		if (!hello_take(shim, f, err))
			return false;
		b->state = BOX_WELCOMED;
		box_welcome(shim);
		return true;
	}
	if (f->stream == 0 && f->type == WIRE_READY && b->state == BOX_WELCOMED)
		return ready_take(shim, f, err);
	return err_set(err, ERR_UPSTREAM, "%s before the box was ready", wire_type_name(f->type));
}

static bool control_take(struct shim *shim, const struct wire_frame *f, struct err *err)
{
	switch (f->type) {
	case WIRE_QUESTION:
		return question_take(shim, f, err);
	case WIRE_DONE:
	case WIRE_METRICS:
	case WIRE_PROBE:
	case WIRE_ERROR:
		return stream0_answer(shim, f, err);
	default:
		return err_set(err, ERR_UPSTREAM, "%s on stream 0", wire_type_name(f->type));
	}
}

static bool box_frame(struct peer *p, const struct wire_frame *f, struct err *err)
{
	struct shim *shim = p->owner;
	struct stream *s;

	shim->box.silence_ms = 0;
	if (f->type == WIRE_PING) {
		/* only a box that pings and does not read fills the queue */
		if (peer_send(p, WIRE_PONG, f->stream, f->payload, f->length))
			return true;
		return err_set(err, ERR_UPSTREAM, "it pings and does not read");
	}
	if (f->type == WIRE_PONG)
		return true;
	if (shim->box.state != BOX_READY)
		return greeting_take(shim, f, err);
	if (f->stream == 0)
		return control_take(shim, f, err);
	if (f->stream >= WIRE_STREAM_EGRESS)
		return gate_take(shim, f, err);
	s = stream_find(shim, f->stream);
	/* a SIGNAL, or input, crossed with the end of what it was for */
	if (!s && (f->type == WIRE_ERROR || f->type == WIRE_CREDIT))
		return true;
	if (!s)
		return err_set(err, ERR_UPSTREAM, "%s on stream %u, which is not there",
			wire_type_name(f->type), f->stream);
	return stream_take(shim, s, f, err);
}

static void box_closed(struct peer *p, const struct err *err)
{
	struct shim *shim = p->owner;
	struct box *b = &shim->box;

	b->rt.vm.channel = -1; /* the peer owned it */
	if (b->state == BOX_DEAD)
		return;
	if (err && err->code != ERR_BUSY) {
		box_end(shim, "protocol", "the box broke the protocol: %s", err->msg);
		return;
	}
	/* the process is about to go; when it only closed its channel it goes now */
	watch_set_timer(b->bye_timer, CLOSED_MS, 0);
}

static const struct peer_class box_class = {box_frame, box_closed};

static void process_ended(struct loop *loop, uint32_t events, void *arg)
{
	(void)loop;
	(void)events;
	box_lost(arg);
}

static void console_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;

	(void)loop;
	console_read(shim);
	if (events & (EPOLLHUP | EPOLLERR)) {
		watch_remove(shim->box.console);
		shim->box.console = NULL;
	}
}

/* Events of the monitor, which nobody waits for. */
static void qmp_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;
	char text[4096];

	(void)loop;
	(void)events;
	if (recv(shim->box.rt.vm.qmp, text, sizeof(text), MSG_DONTWAIT) > 0 || errno == EAGAIN)
		return;
	watch_remove(shim->box.qmp);
	shim->box.qmp = NULL;
}

static void start_late(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;
	CLEANUP(buf) struct buf b = BUF_INIT(16384);

	(void)loop;
	(void)events;
	console_add(&shim->box, &b);
	box_end(shim, "not_ready", "the box was not ready within %lld ms%s",
		(long long)shim->start_ms, b.data);
}

static void bye_late(struct loop *loop, uint32_t events, void *arg)
{
	struct shim *shim = arg;
	struct box *b = &shim->box;
	struct pollfd ended = {.fd = b->rt.vm.child.pidfd, .events = POLLIN};
	CLEANUP(buf) struct buf said = BUF_INIT(16384);
	const char *code, *message;

	(void)loop;
	(void)events;
	/* both are due at once where we had no processor for so long */
	if (poll(&ended, 1, 0) == 1) {
		box_lost(shim);
		return;
	}
	if (b->rt.vm.console >= 0)
		console_read(shim);
	code = end_of(b, &message);
	if (!message) {
		/* its process lives, but who speaks for it does not */
		code = shim->leaving ? "box_lost" : "agent_lost";
		message = "the box closed its channel and was killed";
	}
	console_add(b, &said);
	box_end(shim, code, "%s%s", message, said.data);
}

void box_tick(struct shim *shim, int64_t ms)
{
	struct box *b = &shim->box;

	if (b->state != BOX_READY)
		return;
	b->silence_ms += ms;
	if (b->silence_ms >= shim->mute_ms)
		box_end(shim, "agent_lost",
			"asb-boxd said nothing for %lld ms; the box's process lives",
			(long long)shim->mute_ms);
	else
		(void)box_send(shim, WIRE_PING, 0, NULL, 0);
}

void box_begin(struct shim *shim)
{
	struct box *b = &shim->box;
	unsigned char nonce[16];
	char text[128];
	int n;

	buf_init(&b->console_text, CONSOLE_MAX + 8192);
	buf_init(&b->end_message, 16384);
	random_bytes(nonce, sizeof(nonce));
	hex_encode(nonce, sizeof(nonce), b->nonce);
	peer_open(&b->peer, shim->loop, b->rt.vm.channel, BOX_OUT_MAX, &box_class, shim);
	b->pidfd = loop_add_fd(shim->loop, b->rt.vm.child.pidfd, EPOLLIN, process_ended, shim);
	if (b->rt.vm.console >= 0) {
		(void)fcntl(
			b->rt.vm.console, F_SETFL, fcntl(b->rt.vm.console, F_GETFL) | O_NONBLOCK);
		b->console =
			loop_add_fd(shim->loop, b->rt.vm.console, EPOLLIN, console_ready, shim);
	}
	if (b->rt.vm.qmp >= 0)
		b->qmp = loop_add_fd(shim->loop, b->rt.vm.qmp, EPOLLIN, qmp_ready, shim);
	b->start_timer = loop_add_timer(shim->loop, shim->start_ms, 0, start_late, shim);
	b->bye_timer = loop_add_timer(shim->loop, -1, 0, bye_late, shim);
	n = snprintf(
		text, sizeof(text), "{\"protocol\":%d,\"nonce\":\"%s\"}", WIRE_PROTOCOL, b->nonce);
	(void)box_send(shim, WIRE_ATTACH, 0, text, (size_t)n);
}

void box_bye(struct shim *shim)
{
	shim->leaving = true;
	if (shim->box.state == BOX_DEAD) {
		watch_set_timer(shim->linger, 0, 0);
		return;
	}
	(void)box_send(shim, WIRE_BYE, 0, "{}", 2);
	watch_set_timer(shim->box.bye_timer, BYE_MS, 0);
}

void box_done(struct shim *shim)
{
	struct box *b = &shim->box;

	peer_close(&b->peer);
	b->rt.vm.channel = -1;
	box_destroy(b);
	buf_done(&b->console_text);
	buf_done(&b->end_message);
}
