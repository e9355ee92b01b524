/*
 * Requests to a box that are waited for: execs of ours, tars in and out, the probe. The agent's own
 * exec is followed by whoever runs the turn, not here.
 */
#include "guest.h"

#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "runner.h"
#include "tar.h"
#include "text.h"

/* A control character is escaped as six. */
#define FILE_FRAME_BYTES (10u * 1024)

const char *guest_exec_json(struct guest *g, const char *const *argv, const char *const *env,
	const char *cwd, const char *user, bool has_stdin, int64_t timeout_ms, const char *ask,
	const struct guest_code *code)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *a = json_new_array(), *e = json_new_object();

	for (size_t i = 0; argv[i]; i++)
		json_push_text(a, argv[i]);
	for (size_t i = 0; env && env[i]; i += 2)
		json_add_text(e, env[i], env[i + 1]);
	json_add(o, "argv", a);
	json_add(o, "env", e);
	json_add_text(o, "cwd", cwd ? cwd : "/");
	json_add_text(o, "user", user);
	json_add_text(o, "lane", g->lane);
	json_add_bool(o, "stdin", has_stdin);
	if (timeout_ms > 0)
		json_add_i64(o, "timeout_ms", timeout_ms);
	if (ask)
		json_add_text(o, "ask", ask);
	if (code)
		json_add_text(o, "code", code->path);
	if (code && code->text)
		json_add_text(o, "code_text", code->text);
	if (code && code->ahead)
		json_add_bool(o, "ahead", true);
	return json_text(o, g->r->pool);
}

/* The next frame of the request's stream. Frames of stream 0 mean nothing to a request. */
static bool reply_next(struct guest *g, int64_t deadline, struct wire_frame *f, struct err *err)
{
	enum guest_event event;

	do {
		if (!guest_next(g, deadline, &event, f, err))
			return false;
		/* also where there is always another frame: a box must not hold us by talking */
		if (event == GUEST_IDLE || time_boot_ms() >= deadline)
			return err_set(err, ERR_TIMEOUT, "the box did not answer in time");
		if (g->r->term || g->r->cancel)
			return err_set(err, ERR_BUSY, "interrupted");
	} while (event != GUEST_FRAME || f->stream != g->request);
	return true;
}

static bool reply_error(const struct wire_frame *f, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf sane = BUF_INIT(400);
	const char *message = "refused", *entry = NULL, *code = NULL;

	if (!guest_json(f, &o, err))
		return false;
	(void)json_get_text(o, "message", &message);
	text_add_sane(&sane, message, strnlen(message, 180));
	if (json_get_text(o, "entry", &entry)) {
		(void)buf_adds(&sane, ": ");
		text_add_sane(&sane, entry, strnlen(entry, 100));
	}
	/* what is wrong with a path, the caller is told as such */
	if (json_get_text(o, "code", &code) && !strcmp(code, "not_found"))
		return err_set(err, ERR_NOT_FOUND, "%s", sane.data);
	if (code && !strcmp(code, "forbidden"))
		return err_set(err, ERR_FORBIDDEN, "%s", sane.data);
	return err_set(err, ERR_INVALID, "%s", sane.data);
}

static bool unexpected(const struct wire_frame *f, struct err *err)
{
	(void)err_set(err, ERR_UPSTREAM, "unexpected %s of the box", wire_type_name(f->type));
	return err_advise(err, "protocol", NULL);
}

static bool json_send(struct guest *g, enum wire_type type, struct json_object *o, struct err *err)
{
	const char *text = json_text(o, g->r->pool);

	return guest_stream(g, &g->request, err) &&
	       guest_send(g, type, g->request, text, strlen(text), err);
}

static void said_keep(struct guest_exec *x, const unsigned char *p, size_t n)
{
	size_t have = strlen(x->said), max = sizeof(x->said) - 1;

	if (n > max) {
		p += n - max;
		n = max;
	}
	if (have + n > max) {
		size_t drop = have + n - max;

		memmove(x->said, x->said + drop, have - drop);
		have -= drop;
	}
	memcpy(x->said + have, p, n);
	x->said[have + n] = '\0';
}

