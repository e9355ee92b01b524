#pragma once
/* The records of a pax header, "LEN key=value\n", one after the other. */
#include <stdbool.h>
#include <stddef.h>

struct tar_pax {
	const char *key, *value; /* not NUL-terminated */
	size_t key_n, value_n;
};

/* Reads the record at *p and moves *p behind it; false: damaged. */
bool tar_pax_next(const char **p, const char *end, struct tar_pax *out);
bool tar_pax_is(const struct tar_pax *record, const char *key);
