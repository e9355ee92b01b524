#pragma once
/*
 * A FastCGI client for tests: speaks to a program's socket as nginx does, one request a connection.
 * Whatever goes wrong on our side (no socket, a broken record) ends the program; what the other
 * side does is for the test to judge.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct fcgiclient {
	int fd;
	struct buf raw; /* bytes that are not a whole record yet */
	struct buf out; /* content of STDOUT so far: head, empty line, body */
	size_t body;	/* where the body begins in out, or what of it was not read; 0: not there */
	struct buf head;
	bool ended; /* END_REQUEST came */
	bool eof;   /* the other side closed */
};

/* Connects and sends a GET (or, with a body, what method says). url: path[?query]. headers: lines
 * "Name: value", ended by NULL; a line "=NAME=value" is a parameter as it stands. */
void fcgiclient_open(struct fcgiclient *c, const char *socket, const char *method, const char *url,
	const char *const *headers, const void *body, size_t n);
void fcgiclient_close(struct fcgiclient *c);
/* Waits at most timeout_ms for something new and takes it in. False: nothing came, or it is over.
 */
bool fcgiclient_read(struct fcgiclient *c, int timeout_ms);
/* Reads to the end of the answer. False: not within timeout_ms. */
bool fcgiclient_finish(struct fcgiclient *c, int timeout_ms);
/* Of the answer: its status (0: no head yet), a header's value ("" where there is none; static
 * memory), its body so far. */
int fcgiclient_status(const struct fcgiclient *c);
const char *fcgiclient_header(const struct fcgiclient *c, const char *name);
const char *fcgiclient_body(const struct fcgiclient *c);

/* One server-sent event out of a stream. Texts are valid until the next call. */
struct fcgi_event {
	char *name, *data,
		*id; /* id: the last one seen, as a browser keeps it; "" before the first */
	char memory[64];
	struct buf text;
};
void fcgi_event_done(struct fcgi_event *e);
/* The next whole event of the stream; waits at most timeout_ms for it. False: none came. An event
 * that is not as the specification says fails the program. */
bool fcgiclient_event(struct fcgiclient *c, struct fcgi_event *e, int timeout_ms);
