#pragma once
/*
 * Server-sent events: one event out, one position in and out. A position says how far a client is:
 * `F.S.L`, the feed number, the trace seq and the log chunk seq it has been sent last. Data is one
 * line of JSON at every caller of ours; lines are split all the same, so that no text can end an
 * event early.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct sse_id {
	int64_t feed, trace, log;
};

/* Decimal numbers >= 0 without sign, space or leading zero; the whole string or nothing. */
bool sse_id_parse(const char *s, struct sse_id *out);

/* Appends `id: F.S.L` and its line end: it goes before the event it belongs to. */
bool sse_id_add(struct buf *b, const struct sse_id *id);
/* Appends the event and the empty line that ends it. name: [a-z_] only. data is split at each LF.
 * False, with nothing added, where it does not fit or data holds a CR or a NUL, which a client
 * would not get back as they were. */
bool sse_event_add(struct buf *b, const char *name, const char *data, size_t n);
/* Appends `retry: ms`: how long the client waits before it comes back. */
bool sse_retry_add(struct buf *b, int64_t ms);
