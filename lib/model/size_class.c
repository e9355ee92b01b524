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

bool size_class_choose(
	int64_t memory_mb, int64_t cpus, const struct size_class **out, struct err *err)
{
	const struct size_class *largest = size_classes;

	*out = size_class_for(memory_mb, cpus);
	if (*out)
		return true;
	while (largest[1].name)
		largest++;
	return err_set(err, ERR_INVALID,
		"memory_mb, cpus: the largest box has %lld MB and %lld cpus",
		(long long)(largest->memory_bytes / MIB), (long long)largest->cpus);
}

int64_t size_class_disk(const struct size_class *size, const char *runtime)
{
	return strcmp(runtime, "podman") && strcmp(runtime, "docker") ? size->disk_bytes : 0;
}
