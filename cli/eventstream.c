/*
 * Server-sent events by the HTML standard's rules: fields `event data id`, comments and unknown
 * fields ignored, an event ends at an empty line, \n, \r\n and \r all end lines. The connection is
 * given up for dead after 45 s of silence, which is three heartbeats of the site.
 */
#include "eventstream.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http.h"
#include "text.h"

#define SILENT_S 45

void eventstream_init(struct eventstream *s, eventstream_fn *fn, void *arg)
{
	*s = (struct eventstream){.fn = fn, .arg = arg};
	buf_init(&s->line, EVENTSTREAM_LINE_MAX);
	buf_init(&s->data, EVENTSTREAM_LINE_MAX);
}

void eventstream_done(struct eventstream *s)
{
	buf_done(&s->line);
	buf_done(&s->data);
}

void eventstream_reset(struct eventstream *s)
{
	buf_reset(&s->line);
	buf_reset(&s->data);
	s->type[0] = '\0';
	s->after_cr = false;
	(void)snprintf(s->next_id, sizeof(s->next_id), "%s", s->id);
}

static bool eventstream_dispatch(struct eventstream *s)
{
	bool go_on = true;

	(void)snprintf(s->id, sizeof(s->id), "%s", s->next_id);
	if (s->data.len) {
		struct eventstream_event e = {.type = *s->type ? s->type : "message",
			.data = s->data.data,
			.size = s->data.len - 1};

		s->data.data[e.size] = '\0'; /* the newline after the last line is not of it */
		go_on = s->fn(s->arg, &e);
	}
	buf_reset(&s->data);
	s->type[0] = '\0';
	return go_on;
}

static bool eventstream_line(struct eventstream *s)
{
	char *line = s->line.data;
	size_t n = strcspn(line, ":");
	const char *value = line[n] ? line + n + 1 : line + n;

	if (s->line.failed)
		s->failed = true;
	if (!s->line.len)
		return eventstream_dispatch(s);
	if (*value == ' ')
		value++;
	line[n] = '\0';
	if (strcmp(line, "data") == 0) {
		if (!buf_adds(&s->data, value) || !buf_addc(&s->data, '\n'))
			s->failed = true;
	} else if (strcmp(line, "event") == 0) {
		(void)snprintf(s->type, sizeof(s->type), "%s", value);
	} else if (strcmp(line, "id") == 0 && strlen(value) < sizeof(s->next_id)) {
		(void)snprintf(s->next_id, sizeof(s->next_id), "%s", value);
	}
	return !s->failed;
}

bool eventstream_feed(struct eventstream *s, const char *data, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t start = i;

		if (s->after_cr && data[i] == '\n') {
			s->after_cr = false;
			i++;
			continue;
		}
		s->after_cr = false;
		while (i < n && data[i] != '\n' && data[i] != '\r')
			i++;
		(void)buf_add(&s->line, data + start, i - start);
		if (i == n)
			return !s->line.failed;
		s->after_cr = data[i++] == '\r';
		if (!eventstream_line(s))
			return false;
		buf_reset(&s->line);
	}
	return true;
}

/* What one connection tells eventstream_follow. */
struct following {
	struct eventstream events;
	bool got_bytes;
	bool stopped; /* by the caller's function */
};

static bool on_bytes(void *arg, const char *data, size_t n)
{
	struct following *f = arg;
	bool go_on = eventstream_feed(&f->events, data, n);

	f->got_bytes = true;
	f->stopped = !go_on && !f->events.failed;
	return go_on;
}

/* The server's end of a stream and a server that is being restarted say nothing about the run. */
static bool is_worth_another_try(enum err_code code)
{
	return code == ERR_BUSY || code == ERR_TIMEOUT || code == ERR_UPSTREAM;
}

/* One connection until it ends. *done: nothing is to be tried again. */
static bool follow_once(
	struct following *f, struct http *h, const char *path, bool *done, struct err *err)
{
	bool ok;

	f->got_bytes = false;
	eventstream_reset(&f->events);
	ok = http_stream(h, path, f->events.id, SILENT_S, on_bytes, f, err);
	*done = true;
	if (f->events.failed)
		return err_set(err, ERR_UPSTREAM, "the stream sent an event larger than 4 MiB");
	if (f->stopped || !http_tick(h))
		return true;
	if (ok)
		(void)err_set(err, ERR_BUSY, "the site ended the stream");
	*done = !is_worth_another_try(err->code);
	return false;
}

bool eventstream_follow(struct http *h, const char *path, int give_up_s, eventstream_fn *fn,
	void *arg, struct err *err)
{
	struct following f = {.stopped = false};
	int64_t alive_ms = time_boot_ms();
	int wait_ms = 200;
	bool ok, done;

	eventstream_init(&f.events, fn, arg);
	while (!(ok = follow_once(&f, h, path, &done, err)) && !done) {
		struct timespec pause;

		if (f.got_bytes) {
			alive_ms = time_boot_ms();
			wait_ms = 200;
		}
		if (time_boot_ms() - alive_ms > give_up_s * 1000LL)
			break;
		pause = (struct timespec){
			.tv_sec = wait_ms / 1000, .tv_nsec = (wait_ms % 1000) * 1000000L};
		(void)nanosleep(&pause, NULL);
		wait_ms = wait_ms * 2 < 3000 ? wait_ms * 2 : 3000;
	}
	eventstream_done(&f.events);
	return ok;
}
