/*
 * The table of box sizes. One template is kept per image and class, so there are few; the
 * disks are made by workers/box/images/build, which has the same sizes.
 */
#include "size_class.h"

#include <stddef.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

const struct size_class size_classes[] = {
	{"s", 1 * GIB, 1, 4 * GIB},
	{"m", 2 * GIB, 2, 8 * GIB},
	{"l", 4 * GIB, 4, 16 * GIB},
	{NULL},
};

const struct size_class *size_class_find(const char *name)
{
	for (const struct size_class *s = size_classes; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const struct size_class *size_class_for(int64_t memory_mb, int64_t cpus)
{
	for (const struct size_class *s = size_classes; s->name; s++)
		if (memory_mb * MIB <= s->memory_bytes && cpus <= s->cpus)
			return s;
	return NULL;
}
