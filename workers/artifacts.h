#pragma once
/*
 * What a run left in /artifacts: each regular file becomes a blob. The tar comes from a hostile
 * box: names are sanitised, everything but regular files is passed over, sizes and count are
 * capped.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct blob_new;
struct guest;

#define ARTIFACTS_MAX 200 /* files of a turn */

/* like: account, run, turn and caps. */
bool artifacts_save(struct guest *g, const struct blob_new *like, int64_t deadline, int64_t *count,
	struct err *err) NODISCARD;
