/*
 * DIFF: which entries of a folder differ from those of its base, byte by byte and not by time or
 * size alone, since both are the box's to set. First the folder is walked and each entry looked up
 * in the base, then the base is walked for what is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "cleanup.h"
#include "files.h"
#include "look.h"
#include "pool.h"

#define CHANGES_MAX 10000

static void change_write(
	struct look *l, const char *change, const struct stat *now, const struct stat *before)
{
	if (l->left-- <= 0)
		return;
	look_line(l);
	boxjson_add_text(&l->out, "change", change);
	if (now) {
		boxjson_add_text(&l->out, "kind", files_kind(now->st_mode));
		boxjson_add_i64(&l->out, "size", now->st_size);
		boxjson_add_i64(&l->out, "mode", now->st_mode & 0777);
	}
	if (before) {
		boxjson_add_text(&l->out, "base_kind", files_kind(before->st_mode));
		boxjson_add_i64(&l->out, "base_size", before->st_size);
		boxjson_add_i64(&l->out, "base_mode", before->st_mode & 0777);
	}
	look_line_end(l);
}

/* What lies under the walk's path in another tree: an O_PATH descriptor, -1 where nothing does. */
static int other_open(const struct look *l, int top, uid_t uid, struct stat *st)
{
	int fd;

	look_as(l, uid);
	fd = files_open_inside(top, l->walk.path.data, O_PATH | O_NOFOLLOW);
	look_as_boxd(l);
	if (fd >= 0 && fstat(fd, st)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static bool links_differ(int a, int b)
{
	char one[4096], two[4096];
	ssize_t n = readlinkat(a, "", one, sizeof(one)), m = readlinkat(b, "", two, sizeof(two));

	return n < 0 || n != m || memcmp(one, two, (size_t)n);
}

/* The bits that a tree is delivered with. */
static bool modes_differ(const struct stat *a, const struct stat *b)
{
	return S_ISREG(a->st_mode) && (a->st_mode & 0100) != (b->st_mode & 0100);
}

static void compare_begin(struct look *l, const struct walk_entry *e)
{
	look_as(l, l->uid);
	l->file.fd = look_open_at(e->at, e->name);
	look_as_boxd(l);
	look_as(l, UID_GIT);
	l->base_file.fd = look_open_at(l->base, l->walk.path.data);
	look_as_boxd(l);
	if (l->file.fd < 0 || l->base_file.fd < 0) {
		/* it cannot be said to be the same */
		change_write(l, "unreadable", &l->entry, &l->base_entry);
		look_file_end(&l->file);
		look_file_end(&l->base_file);
		return;
	}
	l->comparing = true;
}

static void compare_step(struct look *l)
{
	char one[LOOK_CHUNK], two[LOOK_CHUNK];
	size_t n = look_file_read(&l->file, one, sizeof(one));
	size_t m = look_file_read(&l->base_file, two, sizeof(two));
	bool same = n == m && !memcmp(one, two, n);

	if (same && n)
		return;
	if (!same)
		change_write(l, "modified", &l->entry, &l->base_entry);
	else if (modes_differ(&l->entry, &l->base_entry))
		change_write(l, "mode", &l->entry, &l->base_entry);
	l->comparing = false;
	look_file_end(&l->file);
	look_file_end(&l->base_file);
}

static void entry_compare(struct look *l, const struct walk_entry *e)
{
	CLEANUP(fd) int base = -1;
	CLEANUP(fd) int now = -1;

	l->entry = e->st;
	base = other_open(l, l->base, UID_GIT, &l->base_entry);
	if (base < 0) {
		if (!S_ISDIR(e->st.st_mode))
			change_write(l, "added", &e->st, NULL);
	} else if ((e->st.st_mode ^ l->base_entry.st_mode) & S_IFMT) {
		change_write(l, "kind", &e->st, &l->base_entry);
	} else if (S_ISREG(e->st.st_mode) && e->st.st_size != l->base_entry.st_size) {
		change_write(l, "modified", &e->st, &l->base_entry);
	} else if (S_ISREG(e->st.st_mode)) {
		compare_begin(l, e);
	} else if (S_ISLNK(e->st.st_mode)) {
		struct stat st;

		now = other_open(l, l->top, l->uid, &st);
		if (now < 0 || links_differ(now, base))
			change_write(l, "modified", &e->st, &l->base_entry);
	}
}

static void entry_gone(struct look *l, const struct walk_entry *e)
{
	CLEANUP(fd) int now = -1;
	struct stat st;

	if (S_ISDIR(e->st.st_mode))
		return;
	now = other_open(l, l->top, l->uid, &st);
	if (now < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		change_write(l, "removed", NULL, &e->st);
}

/* From the first walk to the second; false: that was the second. */
static bool walk_turn(struct look *l)
{
	uint64_t skipped = l->walk.skipped;
	bool cut = l->walk.cut;
	int fd;

	if (l->in_base)
		return false;
	l->in_base = true;
	look_as(l, UID_GIT);
	fd = files_open_inside(l->base, ".", O_RDONLY | O_DIRECTORY);
	look_as_boxd(l);
	if (fd < 0)
		return false;
	walk_done(&l->walk);
	walk_init(&l->walk, fd, WALK_DEPTH_MAX);
	l->walk.skipped = skipped;
	l->truncated |= cut;
	return true;
}

static enum look_state diff_step(struct look *l, struct err *err)
{
	struct walk_entry e;
	bool got = false, more = true;

	(void)err;
	if (l->comparing) {
		compare_step(l);
	} else {
		look_as(l, l->in_base ? UID_GIT : l->uid);
		more = walk_next(&l->walk, &e, &got);
		look_as_boxd(l);
		if (got && l->in_base)
			entry_gone(l, &e);
		else if (got)
			entry_compare(l, &e);
		if (!more)
			more = walk_turn(l);
	}
	if (l->left < 0) {
		l->truncated = true;
		more = false;
	}
	if (more)
		return LOOK_MORE;
	boxjson_add_i64(&l->done, "changes", l->max - (l->left < 0 ? 0 : l->left));
	return LOOK_OVER;
}

static int base_open(struct look *l, const char *path, struct err *err)
{
	uid_t uid = l->uid;
	int fd;

	l->uid = UID_GIT;
	fd = look_open(l, path, false, err);
	l->uid = uid;
	return fd;
}

bool look_diff(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {"path", "base", "max_changes", NULL};
	const char *path, *base;
	struct look *l;
	int64_t max;
	int fd;

	if (!boxjson_only(in, known, err) || !files_path(in, "path", &path, err) ||
		!files_path(in, "base", &base, err) ||
		!boxjson_i64(in, "max_changes", 1, CHANGES_MAX, CHANGES_MAX, &max, err))
		return false;
	l = look_new(b, stream, in, err);
	if (!l)
		return false;
	l->base = base_open(l, base, err);
	l->top = l->base < 0 ? -1 : look_open(l, path, false, err);
	fd = l->top < 0 ? -1 : fcntl(l->top, F_DUPFD_CLOEXEC, 0);
	if (fd < 0) {
		look_free(l);
		return false;
	}
	walk_init(&l->walk, fd, WALK_DEPTH_MAX);
	l->max = l->left = max;
	look_begin(l, diff_step);
	return true;
}
