#pragma once
/* The time in which a sandbox's gate lets it reach the package indexes. */
#include <stdint.h>

#include "err.h"

struct db;
struct fence;

/* fence_lost where the job is not ours any more; ERR_CONFLICT where the box is not in the making.
 */
bool package_window_open(
	struct db *db, const struct fence *f, int64_t box_id, struct err *err) NODISCARD;
/* installed: JSON array of what came in; NULL: nothing is written down. */
bool package_window_close(struct db *db, const struct fence *f, int64_t box_id,
	const char *installed, struct err *err) NODISCARD;
