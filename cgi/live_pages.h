#pragma once
/*
 * One bounded read of a source, made into the text of events: what all streams at that place share.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "live.h"

struct db;
struct pool;

struct item {
	int64_t seq;
	size_t at, size;		    /* its event in page.text */
	int64_t account_id, run_id, box_id; /* feed only */
	int64_t first_line, nlines, bytes;  /* log only */
};

struct page {
	enum source_kind kind;
	int64_t after; /* holds what follows this number */
	struct buf text;
	struct item *items; /* memory of the pool given to page_read */
	size_t n;
	bool complete; /* nothing followed when it was read */
};

void page_done(struct page *p);
void cleanup_page(struct page *p);
/* bodies: log only; false leaves the text of the events out (a notice needs none). */
bool page_read(struct db *db, struct pool *pool, const struct source *src, int64_t after,
	bool bodies, struct page *out, struct err *err) NODISCARD;
/* The last number in it, or `after` where it is empty. */
int64_t page_last(const struct page *p);
/* Appends the `log` event of a stream without log=1: which lines came, items [from, n). */
bool page_add_notice(const struct page *p, size_t from, struct buf *out);
