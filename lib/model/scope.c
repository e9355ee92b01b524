/*
 * Names of scopes. They are in order, so that one number says all that somebody may.
 */
#include "scope.h"

#include <stddef.h>
#include <string.h>

static const char *const names[SCOPE__COUNT] = {
	[SCOPE_NONE] = "",
	[SCOPE_RUN_READ] = "run:read",
	[SCOPE_RUN_WRITE] = "run:write",
	[SCOPE_ADMIN] = "admin",
};

static const char *const lists[SCOPE__COUNT] = {
	[SCOPE_NONE] = "",
	[SCOPE_RUN_READ] = "run:read",
	[SCOPE_RUN_WRITE] = "run:read run:write",
	[SCOPE_ADMIN] = "run:read run:write admin",
};

const char *scope_name(enum scope s)
{
	return names[s];
}

const char *scope_list(enum scope s)
{
	return lists[s];
}

static enum scope scope_find(const char *word, size_t n)
{
	for (int s = SCOPE_RUN_READ; s < SCOPE__COUNT; s++)
		if (strlen(names[s]) == n && !memcmp(names[s], word, n))
			return (enum scope)s;
	return SCOPE_NONE;
}

bool scope_parse(const char *list, enum scope *out)
{
	enum scope highest = SCOPE_NONE;

	for (size_t n; *list; list += n) {
		enum scope s;

		list += strspn(list, " ");
		n = strcspn(list, " ");
		s = scope_find(list, n);
		if (n && s == SCOPE_NONE)
			return false;
		if (s > highest)
			highest = s;
	}
	if (highest == SCOPE_NONE)
		return false;
	*out = highest;
	return true;
}
