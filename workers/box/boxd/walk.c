/*
 * A tree, entry by entry.
 */
#include "walk.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

/* Names looked at in one call at the most: a folder may be full of what has gone meanwhile. */
#define TRIES 64

void walk_init(struct walk *w, int dir, int depth_max)
{
	memset(w, 0, sizeof(*w));
	buf_init(&w->path, FILES_PATH_MAX);
	w->depth_max = depth_max < WALK_DEPTH_MAX ? depth_max : WALK_DEPTH_MAX;
	w->levels[0].dir = fdopendir(dir);
	if (w->levels[0].dir)
		w->depth = 1;
	else
		(void)close(dir);
}

void walk_done(struct walk *w)
{
	while (w->depth)
		(void)closedir(w->levels[--w->depth].dir);
	buf_done(&w->path);
}

void walk_prune(struct walk *w)
{
	w->descend = false;
}

static void folder_enter(struct walk *w)
{
	const struct walk_level *l = &w->levels[w->depth - 1];
	const char *name = w->path.data + l->path_len + (l->path_len ? 1 : 0);
	DIR *dir;
	int fd;

	w->descend = false;
	if (w->depth == w->depth_max) {
		/* of a depth that was asked for, it is no loss */
		w->skipped += w->depth == WALK_DEPTH_MAX;
		return;
	}
	fd = files_open_inside(dirfd(l->dir), name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		w->skipped++;
		return;
	}
	w->levels[w->depth++] = (struct walk_level){dir, w->path.len};
}

/* Puts name behind the level's path; false where that would be too long. */
static bool path_set(struct walk *w, const char *name)
{
	w->path.len = w->levels[w->depth - 1].path_len;
	if (w->path.cap)
		w->path.data[w->path.len] = '\0';
	w->path.failed = false;
	return (!w->path.len || buf_addc(&w->path, '/')) && buf_adds(&w->path, name);
}

bool walk_next(struct walk *w, struct walk_entry *e, bool *got)
{
	*got = false;
	if (w->descend)
		folder_enter(w);
	for (int i = 0; i < TRIES && w->depth; i++) {
		struct walk_level *l = &w->levels[w->depth - 1];
		const struct dirent *d = readdir(l->dir);

		if (!d) {
			(void)closedir(l->dir);
			w->depth--;
			continue;
		}
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (w->entries == WALK_ENTRIES_MAX) {
			w->cut = true;
			return false;
		}
		w->entries++;
		if (!path_set(w, d->d_name) ||
			fstatat(dirfd(l->dir), d->d_name, &e->st, AT_SYMLINK_NOFOLLOW)) {
			w->skipped++;
			continue;
		}
		e->at = dirfd(l->dir);
		e->name = w->path.data + l->path_len + (l->path_len ? 1 : 0);
		w->descend = S_ISDIR(e->st.st_mode);
		*got = true;
		return true;
	}
	return w->depth > 0;
}
