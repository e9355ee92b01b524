#pragma once
/*
 * Small things all rows need: references that may be absent, PostgreSQL array literals, and names
 * of enum-like columns.
 */
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"

/* An id; 0 is SQL NULL. */
static inline struct db_arg db_ref(int64_t id)
{
	return id ? db_i64(id) : db_text(NULL);
}

/* '{..}' for one array parameter: open, add in order, close. Check b->failed at the end. */
void array_open(struct buf *b);
void array_add_i64(struct buf *b, int64_t v);
void array_add_text(struct buf *b, const char *s); /* NULL: SQL NULL */
void array_close(struct buf *b);

/* Index of name in names, -1 where it is none of them. */
int name_find(const char *const *names, size_t n, const char *name);
