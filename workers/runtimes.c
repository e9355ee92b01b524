/*
 * The list of runtimes. A new one is a file and a line here.
 */
#include "runtimes.h"

#include <string.h>

static const struct runtime *const runtimes[] = {
	&runtime_qemu,
	&runtime_podman,
	&runtime_docker,
	&runtime_msb,
#ifdef ASB_TEST
	&runtime_process,
#endif
};

const struct runtime *runtime_at(size_t i)
{
	return i < sizeof(runtimes) / sizeof(runtimes[0]) ? runtimes[i] : NULL;
}

const struct runtime *runtime_find(const char *name)
{
	const struct runtime *r;

	for (size_t i = 0; (r = runtime_at(i)); i++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}
