#pragma once
/* The images that boxes can boot from on this site: links in CACHE/images/by-name. */
#include <stdbool.h>

#include "err.h"

struct config;
struct pool;

/* Their names, the site's default first and the others in order; ends with NULL. The default is
 * there in any case. */
const char *const *images_list(struct pool *pool, const struct config *cfg);
/* Whether it has been built here. */
bool image_is_built(struct pool *pool, const struct config *cfg, const char *name);
/* What the name means now: the key of the image it stands for; "": it has not been built here. */
const char *image_key(struct pool *pool, const struct config *cfg, const char *name);
/* ERR_INVALID, naming those there are, unless the image is one of the list. */
bool image_check(
	struct pool *pool, const struct config *cfg, const char *name, struct err *err) NODISCARD;
