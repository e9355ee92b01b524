#pragma once
/* Checks that a text is one JSON value, by the strict rules of json.h. Only json.c needs
 * this, and who wants a value as it was written. */
#include <stdbool.h>
#include <stddef.h>

struct json_scanned {
	size_t members;	   /* of all objects in it */
	size_t end;	   /* where the value ends */
	const char *wrong; /* what is wrong, and where; NULL: nothing */
	size_t at;
};

/* text is valid UTF-8 without NUL. */
bool json_scan(const char *text, size_t n, struct json_scanned *out);
/* The value of the member `key` (plain letters) of the object that text is, as it stands there.
 * text has passed json_scan. False: it has none. */
bool json_scan_member(const char *text, size_t n, const char *key, const char **at, size_t *len);
