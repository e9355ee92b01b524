#pragma once
/*
 * Lock files that packages are installed from: requirements.txt, package-lock.json, go.sum and
 * pom.xml. What one may name is what a spec may: packages of the index, by version. Flags, URLs,
 * paths and VCS references are refused with the line or entry that has them.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "package.h"

struct pool;

#define PACKAGE_FILE_MAX (4 * 1024 * 1024) /* bytes; the largest lock files are about 2 MB */

/* The manager that this file name (without folders) belongs to; false: none. */
bool package_file_manager(const char *name, enum package_manager *out);
/* ERR_INVALID, reason invalid_package. */
bool package_file_check(struct pool *pool, enum package_manager manager, const char *text, size_t n,
	struct err *err) NODISCARD;