static bool exec_output(
	struct guest *g, struct guest_exec *x, const struct wire_frame *f, struct err *err)
{
	const unsigned char *p = f->payload + WIRE_OFFSET;
	int stream = f->type == WIRE_STDOUT ? 1 : 2;
	uint64_t off;
	size_t n;

	if (!wire_u64(f, &off))
		return unexpected(f, err);
	n = f->length - WIRE_OFFSET;
	off += n;
	if (stream == 2 && !memchr(p, 0, n))
		said_keep(x, p, n);
	if (x->sink && !x->sink(x->arg, stream, p, n, err))
		return false;
	return guest_ack(g, g->request, off, err);
}

static bool exec_follow(struct guest *g, struct guest_exec *x, int64_t deadline, struct err *err)
{
	struct wire_frame f;
	struct err ignored;

	for (;;) {
		CLEANUP(json) struct json_object *o = NULL;

		if (!reply_next(g, deadline, &f, err))
			return false;
		switch (f.type) {
		case WIRE_STDOUT:
		case WIRE_STDERR:
			if (!exec_output(g, x, &f, err))
				return false;
			continue;
		case WIRE_STARTED:
		case WIRE_CREDIT:
			continue;
		case WIRE_ERROR:
			(void)reply_error(&f, err);
			(void)!guest_ack_exit(g, g->request, &ignored);
			return false;
		case WIRE_EXIT:
			if (!guest_json(&f, &o, err))
				return false;
			if (!json_get_i64(o, "code", &x->exit_code))
				x->exit_code = -1;
			return guest_ack_exit(g, g->request, err);
		default:
			return unexpected(&f, err);
		}
	}
}

static bool stdin_send(struct guest *g, const struct guest_exec *x, struct err *err)
{
	for (size_t at = 0; at < x->stdin_size;) {
		size_t n = x->stdin_size - at < 32768 ? x->stdin_size - at : 32768;

		if (!guest_send(g, WIRE_STDIN, g->request, x->stdin_data + at, n, err))
			return false;
		at += n;
	}
	return guest_send(g, WIRE_EOF, g->request, NULL, 0, err);
}

bool guest_exec(struct guest *g, struct guest_exec *x, int64_t deadline, struct err *err)
{
	int64_t left = deadline - time_boot_ms();
	const char *json;
	bool ok;

	x->said[0] = '\0';
	x->exit_code = -1;
	if (x->stdin_size > WIRE_WINDOW)
		return err_set(err, ERR_TOO_LARGE, "stdin of more than %u bytes", WIRE_WINDOW);
	if (x->timeout_ms && x->timeout_ms < left)
		left = x->timeout_ms;
	json = guest_exec_json(g, x->argv, x->env, x->cwd, x->user, x->stdin_data,
		left > 0 ? left : 1, NULL, NULL);
	if (!guest_stream(g, &g->request, err))
		return false;
	ok = guest_send(g, WIRE_EXEC, g->request, json, strlen(json), err) &&
	     (!x->stdin_data || stdin_send(g, x, err)) && exec_follow(g, x, deadline, err);
	g->request = 0;
	return ok ? true : err_wrap(err, "%s", x->argv[0]);
}

bool guest_exec_ok(
	struct guest *g, struct guest_exec *x, const char *what, int64_t deadline, struct err *err)
{
	CLEANUP(buf) struct buf sane = BUF_INIT(1000);

	if (!guest_exec(g, x, deadline, err))
		return err_wrap(err, "%s", what);
	if (!x->exit_code)
		return true;
	text_add_sane(&sane, x->said, strlen(x->said));
	for (size_t i = 0; i < sane.len; i++)
		if (sane.data[i] == '\n' || sane.data[i] == '\t')
			sane.data[i] = ' ';
	return err_set(
		err, ERR_UPSTREAM, "%s: exit %lld: %s", what, (long long)x->exit_code, sane.data);
}

