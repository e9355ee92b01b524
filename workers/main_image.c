/*
 * asb-image: makes templates and says what is in the cache. Images themselves are built by
 * workers/box/images/build, a script, since that is all Debian's tools.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "config.h"
#include "err.h"
#include "log.h"
#include "pool.h"
#include "template.h"
#include "text.h"

static const char *making; /* what the progress lines name */

static void progress(const char *step)
{
	(void)fprintf(stderr, "template %s: %s\n", making, step);
}

static bool template_verb(struct pool *pool, const char *cache_dir, const char *name,
	const char *size_name, struct err *err)
{
	const struct size_class *size = size_class_find(size_name);
	CLEANUP(template) struct template tpl = TEMPLATE_INIT;
	int64_t start_ms = time_boot_ms();
	struct image image;

	if (!size)
		return err_set(err, ERR_INVALID, "no size class %s: s, m or l", size_name);
	if (!image_get(pool, cache_dir, name, &image, err))
		return false;
	making = pool_printf(pool, "%s-%s", name, size->name);
	if (!template_make(pool, cache_dir, &image, size, progress, &tpl, err))
		return false;
	(void)fprintf(stderr, "template %s: ready (%s, %lld ms)\n", making, tpl.key,
		(long long)(time_boot_ms() - start_ms));
	(void)printf("%s\n", tpl.dir);
	return true;
}

/* What the cache calls `kind`, each name with the key it stands for. */
static bool list_names(struct pool *pool, const char *cache_dir, const char *kind, struct err *err)
{
	const char *path = pool_printf(pool, "%s/%ss/by-name", cache_dir, kind);
	DIR *dir = opendir(path);
	struct dirent *d;

	if (!dir)
		return access(path, F_OK) ? true : err_errno(err, ERR_INTERNAL, "%s", path);
	while ((d = readdir(dir))) {
		char target[256];
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof(target) - 1);
		const char *key;

		if (n < 0 || d->d_name[0] == '.')
			continue;
		target[n] = '\0';
		key = strrchr(target, '/');
		(void)printf("%-8s %-20s %s\n", kind, d->d_name, key ? key + 1 : target);
	}
	(void)closedir(dir);
	return true;
}

static bool run(struct pool *pool, int argc, char **argv, struct err *err)
{
	const struct config *cfg;
	int flags = argc > 2 && !strcmp(argv[1], "--config") ? 2 : 0, n = argc - 1 - flags;
	char **words = argv + 1 + flags;

	if (!config_load(pool, 1 + flags, argv, &cfg, err))
		return false;
	if (n == 3 && !strcmp(words[0], "template"))
		return template_verb(pool, cfg->cache_dir, words[1], words[2], err);
	if (n == 1 && !strcmp(words[0], "list"))
		return list_names(pool, cfg->cache_dir, "image", err) &&
		       list_names(pool, cfg->cache_dir, "template", err);
	return err_set(
		err, ERR_INVALID, "usage: asb-image [--config FILE] template IMAGE CLASS | list");
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct err err;

	log_init("image", LOG_INFO);
	(void)umask(022);
	if (run(pool, argc, argv, &err))
		return 0;
	log_error("%s%s%s", err.msg, err.fix[0] ? ": " : "", err.fix);
	return err_info(err.code)->exit_status;
}
