/*
 * The templates that asb-spawn holds: looked up by image key and class on first use, their memory
 * copied once into a sealed memfd that every clone maps. An image that was built again has another
 * key, so it is looked up again by itself; a template that was not there yet is looked for again
 * after a while, since making one is somebody else's work.
 */
#include "spawn_site.h"

#include <string.h>

#include "cleanup.h"
#include "config.h"
#include "pool.h"
#include "template.h"
#include "text.h"

/* Looking starts QEMU for its version (30 ms), which is not to be paid by each cold boot. */
#define LOOK_AGAIN_MS 5000

struct loaded {
	struct loaded *next;
	struct image image;
	const struct size_class *size;
	struct template tpl;
	int64_t looked_ms;
};

static struct loaded *loaded_find(
	struct spawn_site *site, const char *key, const struct size_class *size)
{
	for (struct loaded *l = site->loaded; l; l = l->next)
		if (l->size == size && !strcmp(l->image.key, key))
			return l;
	return NULL;
}

static bool loaded_get(struct spawn_site *site, const struct spawn_request *rq, struct loaded **out,
	struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct image image;
	struct loaded *l;

	/* into the site's memory only what is new */
	if (!image_get(pool, site->cfg->cache_dir, rq->image, &image, err))
		return false;
	l = loaded_find(site, image.key, rq->size);
	if (!l) {
		if (!image_get(site->pool, site->cfg->cache_dir, rq->image, &image, err))
			return false;
		l = POOL_NEW(site->pool, struct loaded);
		*l = (struct loaded){.next = site->loaded,
			.image = image,
			.size = rq->size,
			.tpl = TEMPLATE_INIT,
			.looked_ms = -LOOK_AGAIN_MS};
		site->loaded = l;
	}
	*out = l;
	return true;
}

bool template_for(struct spawn_site *site, const struct spawn_request *rq, bool cold,
	const char **image_dir, const char **disk, const struct template **tpl, struct err *err)
{
	static const struct template none = {.mem_fd = -1};
	struct loaded *l;

	if (!loaded_get(site, rq, &l, err))
		return false;
	if (!cold && !l->tpl.key && time_boot_ms() - l->looked_ms >= LOOK_AGAIN_MS) {
		l->looked_ms = time_boot_ms();
		if (!template_find(
			    site->pool, site->cfg->cache_dir, &l->image, rq->size, &l->tpl, err))
			return false;
	}
	if (!cold && l->tpl.key && l->tpl.mem_fd < 0 && !template_load(&l->tpl, err))
		return false;
	*image_dir = l->image.dir;
	*tpl = cold ? &none : &l->tpl;
	*disk = (*tpl)->key ? (*tpl)->disk : image_disk(site->pool, &l->image, rq->size);
	return true;
}

void templates_close(struct spawn_site *site)
{
	for (struct loaded *l = site->loaded; l; l = l->next)
		cleanup_template(&l->tpl);
}
