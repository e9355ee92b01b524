/*
 * Which images there are. Building them is `workers/box/images/build`; here their names are read.
 */
#include "images.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "pool.h"
#include "text.h"

#define IMAGES_MAX 100 /* more names than these help nobody who has to choose one */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *images_list(struct pool *pool, const struct config *cfg)
{
	const char **list = POOL_ARRAY(pool, const char *, IMAGES_MAX + 1);
	DIR *dir = opendir(pool_printf(pool, "%s/images/by-name", cfg->cache_dir));
	const struct dirent *e;
	size_t n = 0;

	list[n++] = cfg->box_image;
	while (dir && n < IMAGES_MAX && (e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.' && text_is_name(e->d_name) &&
			strcmp(e->d_name, cfg->box_image) != 0)
			list[n++] = pool_strdup(pool, e->d_name);
	if (dir)
		(void)closedir(dir);
	qsort(list + 1, n - 1, sizeof(*list), by_name);
	return list;
}

bool image_is_built(struct pool *pool, const struct config *cfg, const char *name)
{
	return text_is_name(name) &&
	       !access(pool_printf(pool, "%s/images/by-name/%s", cfg->cache_dir, name), F_OK);
}

const char *image_key(struct pool *pool, const struct config *cfg, const char *name)
{
	char target[256];
	const char *slash;
	ssize_t n =
		!text_is_name(name)
			? -1
			: readlink(pool_printf(pool, "%s/images/by-name/%s", cfg->cache_dir, name),
				  target, sizeof(target) - 1);

	if (n < 0)
		return "";
	target[n] = '\0';
	slash = strrchr(target, '/');
	return pool_strdup(pool, slash ? slash + 1 : target);
}

bool image_check(struct pool *pool, const struct config *cfg, const char *name, struct err *err)
{
	const char *const *list = images_list(pool, cfg);
	char known[160];
	size_t n = (size_t)snprintf(known, sizeof(known), "Known: %s", list[0]);

	for (size_t i = 0; list[i]; i++)
		if (!strcmp(list[i], name))
			return true;
	for (size_t i = 1; list[i] && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, ", %s", list[i]);
	(void)err_set(err, ERR_INVALID, "image: no such image %s", name);
	return err_advise(err, "unknown_image", known);
}
