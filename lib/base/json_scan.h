#pragma once
/* Checks that a text is one JSON value, by the strict rules of json.h. Only json.c needs this. */
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
