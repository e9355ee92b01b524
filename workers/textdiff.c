/*
 * Myers' greedy algorithm over lines, without its refinement for memory: the number of edits is
 * bounded, so that the paths kept are too.
 */
#include "textdiff.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "pool.h"

struct line {
	const char *text;
	size_t size; /* with its newline, which the last one may lack */
	bool edited; /* taken out of a, or put into b */
};

struct side {
	struct line *lines;
	size_t n;
};

static void side_split(struct side *s, const char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	s->lines = mem_alloc((n + 1) * sizeof(*s->lines));
	memset(s->lines, 0, (n + 1) * sizeof(*s->lines));
	for (s->n = 0; size; s->n++) {
		const char *end = memchr(text, '\n', size);
		size_t part = end ? (size_t)(end - text) + 1 : size;

		s->lines[s->n] = (struct line){.text = text, .size = part};
		text += part;
		size -= part;
	}
}

static bool lines_equal(const struct line *a, const struct line *b)
{
	return a->size == b->size && !memcmp(a->text, b->text, a->size);
}

static void all_edited(struct line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lines[i].edited = true;
}

/* The furthest x on each diagonal k after d edits: row d has d + 1 of them, k = -d, -d + 2, .. d.
 */
static int *row(int *paths, int d)
{
	return paths + (size_t)d * (size_t)(d + 1) / 2;
}

static int step_down(const int *before, int d, int k, bool *down)
{
	/* before[i] is diagonal -(d - 1) + 2 i */
	int i = (k + d) / 2;

	*down = k == -d || (k != d && before[i - 1] < before[i]);
	return *down ? before[i] : before[i - 1] + 1;
}

/* From the end of both back to their beginning, marking what was edited on the way. */
static void path_mark(struct line *a, struct line *b, int x, int y, int *paths, int d)
{
	for (; d > 0; d--) {
		const int *before = row(paths, d - 1);
		int k = x - y, came;
		bool down;

		came = step_down(before, d, k, &down);
		if (down) {
			int from = came - (k + 1);

			b[from].edited = true;
			x = came;
			y = from;
		} else {
			a[came - 1].edited = true;
			x = came - 1;
			y = x - (k - 1);
		}
	}
}

static void edits_find(struct line *a, size_t an, struct line *b, size_t bn)
{
	const int n = (int)an, m = (int)bn;
	const size_t rows = TEXTDIFF_EDITS + 1;
	CLEANUP(free) int *paths = mem_alloc(rows * (rows + 1) / 2 * sizeof(*paths));

	for (int d = 0; d <= TEXTDIFF_EDITS; d++) {
		int *now = row(paths, d);

		for (int k = -d; k <= d; k += 2) {
			bool down;
			int x = d ? step_down(row(paths, d - 1), d, k, &down) : 0, y = x - k;

			while (x < n && y < m && x >= 0 && y >= 0 && lines_equal(&a[x], &b[y])) {
				x++;
				y++;
			}
			now[(k + d) / 2] = x;
			if (x == n && y == m) {
				path_mark(a, b, x, y, paths, d);
				return;
			}
		}
	}
	all_edited(a, an);
	all_edited(b, bn);
}

static void line_add(struct buf *out, char sign, const struct line *l)
{
	(void)buf_addc(out, sign);
	(void)buf_add(out, l->text, l->size);
	if (l->text[l->size - 1] != '\n')
		(void)buf_adds(out, "\n\\ No newline at end of file\n");
}

/* The end of the hunk that begins at (x, y): behind it there are more than two contexts unedited.
 */
static void hunk_end(const struct side *a, const struct side *b, size_t *x, size_t *y)
{
	size_t i = *x, j = *y, same = 0;

	while (i < a->n || j < b->n) {
		if (i < a->n && a->lines[i].edited) {
			i++;
		} else if (j < b->n && b->lines[j].edited) {
			j++;
		} else {
			if (++same > 2 * TEXTDIFF_CONTEXT)
				return;
			i++;
			j++;
			continue;
		}
		same = 0;
		*x = i;
		*y = j;
	}
}

static void hunk_write(const struct side *a, size_t x, size_t x_end, const struct side *b, size_t y,
	size_t y_end, struct buf *out)
{
	(void)buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", x_end > x ? x + 1 : x, x_end - x,
		y_end > y ? y + 1 : y, y_end - y);
	while (x < x_end || y < y_end) {
		if (x < x_end && a->lines[x].edited) {
			line_add(out, '-', &a->lines[x++]);
		} else if (y < y_end && b->lines[y].edited) {
			line_add(out, '+', &b->lines[y++]);
		} else {
			line_add(out, ' ', &a->lines[x++]);
			y++;
		}
	}
}

static void hunks_write(const struct side *a, const struct side *b, struct buf *out)
{
	size_t x = 0, y = 0;

	while (x < a->n || y < b->n) {
		size_t before, x_end, y_end, after;

		if (!(x < a->n && a->lines[x].edited) && !(y < b->n && b->lines[y].edited)) {
			x++;
			y++;
			continue;
		}
		before = x < TEXTDIFF_CONTEXT ? x : TEXTDIFF_CONTEXT;
		before = y < before ? y : before;
		x_end = x;
		y_end = y;
		hunk_end(a, b, &x_end, &y_end);
		after = a->n - x_end < TEXTDIFF_CONTEXT ? a->n - x_end : TEXTDIFF_CONTEXT;
		hunk_write(a, x - before, x_end + after, b, y - before, y_end + after, out);
		x = x_end;
		y = y_end;
	}
}

bool textdiff(const char *a_text, size_t a_size, const char *b_text, size_t b_size, struct buf *out)
{
	struct side a, b;
	size_t head = 0, tail = 0;

	side_split(&a, a_text, a_size);
	side_split(&b, b_text, b_size);
	while (head < a.n && head < b.n && lines_equal(&a.lines[head], &b.lines[head]))
		head++;
	while (tail < a.n - head && tail < b.n - head &&
		lines_equal(&a.lines[a.n - tail - 1], &b.lines[b.n - tail - 1]))
		tail++;
	if (a.n - head - tail || b.n - head - tail)
		edits_find(a.lines + head, a.n - head - tail, b.lines + head, b.n - head - tail);
	hunks_write(&a, &b, out);
	free(a.lines);
	free(b.lines);
	return !out->failed;
}
