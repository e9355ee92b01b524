#pragma once
/* Counting what a git patch changes. */
#include <stdbool.h>
#include <stddef.h>

struct patchstat {
	int files;
	int binary_files;
	long added;
	long removed;
};

/* Calls fn (may be NULL) once a file, after its last hunk, with its counts. */
typedef void patchstat_fn(
	void *arg, const char *path, size_t path_n, long added, long removed, bool binary);
void patchstat_count(
	const char *patch, size_t n, struct patchstat *out, patchstat_fn *fn, void *arg);
