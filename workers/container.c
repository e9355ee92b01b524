/*
 * Containers and what is driven like them, whatever the engine: which one there is, whose host uids
 * a box has, and what is asked of the kernel and of no engine. What differs is in the engine's
 * verbs (runtime_container.c, runtime_msb.c).
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "engine.h"
#include "pool.h"
#include "template.h"
#include "text.h"

/* Of the host's uids: from 2^31 on, by slot. */
#define UID_FIRST UINT32_C(0x80000000)
#define UID_SLOTS UINT32_C(0x7ffff)

static const struct engine *const engines[] = {&engine_podman, &engine_docker, &engine_msb};

const struct engine *engine_at(size_t i)
{
	return i < sizeof(engines) / sizeof(engines[0]) ? engines[i] : NULL;
}

const struct engine *engine_find(const char *runtime)
{
	const struct engine *e;

	for (size_t i = 0; (e = engine_at(i)); i++)
		if (!strcmp(e->name, runtime))
			return e;
	return NULL;
}

uid_t container_uid(uid_t slot_uid)
{
	return UID_FIRST + (slot_uid & UID_SLOTS) * CONTAINER_UIDS;
}

int container_slot(uid_t uid, uid_t first_uid)
{
	if (uid < UID_FIRST || uid - UID_FIRST > UID_SLOTS * CONTAINER_UIDS)
		return -1;
	return (int)(((uid - UID_FIRST) / CONTAINER_UIDS - first_uid) & UID_SLOTS);
}

bool engine_probe(struct pool *pool, const struct engine *e, const char **version, struct err *err)
{
	return e->verbs->probe(pool, e, version, err);
}

const char *engine_image_name(struct pool *pool, const struct image *image)
{
	return pool_printf(pool, "localhost/asb-%s:%s", image->name, image->key);
}

bool engine_has_image(
	struct pool *pool, const struct engine *e, const struct image *image, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
	struct argv a;
	int status;

	if (!engine_argv(pool, e, &a, err))
		return false;
	argv_add2(&a, "image", "inspect");
	argv_add2(&a, "--format", e->verbs->inspect_format);
	argv_add(&a, engine_image_name(pool, image));
	if (!engine_call(&a, -1, ENGINE_ANSWER_MS, &text, &status, err))
		return false;
	if (!status)
		return true;
	(void)err_set(err, ERR_NOT_FOUND, "image %s is not in %s's store", image->name, e->name);
	return err_advise(err, "image_not_found", "run asb doctor --pull");
}

bool container_start(struct pool *pool, const struct engine *e, const struct container_spec *spec,
	struct container *out, struct err *err)
{
	*out = (struct container){.channel = -1};
	return e->verbs->start(pool, e, spec, out, err);
}

bool container_readback(struct pool *pool, const struct engine *e,
	const struct container_spec *spec, pid_t pid, struct buf *out, struct err *err)
{
	return e->verbs->readback(pool, e, spec, pid, out, err);
}

/* No process in any cgroup or command line of it: the engine is not asked. */
static bool process_is_left(const char *marker)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	bool left = false;

	while (proc && !left && (d = readdir(proc))) {
		char path[300], args[4096];
		ssize_t n;

		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, args, sizeof(args) - 1);
		args[n > 0 ? n : 0] = '\0';
		/* boxd's own arguments: its path, --fd, 3, --marker, and it */
		if (n > 0 && !strcmp(args, CONTAINER_BOXD))
			for (ssize_t at = 0; at < n && !left; at += (ssize_t)strlen(args + at) + 1)
				left = !strcmp(args + at, marker);
	}
	if (proc)
		(void)closedir(proc);
	return left;
}

bool container_remove(
	struct pool *pool, const struct engine *e, const char *marker, struct err *err)
{
	if (!e->verbs->remove(pool, e, marker, err))
		return false;
	return process_is_left(marker)
		       ? err_set(err, ERR_UPSTREAM, "a process of %s is still there", marker)
		       : true;
}

bool container_sweep(struct pool *pool, const struct engine *e, const char *site,
	bool (*is_known)(const char *box, void *arg), void *arg, struct err *err)
{
	const char *prefix = pool_printf(pool, "asb-%s-", site);
	CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);

	if (!e->verbs->list(pool, e, site, &text, err))
		return false;
	for (char *at = text.data, *end; *at; at = *end ? end + 1 : end) {
		const char *name;

		end = strchrnul(at, '\n');
		name = pool_printf(pool, "%.*s", (int)(end - at), at);
		if (text_has_prefix(name, prefix) && !is_known(name + strlen(prefix), arg) &&
			!container_remove(pool, e, name, err))
			return false;
	}
	return true;
}
