#pragma once
/*
 * The difference of two texts as hunks of a unified diff, bounded: past TEXTDIFF_EDITS edits what
 * lies between the first and the last difference is shown as taken out and put in whole, which is
 * still a patch that applies.
 */
#include <stdbool.h>
#include <stddef.h>

#define TEXTDIFF_EDITS 800
#define TEXTDIFF_CONTEXT 3

struct buf;

/* Appends the hunks of a -> b; nothing where they are the same. False: out is full. */
bool textdiff(const char *a, size_t a_size, const char *b, size_t b_size, struct buf *out);
