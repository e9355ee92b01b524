/*
 * The growing string with a maximum.
 */
#include "buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

char buf_empty[1] = "";

void buf_init(struct buf *b, size_t max)
{
	*b = BUF_INIT(max);
}

void buf_done(struct buf *b)
{
	if (b->cap)
		free(b->data);
	*b = BUF_INIT(b->max);
}

void cleanup_buf(struct buf *b)
{
	buf_done(b);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->cap)
		b->data[0] = '\0';
}

char *buf_room(struct buf *b, size_t n)
{
	size_t need, cap;

	if (n > b->max || b->len > b->max - n) {
		b->failed = true;
		return NULL;
	}
	need = b->len + n + 1;
	if (need > b->cap) {
		cap = b->cap ? b->cap : 64;
		while (cap < need)
			cap *= 2;
		b->data = mem_realloc(b->cap ? b->data : NULL, cap);
		b->data[b->len] = '\0';
		b->cap = cap;
	}
	return b->data + b->len;
}

void buf_grew(struct buf *b, size_t n)
{
	assert(b->len + n < b->cap);
	b->len += n;
	b->data[b->len] = '\0';
}

bool buf_add(struct buf *b, const void *data, size_t n)
{
	char *to = buf_room(b, n);

	if (!to)
		return false;
	if (n)
		memcpy(to, data, n);
	buf_grew(b, n);
	return true;
}

bool buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

bool buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

bool buf_addv(struct buf *b, const char *fmt, va_list ap)
{
	size_t room = b->cap ? b->cap - b->len : 0;
	va_list again;
	char *to;
	int n;

	/* the room that is there mostly does */
	va_copy(again, ap);
	n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, again);
	va_end(again);
	if (n >= 0 && (size_t)n < room && (size_t)n <= b->max - b->len) {
		buf_grew(b, (size_t)n);
		return true;
	}
	if (room)
		b->data[b->len] = '\0';
	if (n < 0 || !(to = buf_room(b, (size_t)n)))
		return false;
	(void)vsnprintf(to, (size_t)n + 1, fmt, ap);
	buf_grew(b, (size_t)n);
	return true;
}

bool buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = buf_addv(b, fmt, ap);
	va_end(ap);
	return ok;
}

void buf_shift(struct buf *b, size_t n)
{
	assert(n <= b->len);
	if (!n)
		return;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

char *buf_detach(struct buf *b)
{
	char *p;

	if (!buf_room(b, 0))
		return mem_strdup("");
	p = b->data;
	*b = BUF_INIT(b->max);
	return p;
}
