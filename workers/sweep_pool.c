/*
 * The level of the pool: boxes are made one after the other while there are too few of an image
 * that is wanted, and ended where they are too old, of an image that was built anew, or too many. A
 * pooled box has a slot: the pool takes no more than half of them, and gives one back to whoever
 * finds none (provision.c).
 */
#include "sweeps.h"

#include <string.h>
#include <unistd.h>

#include "box_pool.h"
#include "cleanup.h"
#include "config.h"
#include "db.h"
#include "log.h"
#include "pool.h"
#include "queries.h"
#include "runtimes.h"
#include "size_class.h"
#include "template.h"
#include "worker.h"

/* One box for so much of the host's memory where BOX_POOL does not say how many, and one on any
 * host: it costs about 30 MB and is what makes a job begin in a tenth of a second. */
#define MEMORY_A_BOX (INT64_C(8) << 30)
#define LEVEL_MAX 4

int64_t box_pool_level(const struct config *cfg, int64_t memory)
{
	int64_t level = cfg->box_pool;
	const struct runtime *runtime = runtime_find(cfg->box_runtime);

	if (!runtime || !runtime->pause)
		return 0;
	if (level < 0) {
		level = memory / MEMORY_A_BOX;
		level = level < 1 ? 1 : level > LEVEL_MAX ? LEVEL_MAX : level;
	}
	return level < cfg->box_slots / 2 ? level : cfg->box_slots / 2;
}

/* What the image's name means now; NULL: it was never built. */
static const char *key_of(const struct worker *w, struct pool *pool, const char *image)
{
	struct image found;
	struct err ignored;

	if (!runtime_find(w->cfg->box_runtime)->has_image)
		return "";
	return image_get(pool, w->cfg->cache_dir, image, &found, &ignored) ? found.key : NULL;
}

/* How many of this image and class were seen before row i of the list. */
static int64_t seen_before(const struct result *list, int i)
{
	int64_t n = 0;

	for (int k = 0; k < i; k++)
		n += !strcmp(result_text(list, k, 1), result_text(list, i, 1)) &&
		     !strcmp(result_text(list, k, 2), result_text(list, i, 2));
	return n;
}

static bool pool_prune(struct worker *w, int64_t level, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(result) struct result list = {0};

	if (!db_query(w->db, Q_POOL_LIST, ARGS(db_text(w->host), db_i64(w->cfg->box_max_s * 1000)),
		    &list, err))
		return false;
	for (int i = 0; i < list.rows; i++) {
		const char *key = level ? key_of(w, pool, result_text(&list, i, 1)) : NULL;
		bool dropped;

		if (key && !strcmp(key, result_text(&list, i, 3)) && !result_bool(&list, i, 5) &&
			!strcmp(result_text(&list, i, 4), w->cfg->box_runtime) &&
			seen_before(&list, i) < level)
			continue;
		if (!box_pool_drop(w->db, w->host, result_i64(&list, i, 0), "idle",
			    w->cfg->destroying_ms, &dropped, err))
			return false;
		if (dropped)
			log_info("box_id=%lld leaves the pool", (long long)result_i64(&list, i, 0));
	}
	return true;
}

/* There is a slot, the pool may have it, and none is being made. */
static bool pool_has_room(struct worker *w, bool *room, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(w->db, Q_POOL_ROOM, ARGS(db_text(w->host)), &res, err))
		return false;
	*room = result_i64(&res, 0, 0) < w->cfg->box_slots &&
		result_i64(&res, 0, 1) < w->cfg->box_slots / 2 && !result_i64(&res, 0, 2);
	return true;
}

static bool pool_fill(struct worker *w, int64_t level, struct err *err)
{
	const struct size_class *size = size_class_for(w->cfg->box_memory_mb, w->cfg->box_cpus);
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(result) struct result res = {0};

	if (!db_query(w->db, Q_POOL_WANTED,
		    ARGS(db_text(w->host), db_text(w->cfg->box_runtime), db_text(w->cfg->box_image),
			    db_text(size ? size->name : size_classes[0].name)),
		    &res, err))
		return false;
	for (int i = 0; i < res.rows; i++) {
		struct box_pool_new in = {.host = w->host,
			.runtime = w->cfg->box_runtime,
			.image = result_text(&res, i, 0),
			.image_key = key_of(w, pool, result_text(&res, i, 0)),
			.size = size_class_find(result_text(&res, i, 1)),
			.creating_ms = w->cfg->starting_ms,
			.max_ms = w->cfg->box_max_s * 1000};

		if (in.image_key && in.size && result_i64(&res, i, 2) < level &&
			!result_bool(&res, i, 3))
			return box_pool_make(w->db, &in, err);
	}
	return true;
}

bool sweep_pool(struct worker *w, struct err *err)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	int64_t level = box_pool_level(w->cfg, memory);
	bool room = false;

	if (!pool_prune(w, level, err))
		return false;
	if (!level)
		return true;
	return pool_has_room(w, &room, err) && (!room || pool_fill(w, level, err));
}