bool guest_said_read(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct guest_said *said = arg;

	(void)err;
	if (stream == 1 && n < sizeof(said->text) - said->n) {
		memcpy(said->text + said->n, data, n);
		said->n += n;
		said->text[said->n] = '\0';
	}
	return true;
}

/* Takes what came without waiting, then, while the window is full, waits for credit. */
static bool tar_credit(
	struct guest *g, uint64_t sent, uint64_t *allowed, int64_t deadline, struct err *err)
{
	struct wire_frame f;
	uint64_t credit;

	while (sent >= *allowed) {
		if (!reply_next(g, deadline, &f, err))
			return false;
		if (f.type == WIRE_ERROR)
			return reply_error(&f, err);
		if (f.type != WIRE_CREDIT || !wire_u64(&f, &credit))
			return unexpected(&f, err);
		if (credit > *allowed)
			*allowed = credit;
	}
	return true;
}

static bool tar_send(
	struct guest *g, guest_source *source, void *arg, int64_t deadline, struct err *err)
{
	CLEANUP(free) unsigned char *chunk = mem_alloc(32768);
	uint64_t sent = 0, allowed = WIRE_WINDOW;

	for (;;) {
		size_t n = 0;

		if (!source(arg, chunk, 32768, &n, err))
			return false;
		if (!n)
			return guest_send(g, WIRE_EOF, g->request, NULL, 0, err);
		for (size_t at = 0; at < n;) {
			size_t part = n - at;

			if (!tar_credit(g, sent, &allowed, deadline, err))
				return false;
			if (part > allowed - sent)
				part = (size_t)(allowed - sent);
			if (!guest_send(g, WIRE_DATA, g->request, chunk + at, part, err))
				return false;
			sent += part;
			at += part;
		}
	}
}

static bool tar_done(struct guest *g, int64_t deadline, struct err *err)
{
	struct wire_frame f;

	do
		if (!reply_next(g, deadline, &f, err))
			return false;
	while (f.type == WIRE_CREDIT);
	if (f.type == WIRE_ERROR)
		return reply_error(&f, err);
	return f.type == WIRE_DONE || unexpected(&f, err);
}

bool guest_tar_in(struct guest *g, const char *path, const char *user, guest_source *source,
	void *arg, int64_t deadline, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	bool ok;

	json_add_text(o, "path", path);
	json_add_text(o, "user", user);
	ok = json_send(g, WIRE_TAR_IN, o, err) && tar_send(g, source, arg, deadline, err) &&
	     tar_done(g, deadline, err);
	g->request = 0;
	return ok ? true : err_wrap(err, "unpack at %s", path);
}

struct bytes {
	const char *data;
	size_t size, at;
};

static bool bytes_read(void *arg, void *data, size_t size, size_t *n, struct err *err)
{
	struct bytes *b = arg;

	(void)err;
	*n = b->size - b->at < size ? b->size - b->at : size;
	memcpy(data, b->data + b->at, *n);
	b->at += *n;
	return true;
}

bool guest_text_fits(const void *data, size_t n)
{
	return n <= FILE_FRAME_BYTES && !memchr(data, 0, n) && text_is_utf8(data, n);
}

static bool file_frame(struct guest *g, const char *dir, const char *name, const char *user,
	unsigned mode, const char *data, size_t n, int64_t deadline, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct wire_frame f;
	bool ok;

	json_add_text(o, "path", dir);
	json_add_text(o, "user", user);
	json_add_text(o, "name", name);
	json_add_i64(o, "mode", mode);
	json_add_text(o, "text", pool_memdup(g->r->pool, data, n));
	ok = json_send(g, WIRE_TAR_IN, o, err) && reply_next(g, deadline, &f, err);
	if (ok && f.type != WIRE_DONE)
		ok = f.type == WIRE_ERROR ? reply_error(&f, err) : unexpected(&f, err);
	g->request = 0;
	return ok ? true : err_wrap(err, "%s", name);
}

