#pragma once
/*
 * THE table of job kinds. A kind's function does one job in straight lines and returns true where
 * the job was ended in the database (or is not ours any more, or the worker wants us gone); false
 * is our own failure, and the job is tried again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct runner;

struct kind {
	const char *name;
	/* The lane its jobs run in: at most one running job per box and lane. */
	const char *lane;
	bool (*run)(struct runner *r, struct err *err);
};

extern const struct kind *const kinds[];	/* ends with NULL */
const struct kind *kind_find(const char *name); /* NULL: none of that name */
/* The names, for the claim. */
size_t kind_names(const char *const **names);
