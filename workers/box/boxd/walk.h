#pragma once
/*
 * A tree below an open folder, entry by entry, each folder before what lies in it and in the order
 * the file system gives. No recursion, no link followed, nothing on another mount; bounded in
 * depth, entries and the length of a path. What is passed over is counted.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define WALK_DEPTH_MAX 64
#define WALK_ENTRIES_MAX 200000

struct walk_level {
	DIR *dir;
	size_t path_len; /* of the path without this level's child */
};

struct walk {
	struct walk_level levels[WALK_DEPTH_MAX];
	int depth, depth_max;
	bool descend;	 /* into the entry given last */
	bool cut;	 /* there was more than WALK_ENTRIES_MAX */
	struct buf path; /* of the entry given last, from the top; may hold any byte but NUL */
	uint64_t entries, skipped;
};

struct walk_entry {
	int at;		  /* the folder it lies in */
	const char *name; /* in it */
	struct stat st;
};

/* Takes dir, an open folder, over. depth_max 1: what lies in it and no more. */
void walk_init(struct walk *w, int dir, int depth_max);
void walk_done(struct walk *w);
/* The next entry; false at the end. Does a bounded amount of work, so that it may come back with
 * *got false and more to come. */
bool walk_next(struct walk *w, struct walk_entry *e, bool *got);
/* The folder given last is not gone into. */
void walk_prune(struct walk *w);
