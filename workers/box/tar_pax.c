/*
 * Pax records. Their length counts itself, in decimal, and is believed only within what is there.
 */
#include "tar_pax.h"

#include <string.h>

#define DIGITS_MAX 6

bool tar_pax_next(const char **p, const char *end, struct tar_pax *out)
{
	const char *start = *p, *d = start, *stop, *eq;
	size_t left = (size_t)(end - start), len = 0;

	while (d < end && d - start < DIGITS_MAX && *d >= '0' && *d <= '9')
		len = len * 10 + (size_t)(*d++ - '0');
	if (d == start || d == end || *d != ' ' || len > left || len < (size_t)(d - start) + 3)
		return false;
	stop = start + len - 1;
	d++;
	eq = memchr(d, '=', (size_t)(stop - d));
	if (*stop != '\n' || !eq || eq == d)
		return false;
	*out = (struct tar_pax){.key = d,
		.value = eq + 1,
		.key_n = (size_t)(eq - d),
		.value_n = (size_t)(stop - eq - 1)};
	*p = stop + 1;
	return true;
}

bool tar_pax_is(const struct tar_pax *record, const char *key)
{
	return record->key_n == strlen(key) && memcmp(record->key, key, record->key_n) == 0;
}
