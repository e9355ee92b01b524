#pragma once
/* Between files.c and the two children that unpack and pack. */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define FILES_PATH_MAX 4095

/* openat2 that follows no symbolic link anywhere in path, and stays beneath `at` unless it is
 * AT_FDCWD. */
int files_open(int at, const char *path, int flags, unsigned mode);
/* errno as an error naming path. Always false. */
bool files_fail(const char *path, struct err *err);

struct pack_request {
	const char *path;
	int64_t max_bytes;
};
/* worker_fn: arg is the path to unpack into, made where it is not there. */
int unpack_child(int data, int answer, const void *arg);
/* worker_fn: arg is a pack_request; a folder with what is below it, or one file. */
int pack_child(int data, int answer, const void *arg);
