#pragma once
/*
 * The lines of a log, cut out of its chunks: for answers by line number, for searching and for
 * downloads. Memory is bounded whatever the log holds: a line comes in parts of at most LOG_PART
 * bytes, each ending where a character does, and chunks are read half a MiB at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct call;
struct db;

#define LOG_PART (64 * 1024)

struct log {
	int64_t id, account_id;
	int64_t lines;	  /* there are so many; the last one counts once it has begun */
	int64_t last_seq; /* of its chunks now: reading ends there */
};

/* The log of a run or of an exec (the other is NULL), of the caller's account. ERR_INVALID where
 * both or none are given; ERR_NOT_FOUND. Sets the call's subject. */
bool log_find(struct call *c, const char *session, const char *exec, struct log *out,
	struct err *err) NODISCARD;

struct log_part {
	int64_t n; /* of its line, from 0 */
	bool is_stderr;
	bool first; /* of its line */
	bool more;  /* another part of it follows */
	bool ended; /* by a newline; only the log's last line may have no part that is */
	int64_t ms; /* when the line ended, ms since 1970; 0: not known, or not ended */
	const char *text;
	size_t len;
};

enum log_next {
	LOG_ON,	  /* the next part */
	LOG_SKIP, /* the next line: what follows of this one is not even read */
	LOG_STOP,
	LOG_BROKEN, /* the taker has failed: log_read ends */
};
typedef enum log_next log_part_fn(void *arg, const struct log_part *p);

/* Hands over the parts of line `from` and all after it. own_tx: each read in a transaction of its
 * own, so that a slow taker holds none; otherwise the caller has one open. */
bool log_read(struct db *db, const struct log *log, int64_t from, bool own_tx, log_part_fn *take,
	void *arg, struct err *err) NODISCARD;
