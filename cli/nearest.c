/*
 * Which name is nearest to what was typed: the number of letters left out, put in, changed or
 * swapped with the next one, and a whole beginning of the name counts as one.
 */
#include <string.h>

#include "args.h"

#define NAME_LEN_MAX 39

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][NAME_LEN_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= nb; j++)
		before[j] = last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[nb];
}

void nearest_offer(struct nearest *n, const char *name)
{
	size_t typed = strlen(n->typed), len = strlen(name), d;

	if (!typed || typed > NAME_LEN_MAX || len > NAME_LEN_MAX)
		return;
	d = distance(n->typed, typed, name, len);
	if (typed >= 2 && typed < len && !memcmp(n->typed, name, typed))
		d = 1;
	if (d > (typed > 3 ? (typed + 1) / 3 : 1) || (n->best && d >= n->distance))
		return;
	n->best = name;
	n->distance = d;
}
