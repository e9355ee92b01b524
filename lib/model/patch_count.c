/*
 * A patch's own numbers say where a hunk ends, so that a line which only looks like a header counts
 * as what it is.
 */
#include "patch_count.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The number behind the comma of "12,34"; without one it is 1. A line that is no hunk's gives 0. */
static int64_t count_at(const char *s)
{
	size_t digits = strspn(s, "0123456789");

	if (!digits)
		return 0;
	return s[digits] == ',' ? strtoll(s + digits + 1, NULL, 10) : 1;
}

static void hunk(struct patch_count *c)
{
	const char *plus = strchr(c->head, '+');

	c->old_left = count_at(c->head + 4);
	c->new_left = plus ? count_at(plus + 1) : 0;
}

static void line_of_hunk(struct patch_count *c)
{
	switch (c->head[0]) {
	case '+':
		c->added++;
		c->new_left--;
		break;
	case '-':
		c->removed++;
		c->old_left--;
		break;
	case '\\': /* "No newline at end of file" is said of the line before */
		break;
	default:
		c->old_left--;
		c->new_left--;
	}
}

static void line(struct patch_count *c)
{
	c->head[c->n] = '\0';
	if (c->old_left > 0 || c->new_left > 0)
		line_of_hunk(c);
	else if (!strncmp(c->head, "diff --git ", 11))
		c->files++;
	else if (!strncmp(c->head, "@@ -", 4))
		hunk(c);
	c->n = 0;
}

void patch_count_add(struct patch_count *c, const void *data, size_t n)
{
	const char *p = data, *end = p + n;

	while (p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((lf ? lf : end) - p), room = PATCH_HEAD - c->n;

		memcpy(c->head + c->n, p, len < room ? len : room);
		c->n += len < room ? len : room;
		if (lf)
			line(c);
		p += len + (lf != NULL);
	}
}
