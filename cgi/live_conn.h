#pragma once
/*
 * One client of asb-live: the descriptor taken over from libfcgi, what is still to be written to
 * it, and the sight of its going. Its owner (a stream or a wait) embeds it. Nothing here calls
 * back while the owner is sending: a broken connection is told by the return value, everything
 * else comes from the loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct loop;
struct watch;

/* What a client may leave unread in our memory. Past half of it nothing new is read for it. */
#define CONN_PENDING_MAX (256 * 1024)
#define CONN_PENDING_LOW (CONN_PENDING_MAX / 2)

struct conn;
/* gone: the client went away or the orderly end is written: close and free. drained: what was
 * pending is below CONN_PENDING_LOW again. */
struct conn_events {
	void (*gone)(struct conn *c);
	void (*drained)(struct conn *c);
};

struct conn {
	struct loop *loop;
	size_t *count;
	int fd;
	int id; /* FastCGI request id */
	struct watch *watch;
	const struct conn_events *events;
	struct buf out;	  /* whole records, the first of which may be partly written */
	bool wants_out;	  /* the loop is asked when it can be written */
	bool blocked;	  /* went past CONN_PENDING_LOW and has not come back yet */
	bool ending;	  /* END_REQUEST is in out; nothing may follow */
	int64_t moved_ms; /* when the client last took a byte, or had nothing to take */
};

/* Takes fd over. count: how many connections there are, kept right by init and done. */
void conn_init(struct conn *c, struct loop *loop, size_t *count, int fd, int id,
	const struct conn_events *events);
/* Closes the descriptor and frees what is pending. */
void conn_done(struct conn *c);
/* Sends content, keeping what the socket does not take. False: the connection is broken (or the
 * content is absurdly large), close it. */
bool conn_send(struct conn *c, const void *data, size_t n) NODISCARD;
/* How much content fits below CONN_PENDING_MAX; a client that has nothing pending may be sent one
 * piece that is larger. */
size_t conn_room(const struct conn *c);
/* The next piece did not fit: `drained` comes when the client has taken more. */
void conn_block(struct conn *c);
/* Ends the answer: what is pending, then END_REQUEST; `gone` comes when it is written or the
 * client is gone. False: it is broken already. */
bool conn_end(struct conn *c) NODISCARD;
