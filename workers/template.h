#pragma once
/*
 * What boxes start from: images (made by workers/box/images/build, cached under CACHE_DIR/images)
 * and templates, the frozen memory, device state and disk of an image booted once per size class
 * (CACHE_DIR/templates). Everything is found by a key that hashes all it depends on, so a stale
 * template is never found: it is simply not there, and a box boots cold.
 *
 *	CLEANUP(template) struct template tpl = TEMPLATE_INIT;
 *	if (!image_get(pool, cache_dir, "base", &image, err) ||
 *		!template_find(pool, cache_dir, &image, size_class_find("s"), &tpl, err))
 *		return err_wrap(err, "box");
 *	if (tpl.key && !template_load(&tpl, err))   once a process: the sealed copy of the memory
 *		return err_wrap(err, "box");
 *	per box:  disk_copy(tpl.key ? tpl.disk : image_disk(pool, &image, size), disk_fd, err)
 *	          template_open_state(&tpl, &state_fd, err)
 *	          spec = {.image_dir = image.dir, .memory_bytes = size->memory_bytes, .cpus =
 *size->cpus, .mem_fd = tpl.mem_fd, .state_fd = state_fd}   (both -1: cold boot)
 *
 * A clone must be started with the very image and class its template was made with.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "size_class.h"

struct pool;

struct image {
	const char *name;
	const char *key;
	const char *dir; /* root.img, vmlinuz, initrd, image.json, blank-CLASS.img */
};

/* ERR_NOT_FOUND with the command that builds it where the image was never built. */
bool image_get(struct pool *pool, const char *cache_dir, const char *name, struct image *out,
	struct err *err) NODISCARD;
/* The formatted, empty disk that a cold boot's disk is a copy of. */
const char *image_disk(struct pool *pool, const struct image *image, const struct size_class *size);

struct template
{
	const char *key; /* NULL: there is none */
	const char *dir;
	const char *disk;  /* the disk as it was in the same instant as the memory */
	const char *state; /* device state */
	int64_t memory_bytes;
	int mem_fd; /* -1 until template_load */
};
#define TEMPLATE_INIT ((struct template){.mem_fd = -1})
void cleanup_template(struct template *tpl); /* closes mem_fd */

/* Looks for the template of image and size that fits this QEMU. None is success with key NULL.
 * Starts `qemu-system-x86_64 --version` (30 ms): look once, not for each box. */
bool template_find(struct pool *pool, const char *cache_dir, const struct image *image,
	const struct size_class *size, struct template *out, struct err *err) NODISCARD;
/* Copies the memory into a memfd that nobody can write any more, this process included; holes stay
 * holes. QEMU opens it read-write even for a private mapping, so a plain file would let one box
 * change what the next one starts from. */
bool template_load(struct template *tpl, struct err *err) NODISCARD;
/* A descriptor for one clone to read the device state from (it has an offset: never share it). */
bool template_open_state(const struct template *tpl, int *out, struct err *err) NODISCARD;
/* Makes the file behind fd a copy of `from`, holes included. */
bool disk_copy(const char *from, int fd, struct err *err) NODISCARD;

/* Boots the image once and freezes it; returns at once where the template is there already. Two
 * makers at a time wait for each other. progress (may be NULL) is told each step as it begins. */
bool template_make(struct pool *pool, const char *cache_dir, const struct image *image,
	const struct size_class *size, void (*progress)(const char *step), struct template *out,
	struct err *err) NODISCARD;
