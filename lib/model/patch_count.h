#pragma once
/*
 * Counts a git patch while it passes: files, and lines added and removed. Binary files count as
 * files only. Nothing of it is held but the beginning of a line.
 */
#include <stddef.h>
#include <stdint.h>

#define PATCH_HEAD 96 /* bytes of a line that are looked at: a hunk's numbers fit */

struct patch_count {
	int64_t files, added, removed;
	int64_t old_left, new_left; /* lines of the hunk that are still to come */
	size_t n;		    /* bytes of the line that has begun; those in head */
	char head[PATCH_HEAD + 1];
};

/* Start with {0}. */
void patch_count_add(struct patch_count *c, const void *data, size_t n);
