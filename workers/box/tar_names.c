/*
 * An open-addressing set of 64-bit hashes. Names are not kept: two that collide are taken for one,
 * which can only refuse an archive, and the seed is not known to whoever made it.
 */
#include "tar_names.h"

#include <stdlib.h>

#include "pool.h"
#include "random.h"

static uint64_t hash(const struct tar_names *names, const char *name, size_t n)
{
	uint64_t h = names->seed[0];

	for (size_t i = 0; i < n; i++) {
		h = (h ^ (unsigned char)name[i]) * UINT64_C(0x9fb21c651e98df25);
		h ^= h >> 29;
	}
	h = (h ^ names->seed[1]) * UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 32;
	return h ? h : 1;
}

void tar_names_init(struct tar_names *names)
{
	*names = (struct tar_names){.size = 256};
	names->slots = mem_alloc(names->size * sizeof(*names->slots));
	random_bytes(names->seed, sizeof(names->seed));
}

void tar_names_done(struct tar_names *names)
{
	free(names->slots);
	names->slots = NULL;
}

/* Where the hash is, or where it would go. */
static struct tar_name *slot(const struct tar_names *names, uint64_t h)
{
	size_t i = (size_t)h & (names->size - 1);

	while (names->slots[i].hash && names->slots[i].hash != h)
		i = (i + 1) & (names->size - 1);
	return &names->slots[i];
}

static void grow(struct tar_names *names)
{
	struct tar_names old = *names;

	names->size *= 2;
	names->slots = mem_alloc(names->size * sizeof(*names->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].hash)
			*slot(names, old.slots[i].hash) = old.slots[i];
	free(old.slots);
}

enum tar_seen tar_names_find(const struct tar_names *names, const char *name, size_t n)
{
	const struct tar_name *s = slot(names, hash(names, name, n));

	return s->hash ? s->kind : SEEN_NOT;
}

void tar_names_put(struct tar_names *names, const char *name, size_t n, enum tar_seen kind)
{
	uint64_t h = hash(names, name, n);
	struct tar_name *s = slot(names, h);

	if (!s->hash)
		names->used++;
	*s = (struct tar_name){.hash = h, .kind = kind};
	if (names->used > names->size / 2)
		grow(names);
}
