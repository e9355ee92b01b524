#pragma once
/*
 * What a key or a connected client may do: `run:read` looks, `run:write` makes things run, `admin`
 * says who may ask. Each includes those before it. Lists are texts with spaces between, as OAuth
 * has them.
 */
#include <stdbool.h>

enum scope { SCOPE_NONE, SCOPE_RUN_READ, SCOPE_RUN_WRITE, SCOPE_ADMIN, SCOPE__COUNT };

/* "run:read"; of SCOPE_NONE "". */
const char *scope_name(enum scope s);
/* The highest in the list; false: it is empty, or there is a word in it that is none. */
bool scope_parse(const char *list, enum scope *out);
/* With those that it includes: "run:read run:write". */
const char *scope_list(enum scope s);
