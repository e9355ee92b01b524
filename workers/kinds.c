/*
 * The kinds of jobs there are.
 */
#include "kinds.h"

#include <string.h>

extern const struct kind kind_turn, kind_exec, kind_create, kind_destroy, kind_look, kind_pool;

const struct kind *const kinds[] = {
	&kind_turn,
	&kind_exec,
	&kind_create,
	&kind_destroy,
	&kind_look,
	&kind_pool,
	NULL,
};

const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; kinds[i]; i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

size_t kind_names(const char *const **names)
{
	static const char *all[sizeof(kinds) / sizeof(kinds[0])];
	size_t n = 0;

	for (; kinds[n]; n++)
		all[n] = kinds[n]->name;
	*names = all;
	return n;
}
