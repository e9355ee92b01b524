#pragma once
/*
 * The pool: boxes made ahead for an image and a size class, which are nobody's and stand still
 * until one is claimed. A claim is a door's (pool_take, inside the statements that make boxes
 * otherwise); all else is the worker's of the host they are on.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct db;
struct fence;
struct size_class;

/* A claimed box lives from its claim; so long it may have stood in the pool before. */
#define BOX_POOL_MS (60 * 60 * INT64_C(1000))

struct box_pool_new {
	const char *host, *runtime, *image;
	const char *image_key; /* what the image's name means now; "": the runtime has no images */
	const struct size_class *size;
	int64_t creating_ms, max_ms; /* max_ms: of a claimed box */
};
/* Row and `pool` job. */
bool box_pool_make(struct db *db, const struct box_pool_new *in, struct err *err) NODISCARD;
/* creating -> pooled. */
bool box_pooled(struct db *db, const struct fence *f, int64_t box_id, struct err *err) NODISCARD;
/* A claimed box that did not go on is to be made anew. */
bool box_unpooled(struct db *db, const struct fence *f, int64_t box_id, struct err *err) NODISCARD;
/* Takes box_id (0: the oldest) of the host out of the pool and asks for its end; *dropped false: it
 * is not there any more, or was claimed. */
bool box_pool_drop(struct db *db, const char *host, int64_t box_id, const char *reason,
	int64_t destroying_ms, bool *dropped, struct err *err) NODISCARD;
