/*
 * Array literals and names.
 */
#include "rows.h"

#include <inttypes.h>
#include <string.h>

void array_open(struct buf *b)
{
	(void)buf_addc(b, '{');
}

static void comma(struct buf *b)
{
	if (b->len && b->data[b->len - 1] != '{')
		(void)buf_addc(b, ',');
}

void array_add_i64(struct buf *b, int64_t v)
{
	comma(b);
	(void)buf_addf(b, "%" PRId64, v);
}

void array_add_text(struct buf *b, const char *s)
{
	comma(b);
	if (!s) {
		(void)buf_adds(b, "NULL");
		return;
	}
	(void)buf_addc(b, '"');
	while (*s) {
		size_t plain = strcspn(s, "\"\\");

		(void)buf_add(b, s, plain);
		s += plain;
		if (*s) {
			(void)buf_addc(b, '\\');
			(void)buf_addc(b, *s++);
		}
	}
	(void)buf_addc(b, '"');
}

void array_close(struct buf *b)
{
	(void)buf_addc(b, '}');
}

int name_find(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}
