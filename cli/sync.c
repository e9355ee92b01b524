/*
 * What of an enabled directory goes into its copy: the rules, and the report. The walk, with its
 * care about links, is tree.c's.
 */
#include "sync.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "exclude.h"
#include "json.h"
#include "pool.h"
#include "sync_ignore.h"
#include "text.h"

struct rules {
	struct pool *pool;
	const struct ignore *ignore; /* NULL: the person wrote none */
	const char *below; /* of the place: patterns are relative to the enabled directory */
	struct sync_copy *copy;
	struct sync_skip **end;
};

/* Why nobody gets this path, whatever the person's own rules say; by its last part. */
static const char *never(const char *path, bool is_folder)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (strcmp(name, ".git") == 0)
		return "git's own";
	if (is_folder)
		return exclude_is_made(name) ? "made by a tool" : exclude_folder_reason(name);
	return exclude_is_npmrc(name) ? "registry credentials" : exclude_reason(name);
}

/* path: relative to the enabled directory. */
static const char *judge(const struct rules *r, const char *path, bool is_folder)
{
	const char *why = never(path, is_folder);
	int line;

	if (why || !r->ignore)
		return why;
	line = ignore_line(r->ignore, path, is_folder);
	return line ? pool_printf(r->pool, "%s line %d", IGNORE_FILE, line) : NULL;
}

static const char *skip(void *arg, const char *path, bool is_folder)
{
	const struct rules *r = arg;

	return judge(
		r, *r->below ? pool_printf(r->pool, "%s/%s", r->below, path) : path, is_folder);
}

static void note(void *arg, const char *path, const char *why)
{
	struct rules *r = arg;
	struct sync_skip *s = POOL_NEW(r->pool, struct sync_skip);

	s->path = text_is_utf8(path, strlen(path)) ? pool_strdup(r->pool, path)
						   : cli_sane(r->pool, path);
	s->why = pool_strdup(r->pool, why);
	*r->end = s;
	r->end = &s->next;
	r->copy->nskips++;
}

/* A whole text file below top, which must be no link and lie behind none. ERR_NOT_FOUND where there
 * is none. */
static bool read_text(
	struct pool *pool, int top, const char *name, size_t max, char **text, struct err *err)
{
	CLEANUP(fd) int fd = tree_open(top, name, O_RDONLY | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "no file %.120s", name);
	if (fd < 0 || fstat(fd, &st))
		return err_errno(err, ERR_INVALID, "%.120s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.120s is not a file", name);
	*text = pool_alloc(pool, max + 1);
	n = pread(fd, *text, max + 1, 0);
	if (n < 0)
		return err_errno(err, ERR_INVALID, "%.120s", name);
	if ((size_t)n > max)
		return err_set(err, ERR_TOO_LARGE, "%.120s is larger than %zu bytes", name, max);
	(*text)[n] = '\0';
	if (memchr(*text, '\0', (size_t)n) || !text_is_utf8(*text, (size_t)n))
		return err_set(err, ERR_INVALID, "%.120s is not UTF-8 text", name);
	return true;
}

static bool rules_load(
	struct pool *pool, const struct sync_place *place, struct rules *r, struct err *err)
{
	struct ignore *ignore;
	char *text;

	*r = (struct rules){.pool = pool, .below = place->below};
	if (!read_text(pool, place->root, IGNORE_FILE, IGNORE_MAX, &text, err))
		return err->code == ERR_NOT_FOUND;
	if (!ignore_parse(pool, text, &ignore, err))
		return false;
	r->ignore = ignore;
	return true;
}

/* Each folder from the enabled directory down to path, and path itself: what a rule leaves out is
 * not to be had by asking for something within. */
static bool may_leave(const struct rules *r, const char *path, bool is_folder, struct err *err)
{
	for (size_t n = 0; path[n];) {
		const char *part, *why;

		n += strcspn(path + n, "/");
		part = pool_memdup(r->pool, path, n);
		why = judge(r, part, path[n] || is_folder);
		if (why) {
			(void)err_set(err, ERR_FORBIDDEN, "%.150s is never copied: %s", part, why);
			return err_advise(err, "sync_excluded", NULL);
		}
		n += path[n] == '/';
	}
	return true;
}

bool sync_pack(struct pool *pool, const struct sync_place *place, int fd, struct sync_copy *out,
	struct err *err)
{
	struct sync_copy copy = {0};
	struct rules r;
	struct tree_options opt = {.dir = place->path,
		.max_bytes = SYNC_MAX_BYTES,
		.max_files = SYNC_MAX_FILES,
		.skip = skip,
		.note = note,
		.note_arg = &r};

	if (!rules_load(pool, place, &r, err) || !may_leave(&r, place->below, true, err))
		return false;
	r.copy = &copy;
	r.end = &copy.skips;
	if (!tree_pack_dir(pool, &opt, place->dir, fd, &copy.packed, err)) {
		if (err->code == ERR_TOO_LARGE)
			(void)err_advise(err, "sync_too_large",
				"sync a smaller directory, or name what is not needed in "
				"its " IGNORE_FILE);
		return false;
	}
	*out = copy;
	return true;
}

/* A relative path that says by its text where it leads: no empty part, no . and no .. */
static bool is_straight(const char *path)
{
	do {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && memcmp(path, "..", 2) == 0))
			return false;
		path += n;
	} while (*path && *++path != '\0');
	return path[-1] != '/';
}

bool sync_read(struct pool *pool, const struct sync_place *place, const char *name, size_t max,
	char **text, struct err *err)
{
	struct rules r;
	const char *path;

	if (!is_straight(name))
		return err_set(err, ERR_INVALID,
			"%.120s: give a file's path relative to the synced directory", name);
	path = *place->below ? pool_printf(pool, "%s/%s", place->below, name) : name;
	return rules_load(pool, place, &r, err) && may_leave(&r, path, false, err) &&
	       read_text(pool, place->dir, name, max, text, err);
}

struct json_object *sync_report(const struct sync_copy *copy)
{
	struct json_object *o = json_new_object(), *list = json_new_array();

	json_add_i64(o, "files", copy->packed.files);
	json_add_i64(o, "size_bytes", copy->packed.size_bytes);
	for (const struct sync_skip *s = copy->skips; s; s = s->next) {
		struct json_object *row = json_new_object();

		json_add_text(row, "path", s->path);
		json_add_text(row, "reason", s->why);
		json_push(list, row);
	}
	json_add(o, "skipped", list);
	return o;
}
