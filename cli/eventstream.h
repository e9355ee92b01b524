#pragma once
/*
 * Reading server-sent events: a parser that takes bytes as they come, and a client that connects
 * again with Last-Event-ID until it is told to stop.
 */
#include "buf.h"
#include "err.h"

struct http;

#define EVENTSTREAM_LINE_MAX (4u << 20)
#define EVENTSTREAM_ID_SIZE 96

struct eventstream_event {
	const char *type; /* "message" where the stream named none */
	const char *data; /* lines joined by \n */
	size_t size;
};
/* false ends the stream. */
typedef bool eventstream_fn(void *arg, const struct eventstream_event *event);

struct eventstream {
	struct buf line;
	struct buf data;
	char type[32];
	char id[EVENTSTREAM_ID_SIZE]; /* of the last whole event */
	char next_id[EVENTSTREAM_ID_SIZE];
	bool after_cr;
	bool failed; /* a line or an event was larger than EVENTSTREAM_LINE_MAX */
	eventstream_fn *fn;
	void *arg;
};

void eventstream_init(struct eventstream *s, eventstream_fn *fn, void *arg);
void eventstream_done(struct eventstream *s);
/* false: the function ended it, or `failed`. */
bool eventstream_feed(struct eventstream *s, const char *data, size_t n);
/* Forgets a half-received event; the id stays. */
void eventstream_reset(struct eventstream *s);

/* Follows path until fn, or the tick of h, says stop. A broken connection is made anew after 0.2 s,
 * then 0.4 s .. 3 s; give_up_s seconds without a connection is that error. Refusals by the site end
 * it at once. */
bool eventstream_follow(struct http *h, const char *path, int give_up_s, eventstream_fn *fn,
	void *arg, struct err *err) NODISCARD;
