#pragma once
/*
 * From frames of output to rows. The sink cuts the byte sequence of one exec into chunks, keeps
 * them until they are committed, and knows where the log goes on after a crash. It has no clock and
 * no database: logstore.h writes what logsink_take hands out.
 *
 * A chunk has one stream and ends at a newline unless 16 KiB or 200 ms have passed, or the other
 * stream came between. Lines are counted over the log, both streams together, from 0.
 *
 *	logsink_feed(&s, off, stream, bytes, n, now, err)   any number of times
 *	if (logsink_wait_ms(&s, now) == 0)                  a flush is due
 *		logsink_take(&s, now, false)                chunks to commit: s.chunks[0 .. s.ready)
 *		... commit ...
 *		logsink_drop(&s)                            they are kept safe now: s.safe_off
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

struct redactor;

#define LOGSINK_CHUNK (16u * 1024)
#define LOGSINK_FLUSH_MS 50
#define LOGSINK_PARTIAL_MS 200
/* More than this is never held before a flush; a burst then commits many chunks in one statement.
 */
#define LOGSINK_HELD (512u * 1024)
/* Chunks handed out at a time: a box that changes streams with each byte makes a row of each, and
 * what it held for one statement must stay a statement that ends. */
#define LOGSINK_TAKE 2048

struct chunk {
	int stream;	 /* 1 stdout, 2 stderr */
	size_t at, size; /* in the sink's bytes */
	size_t newline;	 /* index of its first newline's time */
	int nlines;
	int64_t first_ms; /* when its first byte came */
	int64_t line_ms;  /* when the first byte after its last newline came */
	/* set by logsink_take */
	int64_t seq, first_line;
	uint64_t src_off;
	size_t body_at, body_size; /* in the sink's bodies: its bytes with secrets masked */
	bool dropped;		   /* past what is kept: the body is a notice or empty */
};

struct logsink {
	struct buf bytes;
	struct buf bodies;	   /* of the chunks handed out */
	struct redactor *redactor; /* borrowed; NULL: nothing is masked */
	struct chunk *chunks;	   /* in order; at most the last is still growing */
	size_t count, room;
	size_t ready;	   /* chunks handed out by logsink_take and not yet dropped */
	int64_t *newlines; /* when each newline in `bytes` came */
	size_t newline_count, newline_room;
	int64_t next_seq, next_line; /* of the next chunk to commit */
	uint64_t base;		     /* where in the log this exec's byte 0 stands */
	uint64_t next_off;	     /* the exec's next byte to come */
	uint64_t safe_off;	     /* everything below is committed */
	uint64_t keep; /* bytes of the log from here on are counted and not kept; 0: no limit */
	bool full;     /* the row that says so is written */
};

/* A log whose last committed chunk has number last_seq and ends at line next_line, src_end bytes of
 * the box's output; base is this exec's byte 0 in it (0, 0, 0, 0: an empty log). */
void logsink_init(
	struct logsink *s, int64_t last_seq, int64_t next_line, uint64_t src_end, uint64_t base);
void logsink_done(struct logsink *s);
void cleanup_logsink(struct logsink *s);

/* n bytes of the exec's output from offset off. What is known already is skipped; a gap is
 * ERR_UPSTREAM "protocol". */
bool logsink_feed(struct logsink *s, uint64_t off, int stream, const void *data, size_t n,
	int64_t now_ms, struct err *err) NODISCARD;
/* Milliseconds until a flush is due; 0 now; -1 nothing is held. */
int64_t logsink_wait_ms(const struct logsink *s, int64_t now_ms);
/* Numbers the chunks that are to be written: all complete ones, and of the last one what ends at a
 * newline or is old; with `all` everything. What may be the beginning of a secret stays behind for
 * the next chunk, but with `all`. Returns how many, LOGSINK_TAKE at the most: with `all` there may
 * be more after logsink_drop. */
size_t logsink_take(struct logsink *s, int64_t now_ms, bool all);
/* The chunks taken are committed. */
void logsink_drop(struct logsink *s);
