#pragma once
/* The sizes a box can have; a request's memory and processors round up to the next. */
#include <stdint.h>

#include "err.h"

struct size_class {
	const char *name;
	int64_t memory_bytes;
	int64_t cpus;
	int64_t disk_bytes; /* sparse: what the box may come to use */
};

extern const struct size_class size_classes[]; /* small to large; ends with a NULL name */
const struct size_class *size_class_find(const char *name); /* NULL: none of that name */
/* The smallest class that holds both; NULL where none does. */
const struct size_class *size_class_for(int64_t memory_mb, int64_t cpus);
/* The same for a request's own words. ERR_INVALID, saying how large the largest is. */
bool size_class_choose(
	int64_t memory_mb, int64_t cpus, const struct size_class **out, struct err *err) NODISCARD;
/* What the disk of a box is held to by this runtime; 0: by nothing. A container writes into its
 * engine's store, where only a file's size has a limit. */
int64_t size_class_disk(const struct size_class *size, const char *runtime);
