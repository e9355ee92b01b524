/*
 * Blocking reads and writes of frames with a deadline each, and the few exchanges that template
 * making and the tests share: the opening, and one exec with its output.
 */
#include "boxlink.h"

#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "random.h"
#include "text.h"

#define CONSOLE_KEEP (64u * 1024)
#define SEND_MS 30000
/* Output of one exec that is kept; the rest is counted and credited. */
#define OUTPUT_KEEP (4u << 20)

void boxlink_init(struct boxlink *l, int fd, int console)
{
	l->fd = fd;
	l->console = console;
	wire_decoder_init(&l->in);
	buf_init(&l->console_tail, 2 * CONSOLE_KEEP);
}

void boxlink_done(struct boxlink *l)
{
	wire_decoder_done(&l->in);
	buf_done(&l->console_tail);
}

void cleanup_boxlink(struct boxlink *l)
{
	boxlink_done(l);
}

void cleanup_boxlink_exit(struct boxlink_exit *e)
{
	buf_done(&e->out);
}

static void console_read(struct boxlink *l)
{
	char chunk[4096];
	ssize_t n = read(l->console, chunk, sizeof(chunk));

	if (n <= 0) {
		if (n == 0 || (errno != EINTR && errno != EAGAIN))
			l->console = -1;
		return;
	}
	if (l->console_tail.len + (size_t)n > l->console_tail.max)
		buf_shift(&l->console_tail, l->console_tail.len - CONSOLE_KEEP);
	(void)buf_add(&l->console_tail, chunk, (size_t)n);
}

/* Waits for `events` on the stream, reading the console meanwhile. */
static bool wait_for(struct boxlink *l, short events, int64_t deadline_ms, struct err *err)
{
	for (;;) {
		int64_t left = deadline_ms - time_boot_ms();
		struct pollfd p[2] = {
			{.fd = l->fd, .events = events}, {.fd = l->console, .events = POLLIN}};
		int n = left > 0 ? poll(p, 2, (int)left) : 0;

		if (n == 0)
			return err_set(err, ERR_TIMEOUT, "box: no answer");
		if (n < 0 && errno != EINTR)
			return err_errno(err, ERR_INTERNAL, "box: poll");
		if (n > 0 && p[1].revents)
			console_read(l);
		if (n > 0 && p[0].revents)
			return true;
	}
}

bool boxlink_send_bytes(struct boxlink *l, enum wire_type type, uint32_t stream, const void *data,
	size_t n, struct err *err)
{
	CLEANUP(buf) struct buf out = BUF_INIT(WIRE_HEADER + WIRE_PAYLOAD_MAX);
	int64_t deadline_ms = time_boot_ms() + SEND_MS;

	if (!wire_add(&out, type, stream, data, n))
		return err_set(err, ERR_TOO_LARGE, "box: frame of %zu bytes", n);
	while (out.len > 0) {
		ssize_t sent = send(l->fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0)
			buf_shift(&out, (size_t)sent);
		else if (errno != EAGAIN && errno != EINTR)
			return err_errno(err, ERR_UPSTREAM, "box: send %s", wire_type_name(type));
		else if (!wait_for(l, POLLOUT, deadline_ms, err))
			return err_wrap(err, "send %s", wire_type_name(type));
	}
	return true;
}

bool boxlink_send(
	struct boxlink *l, enum wire_type type, uint32_t stream, const char *json, struct err *err)
{
	return boxlink_send_bytes(l, type, stream, json, strlen(json), err);
}

