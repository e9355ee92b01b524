#pragma once
/* The names seen in one archive, by hash with a secret seed, and what kind each was. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tar_seen { SEEN_NOT, SEEN_DIR, SEEN_FILE, SEEN_LINK };

struct tar_names {
	struct tar_name {
		uint64_t hash; /* 0: empty */
		enum tar_seen kind;
	} * slots;
	size_t size, used; /* size is a power of two */
	uint64_t seed[2];
};

void tar_names_init(struct tar_names *names);
void tar_names_done(struct tar_names *names);
/* The first n bytes of name. */
enum tar_seen tar_names_find(const struct tar_names *names, const char *name, size_t n);
void tar_names_put(struct tar_names *names, const char *name, size_t n, enum tar_seen kind);
