#pragma once
/*
 * The one growing string. Every buffer has a maximum, set when it is made; an addition that would
 * pass it adds nothing and marks the buffer failed, which the owner checks once at the end.
 * Invariants: data is never NULL and always NUL-terminated; len excludes that NUL.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct buf {
	char *data;
	size_t len;
	size_t cap; /* 0: nothing allocated yet, data points at a static "" */
	size_t max;
	bool failed; /* something did not fit */
};

#define BUF_INIT(max_) ((struct buf){.data = buf_empty, .max = (max_)})
extern char buf_empty[1];

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
void cleanup_buf(struct buf *b); /* CLEANUP(buf) struct buf b = BUF_INIT(4096); */
void buf_reset(struct buf *b);	 /* empty and not failed, memory kept */
bool buf_add(struct buf *b, const void *data, size_t n);
bool buf_adds(struct buf *b, const char *s);
bool buf_addc(struct buf *b, char c);
bool buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
bool buf_addv(struct buf *b, const char *fmt, va_list ap) PRINTF(2, 0);
/* Room for n more bytes at the end, to be filled by the caller and then counted by buf_grew;
 * NULL where that would pass the maximum. */
char *buf_room(struct buf *b, size_t n);
void buf_grew(struct buf *b, size_t n);
/* Drops the first n bytes. */
void buf_shift(struct buf *b, size_t n);
/* Hands the memory over (free it with free()); the buffer is empty afterwards. */
char *buf_detach(struct buf *b);
