/*
 * A patch's numbers. Lines inside a hunk are counted by the hunk's own header, so that a removed
 * line "-- a/x" is not taken for a file header.
 */
#include "patchstat.h"

#include <string.h>

struct counting {
	struct patchstat *out;
	patchstat_fn *fn;
	void *arg;
	const char *path;
	size_t path_n;
	long added, removed;
	bool binary, open;
	long old_left, new_left; /* lines of the hunk still to come */
};

static void file_end(struct counting *c)
{
	if (!c->open)
		return;
	c->out->files++;
	c->out->binary_files += c->binary;
	c->out->added += c->added;
	c->out->removed += c->removed;
	if (c->fn)
		c->fn(c->arg, c->path, c->path_n, c->added, c->removed, c->binary);
	c->open = c->binary = false;
	c->added = c->removed = 0;
}

static bool starts(const char *line, size_t n, const char *with)
{
	size_t w = strlen(with);

	return n >= w && memcmp(line, with, w) == 0;
}

/* "diff --git a/x b/x": what follows the last " b/". */
static void file_begin(struct counting *c, const char *line, size_t n)
{
	file_end(c);
	c->open = true;
	c->old_left = c->new_left = 0;
	c->path = line + strlen("diff --git ");
	c->path_n = n - strlen("diff --git ");
	for (size_t i = 0; i + 3 < c->path_n; i++)
		if (memcmp(c->path + i, " b/", 3) == 0) {
			c->path_n -= i + 3;
			c->path += i + 3;
			return;
		}
}

/* The count in "-start,count" or "-start" (1), up to the next space. */
static long range_count(const char *s, const char *end)
{
	long n = 0;

	while (s < end && *s != ',' && *s != ' ')
		s++;
	if (s == end || *s != ',')
		return 1;
	for (s++; s < end && *s >= '0' && *s <= '9' && n < 100000000; s++)
		n = n * 10 + (*s - '0');
	return n;
}

static void hunk_begin(struct counting *c, const char *line, size_t n)
{
	const char *end = line + n;
	const char *plus = memchr(line, '+', n);

	if (!plus)
		return;
	c->old_left = range_count(line + 4, end);
	c->new_left = range_count(plus + 1, end);
}

static void hunk_line(struct counting *c, char first)
{
	if (first == '+') {
		c->added++;
		c->new_left--;
	} else if (first == '-') {
		c->removed++;
		c->old_left--;
	} else if (first != '\\') {
		c->old_left--;
		c->new_left--;
	}
}

void patchstat_count(
	const char *patch, size_t n, struct patchstat *out, patchstat_fn *fn, void *arg)
{
	struct counting c = {.out = out, .fn = fn, .arg = arg};
	const char *end = patch + n;

	*out = (struct patchstat){0};
	for (const char *line = patch; line < end;) {
		const char *newline = memchr(line, '\n', end - line);
		size_t len = (newline ? newline : end) - line;

		if (c.old_left > 0 || c.new_left > 0)
			hunk_line(&c, len ? *line : ' ');
		else if (starts(line, len, "diff --git "))
			file_begin(&c, line, len);
		else if (starts(line, len, "@@ -"))
			hunk_begin(&c, line, len);
		else if (starts(line, len, "GIT binary patch") ||
			 starts(line, len, "Binary files "))
			c.binary = true;
		line = newline ? newline + 1 : end;
	}
	file_end(&c);
}
