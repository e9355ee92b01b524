/*
 * Which class the boxes of a runtime have: what the runtimes' own rows say, for those who may not
 * know runtimes.
 */
#include "isolation.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *runtime, *class;
} classes[] = {
	{"qemu", ISOLATION_EMULATED},
	{"podman", ISOLATION_CONTAINER},
	{"docker", ISOLATION_CONTAINER},
	{"msb", ISOLATION_HARDWARE},
};

const char *isolation_of(const char *runtime)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strcmp(classes[i].runtime, runtime))
			return classes[i].class;
	return "process";
}