bool boxlink_next(struct boxlink *l, int timeout_ms, struct wire_frame *frame, struct err *err)
{
	int64_t deadline_ms = time_boot_ms() + timeout_ms;

	for (;;) {
		bool got = false;
		unsigned char *room;
		ssize_t n;

		if (!wire_decode(&l->in, frame, &got, err))
			return err_wrap(err, "box");
		if (got)
			return true;
		if (!wait_for(l, POLLIN, deadline_ms, err))
			return false;
		room = wire_decoder_room(&l->in, 16384);
		n = recv(l->fd, room, 16384, MSG_DONTWAIT);
		if (n > 0)
			wire_decoder_grew(&l->in, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return err_set(err, ERR_UPSTREAM, "box: the stream closed");
	}
}

static bool refused(const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf sane = BUF_INIT(200);
	const char *text = "";

	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return err_wrap(err, "box: ERROR");
	(void)json_get_text(o, "message", &text);
	text_add_sane(&sane, text, strnlen(text, 160));
	return err_set(err, ERR_UPSTREAM, "box refused: %s", sane.data);
}

bool boxlink_expect(struct boxlink *l, enum wire_type type, uint32_t stream, int timeout_ms,
	struct json_object **json, struct err *err)
{
	int64_t deadline_ms = time_boot_ms() + timeout_ms;
	struct wire_frame f;

	for (;;) {
		int64_t left = deadline_ms - time_boot_ms();

		if (!boxlink_next(l, left > 0 ? (int)left : 0, &f, err))
			return err_wrap(err, "waiting for %s", wire_type_name(type));
		if (f.type == WIRE_ERROR && (f.stream == stream || f.stream == 0))
			return refused(&f, err);
		if (f.type != type || f.stream != stream)
			continue;
		if (!json)
			return true;
		return json_parse((const char *)f.payload, f.length, json, err) ||
		       err_wrap(err, "box: %s", wire_type_name(type));
	}
}

bool boxlink_hello(struct boxlink *l, int timeout_ms, struct json_object **hello, struct err *err)
{
	CLEANUP(json) struct json_object *answer = NULL;
	unsigned char random[16];
	char nonce[33], text[96];
	const char *same = "";

	random_bytes(random, sizeof(random));
	hex_encode(random, sizeof(random), nonce);
	(void)snprintf(
		text, sizeof(text), "{\"protocol\":%d,\"nonce\":\"%s\"}", WIRE_PROTOCOL, nonce);
	if (!boxlink_send(l, WIRE_ATTACH, 0, text, err))
		return false;
	/* a HELLO to somebody before us may still be on its way */
	do {
		json_free(STEAL(answer));
		if (!boxlink_expect(l, WIRE_HELLO, 0, timeout_ms, &answer, err))
			return false;
	} while (!json_get_text(answer, "nonce", &same) || strcmp(same, nonce) != 0);
	*hello = STEAL(answer);
	return true;
}

bool boxlink_welcome(struct boxlink *l, const char *hostname, int64_t time_ms, int timeout_ms,
	struct json_object **ready, struct err *err)
{
	unsigned char random[80];
	char entropy[129], machine_id[33], text[512];

	random_bytes(random, sizeof(random));
	hex_encode(random, 64, entropy);
	hex_encode(random + 64, 16, machine_id);
	(void)snprintf(text, sizeof(text),
		"{\"time_ms\":%" PRId64
		",\"entropy\":\"%s\",\"hostname\":\"%s\",\"machine_id\":\"%s\"}",
		time_ms, entropy, hostname, machine_id);
	return boxlink_send(l, WIRE_WELCOME, 0, text, err) &&
	       boxlink_expect(l, WIRE_READY, 0, timeout_ms, ready, err);
}

static bool exec_add(struct buf *b, const char *user, const char *const *argv, int timeout_ms)
{
	(void)buf_adds(b, "{\"argv\":[");
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			(void)buf_addc(b, ',');
		json_add_quoted(b, argv[i], strlen(argv[i]));
	}
	(void)buf_addf(b, "],\"cwd\":\"/\",\"user\":\"%s\",\"lane\":\"admin\",\"timeout_ms\":%d}",
		user, timeout_ms);
	return !b->failed;
}

static bool exit_read(const struct wire_frame *f, struct boxlink_exit *out, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	int64_t end = 0;

	if (!json_parse((const char *)f->payload, f->length, &o, err))
		return err_wrap(err, "box: EXIT");
	if (!json_get_i64(o, "code", &out->code))
		out->code = -1;
	if (!json_get_i64(o, "signal", &out->signal))
		out->signal = 0;
	(void)json_get_bool(o, "timed_out", &out->timed_out);
	(void)json_get_i64(o, "end", &end);
	out->end = (uint64_t)end;
	return true;
}

/* Keeps what fits and says that all of it is safe. */
static bool output_take(
	struct boxlink *l, const struct wire_frame *f, struct boxlink_exit *out, struct err *err)
{
	unsigned char credit[8];
	uint64_t offset;
	size_t n;

	if (!wire_u64(f, &offset))
		return err_set(err, ERR_UPSTREAM, "box: output without an offset");
	n = f->length - WIRE_OFFSET;
	if (out->out.len + n <= OUTPUT_KEEP)
		(void)buf_add(&out->out, f->payload + WIRE_OFFSET, n);
	wire_put_u64(credit, offset + n);
	return boxlink_send_bytes(l, WIRE_CREDIT, f->stream, credit, sizeof(credit), err);
}

bool boxlink_exec_json(struct boxlink *l, uint32_t stream, const char *json, int timeout_ms,
	struct boxlink_exit *out, struct err *err)
{
	int64_t deadline_ms = time_boot_ms() + timeout_ms + 30000;
	struct wire_frame f;

	*out = (struct boxlink_exit){.out = BUF_INIT(OUTPUT_KEEP)};
	if (!boxlink_send(l, WIRE_EXEC, stream, json, err))
		return false;
	for (;;) {
		int64_t left = deadline_ms - time_boot_ms();

		if (!boxlink_next(l, left > 0 ? (int)left : 0, &f, err))
			return false;
		if (f.stream != stream)
			continue;
		if (f.type == WIRE_ERROR)
			return refused(&f, err);
		if ((f.type == WIRE_STDOUT || f.type == WIRE_STDERR) &&
			!output_take(l, &f, out, err))
			return false;
		if (f.type == WIRE_EXIT)
			break;
	}
	return exit_read(&f, out, err) && boxlink_send(l, WIRE_ACK_EXIT, stream, "{}", err);
}

bool boxlink_exec(struct boxlink *l, uint32_t stream, const char *user, const char *const *argv,
	int timeout_ms, struct boxlink_exit *out, struct err *err)
{
	CLEANUP(buf) struct buf request = BUF_INIT(WIRE_PAYLOAD_MAX);

	if (!exec_add(&request, user, argv, timeout_ms)) {
		*out = (struct boxlink_exit){.out = BUF_INIT(0)};
		return err_set(err, ERR_TOO_LARGE, "exec %s: arguments too long", argv[0]);
	}
	return boxlink_exec_json(l, stream, request.data, timeout_ms, out, err) ||
	       err_wrap(err, "exec %s", argv[0]);
}
