#pragma once
/*
 * The host's end of a box's stream for whoever may block on it: template making, tests and
 * benches. One request at a time, straight down the page. (The shim speaks the same protocol from
 * its poll loop.) The box is hostile here too: every wait has an end and every buffer a maximum.
 */
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "wire.h"

struct json_object;
struct pool;

struct boxlink {
	int fd;	     /* the stream; stays the caller's */
	int console; /* -1: none. Read along so that the guest never blocks on it */
	struct wire_decoder in;
	struct buf console_tail; /* the last of what the console said */
};

void boxlink_init(struct boxlink *l, int fd, int console);
void boxlink_done(struct boxlink *l);
void cleanup_boxlink(struct boxlink *l);

/* One frame out, whole; json is the payload's text. */
bool boxlink_send(struct boxlink *l, enum wire_type type, uint32_t stream, const char *json,
	struct err *err) NODISCARD;
bool boxlink_send_bytes(struct boxlink *l, enum wire_type type, uint32_t stream, const void *data,
	size_t n, struct err *err) NODISCARD;
/* The next frame; valid until the next call. ERR_TIMEOUT, ERR_UPSTREAM where the box is gone. */
bool boxlink_next(
	struct boxlink *l, int timeout_ms, struct wire_frame *frame, struct err *err) NODISCARD;
/* Frames are dropped until one of this type and stream comes; an ERROR on the stream is an error
 * with the box's words. json (may be NULL) gets the payload, the caller's to free. */
bool boxlink_expect(struct boxlink *l, enum wire_type type, uint32_t stream, int timeout_ms,
	struct json_object **json, struct err *err) NODISCARD;

/* ATTACH with a fresh nonce, and the HELLO that repeats it. */
bool boxlink_hello(
	struct boxlink *l, int timeout_ms, struct json_object **hello, struct err *err) NODISCARD;
/* WELCOME with this time, random entropy and machine-id, and READY. ready may be NULL. */
bool boxlink_welcome(struct boxlink *l, const char *hostname, int64_t time_ms, int timeout_ms,
	struct json_object **ready, struct err *err) NODISCARD;

struct boxlink_exit {
	int64_t code;	/* -1: ended by a signal */
	int64_t signal; /* 0: none */
	bool timed_out;
	struct buf out; /* stdout and stderr in the order they came, up to its maximum */
	uint64_t end;	/* bytes of output in all */
};
void cleanup_boxlink_exit(struct boxlink_exit *e);
/* Runs argv (NULL-terminated) as user on a stream never used before, credits what comes, and
 * acknowledges the end. lane "admin". timeout_ms is the box's limit; the wait ends 30 s later. */
bool boxlink_exec(struct boxlink *l, uint32_t stream, const char *user, const char *const *argv,
	int timeout_ms, struct boxlink_exit *out, struct err *err) NODISCARD;
/* The same of an EXEC that is there as JSON. */
bool boxlink_exec_json(struct boxlink *l, uint32_t stream, const char *json, int timeout_ms,
	struct boxlink_exit *out, struct err *err) NODISCARD;