bool guest_file_in(struct guest *g, const char *dir, const char *name, const char *user,
	unsigned mode, const void *data, size_t n, int64_t deadline, struct err *err)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(2u << 20);
	const struct tar_entry entry = {.kind = TAR_FILE, .name = name, .mode = mode, .size = n};

	if (guest_text_fits(data, n))
		return file_frame(g, dir, name, user, mode, data, n, deadline, err);
	(void)tar_add_header(&tar, &entry);
	(void)buf_add(&tar, data, n);
	(void)tar_add_padding(&tar, n);
	(void)tar_add_end(&tar);
	if (tar.failed)
		return err_set(err, ERR_TOO_LARGE, "%s is too large", name);
	struct bytes b = {.data = tar.data, .size = tar.len};

	return guest_tar_in(g, dir, user, bytes_read, &b, deadline, err);
}

/* DATA under credit to the DONE, whose frame is in *f. */
static bool data_receive(struct guest *g, guest_sink *sink, void *arg, struct wire_frame *done,
	int64_t deadline, struct err *err)
{
	uint64_t got = 0;
	struct wire_frame f;

	if (!guest_ack(g, g->request, WIRE_WINDOW, err))
		return false;
	for (;;) {
		if (!reply_next(g, deadline, &f, err))
			return false;
		switch (f.type) {
		case WIRE_DATA:
			got += f.length;
			if (!sink(arg, 1, f.payload, f.length, err) ||
				!guest_ack(g, g->request, got + WIRE_WINDOW, err))
				return false;
			continue;
		case WIRE_DONE:
			*done = f;
			return true;
		case WIRE_EOF:
			continue;
		case WIRE_ERROR:
			return reply_error(&f, err);
		default:
			return unexpected(&f, err);
		}
	}
}

bool guest_tar_out(struct guest *g, const char *path, int64_t max_bytes, guest_sink *sink,
	void *arg, int64_t deadline, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct wire_frame done;
	bool ok;

	json_add_text(o, "path", path);
	json_add_i64(o, "max_bytes", max_bytes);
	ok = json_send(g, WIRE_TAR_OUT, o, err) && data_receive(g, sink, arg, &done, deadline, err);
	g->request = 0;
	return ok ? true : err_wrap(err, "pack %s", path);
}

bool guest_look(struct guest *g, enum wire_type type, struct json_object *request, guest_sink *sink,
	void *arg, struct json_object **done, int64_t deadline, struct err *err)
{
	struct wire_frame f;
	bool ok = json_send(g, type, request, err) &&
		  data_receive(g, sink, arg, &f, deadline, err) && guest_json(&f, done, err);

	g->request = 0;
	return ok;
}

bool guest_probe(
	struct guest *g, const char **text, bool *sealed, int64_t deadline, struct err *err)
{
	CLEANUP(json) struct json_object *none = json_new_object(), *o = NULL;
	struct wire_frame f = {0};
	bool ok;

	ok = json_send(g, WIRE_PROBE, none, err) && reply_next(g, deadline, &f, err) &&
	     (f.type == WIRE_PROBE ||
		     (f.type == WIRE_ERROR ? reply_error(&f, err) : unexpected(&f, err)));
	g->request = 0;
	if (!ok || !guest_json(&f, &o, err))
		return err_wrap(err, "probe");
	*sealed = false;
	(void)json_get_bool(o, "sealed", sealed);
	*text = json_text(o, g->r->pool);
	return true;
}

bool guest_pause(struct guest *g, int64_t deadline, struct err *err)
{
	static const char box[] = "{\"lane\":\"box\"}";
	enum guest_event event;
	struct wire_frame f;

	if (!guest_send(g, WIRE_FREEZE, 0, box, sizeof(box) - 1, err))
		return false;
	do {
		if (!guest_next(g, deadline, &event, &f, err))
			return false;
		if (event == GUEST_IDLE)
			return err_set(err, ERR_TIMEOUT, "the box was not paused in time");
		if (g->r->term || g->r->cancel)
			return err_set(err, ERR_BUSY, "interrupted");
	} while (event != GUEST_FRAME || f.type != WIRE_DONE || f.stream);
	return true;
}
