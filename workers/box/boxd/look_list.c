/*
 * LIST, READ and SEARCH.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "boxd.h"
#include "boxjson.h"
#include "buf.h"
#include "files.h"
#include "look.h"
#include "pool.h"
#include "text.h"

#define LIST_MAX 10000
#define MATCHES_MAX 1000
#define READ_MAX (256u << 20)

static int64_t mtime_ms(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* A look at a folder, which is open. */
static struct look *folder_look(
	struct boxd *b, uint32_t stream, const struct boxjson *in, int64_t depth, struct err *err)
{
	struct look *l;
	const char *path;
	int fd;

	if (!files_path(in, "path", &path, err))
		return NULL;
	l = look_new(b, stream, in, err);
	if (!l)
		return NULL;
	fd = look_open(l, path, false, err);
	if (fd < 0) {
		look_free(l);
		return NULL;
	}
	walk_init(&l->walk, fd, (int)depth);
	return l;
}

static void entry_write(struct look *l, const struct walk_entry *e)
{
	char target[1024];
	ssize_t n = S_ISLNK(e->st.st_mode) ? readlinkat(e->at, e->name, target, sizeof(target) - 1)
					   : -1;

	look_line(l);
	boxjson_add_text(&l->out, "kind", files_kind(e->st.st_mode));
	boxjson_add_i64(&l->out, "size", e->st.st_size);
	boxjson_add_i64(&l->out, "mode", e->st.st_mode & 07777);
	boxjson_add_i64(&l->out, "mtime_ms", mtime_ms(&e->st));
	if (n >= 0) {
		target[n] = '\0';
		boxjson_add_text(&l->out, "target", target);
	}
	look_line_end(l);
}

static enum look_state list_step(struct look *l, struct err *err)
{
	struct walk_entry e;
	bool got, more;

	(void)err;
	look_as(l, l->uid);
	more = walk_next(&l->walk, &e, &got);
	if (got && l->left)
		entry_write(l, &e);
	look_as_boxd(l);
	if (got && l->left-- == 0) {
		l->truncated = true;
		more = false;
	}
	if (more)
		return LOOK_MORE;
	boxjson_add_i64(&l->done, "entries", l->max - (l->left < 0 ? 0 : l->left));
	return LOOK_OVER;
}

bool look_list(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {"path", "user", "depth", "max_entries", NULL};
	int64_t depth, max;
	struct look *l;

	if (!boxjson_only(in, known, err) ||
		!boxjson_i64(in, "depth", 1, WALK_DEPTH_MAX, 1, &depth, err) ||
		!boxjson_i64(in, "max_entries", 1, LIST_MAX, LIST_MAX, &max, err))
		return false;
	l = folder_look(b, stream, in, depth, err);
	if (!l)
		return false;
	l->max = l->left = max;
	look_begin(l, list_step);
	return true;
}

static enum look_state read_step(struct look *l, struct err *err)
{
	size_t want = l->left < LOOK_CHUNK ? (size_t)l->left : LOOK_CHUNK, n = 0;
	char *to = buf_room(&l->out, LOOK_CHUNK);
	struct stat st;

	(void)err;
	if (want && to)
		n = look_file_read(&l->file, to, want);
	buf_grew(&l->out, n);
	l->left -= (int64_t)n;
	if (n && l->left)
		return LOOK_MORE;
	if (fstat(l->file.fd, &st))
		st = l->st;
	boxjson_add_i64(&l->done, "bytes", l->max - l->left);
	boxjson_add_i64(&l->done, "size", st.st_size);
	boxjson_add_i64(&l->done, "mode", st.st_mode & 07777);
	boxjson_add_i64(&l->done, "mtime_ms", mtime_ms(&st));
	boxjson_add_bool(&l->done, "changed",
		st.st_size != l->st.st_size || st.st_mtim.tv_sec != l->st.st_mtim.tv_sec ||
			st.st_mtim.tv_nsec != l->st.st_mtim.tv_nsec);
	return LOOK_OVER;
}

bool look_read(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {"path", "user", "offset", "max_bytes", NULL};
	int64_t offset, max;
	const char *path;
	struct look *l;

	if (!boxjson_only(in, known, err) || !files_path(in, "path", &path, err) ||
		!boxjson_i64(in, "offset", 0, INT64_MAX, 0, &offset, err) ||
		!boxjson_i64(in, "max_bytes", 1, READ_MAX, READ_MAX, &max, err))
		return false;
	l = look_new(b, stream, in, err);
	if (!l)
		return false;
	l->file.fd = look_open(l, path, true, err);
	if (l->file.fd < 0 || fstat(l->file.fd, &l->st)) {
		look_free(l);
		return false;
	}
	l->file.at = (uint64_t)offset;
	l->max = l->left = max;
	look_begin(l, read_step);
	return true;
}

/* Where text stands in a line; NULL: nowhere. */
static const char *line_find(const struct look *l, const char *line, size_t n)
{
	const char *end = line + n;

	if (!l->ignore_case)
		return memmem(line, n, l->text, l->text_len);
	for (const char *p = line; (size_t)(end - p) >= l->text_len; p++)
		if (!strncasecmp(p, l->text, l->text_len))
			return p;
	return NULL;
}

static void line_search(struct look *l, const char *line, size_t n)
{
	const char *found = line_find(l, line, n);
	size_t from, shown;

	if (!found || l->left-- <= 0)
		return;
	/* of a long line, what is around the match */
	from = (size_t)(found - line) > LOOK_LINE_MAX / 2 ? (size_t)(found - line) - 100 : 0;
	shown = n - from < LOOK_LINE_MAX ? n - from : LOOK_LINE_MAX;
	look_line(l);
	boxjson_add_u64(&l->out, "line", l->file.line);
	boxjson_add_u64(&l->out, "column", (uint64_t)(found - line) + 1);
	boxjson_add_key(&l->out, "text");
	boxjson_add_quoted(&l->out, line + from, shown);
	look_line_end(l);
}

/* A chunk of a file, by lines. What is left of the last one is kept for the next chunk. */
static void chunk_search(struct look *l, const char *p, size_t n)
{
	struct look_file *f = &l->file;

	while (n && l->left >= 0) {
		const char *end = memchr(p, '\n', n);
		size_t part = end ? (size_t)(end - p) : n;

		if (f->carry.len || !end) {
			size_t room = f->carry.max - f->carry.len;

			(void)buf_add(&f->carry, p, part < room ? part : room);
			if (end) {
				line_search(l, f->carry.data, f->carry.len);
				buf_reset(&f->carry);
			}
		} else {
			line_search(l, p, part);
		}
		if (!end)
			break;
		f->line++;
		p += part + 1;
		n -= part + 1;
	}
}

static void file_search(struct look *l)
{
	char chunk[LOOK_CHUNK];
	size_t n = l->file.at < LOOK_FILE_MAX ? look_file_read(&l->file, chunk, sizeof(chunk)) : 0;

	if (n && memchr(chunk, 0, n)) {
		l->binary++;
		look_file_end(&l->file);
	} else if (n) {
		chunk_search(l, chunk, n);
	} else {
		if (l->file.carry.len)
			line_search(l, l->file.carry.data, l->file.carry.len);
		l->walk.skipped += l->file.at >= LOOK_FILE_MAX;
		look_file_end(&l->file);
	}
}

static enum look_state search_step(struct look *l, struct err *err)
{
	struct walk_entry e;
	bool got = false, more = true;

	(void)err;
	if (l->file.fd >= 0) {
		file_search(l);
	} else {
		look_as(l, l->uid);
		more = walk_next(&l->walk, &e, &got);
		if (got && S_ISDIR(e.st.st_mode) && !strcmp(e.name, ".git"))
			walk_prune(&l->walk);
		if (got && S_ISREG(e.st.st_mode)) {
			l->file.fd = look_open_at(e.at, e.name);
			l->files += l->file.fd >= 0;
			l->walk.skipped += l->file.fd < 0;
		}
		look_as_boxd(l);
	}
	if (l->left < 0) {
		l->truncated = true;
		more = false;
	}
	if (more)
		return LOOK_MORE;
	boxjson_add_u64(&l->done, "files", l->files);
	boxjson_add_u64(&l->done, "binary", l->binary);
	boxjson_add_i64(&l->done, "matches", l->max - (l->left < 0 ? 0 : l->left));
	return LOOK_OVER;
}

bool look_search(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err)
{
	static const char *const known[] = {
		"path", "user", "text", "ignore_case", "max_matches", NULL};
	bool ignore_case;
	const char *text;
	struct look *l;
	int64_t max;

	if (!boxjson_only(in, known, err) || !boxjson_text(in, "text", "", &text, err) ||
		!boxjson_bool(in, "ignore_case", false, &ignore_case, err) ||
		!boxjson_i64(in, "max_matches", 1, MATCHES_MAX, MATCHES_MAX, &max, err))
		return false;
	if (!*text || strlen(text) > LOOK_TEXT_MAX || strchr(text, '\n'))
		return err_set(err, ERR_INVALID,
			"text: 1 to %d bytes without a line end are wanted", LOOK_TEXT_MAX);
	l = folder_look(b, stream, in, WALK_DEPTH_MAX, err);
	if (!l)
		return false;
	l->text = mem_strdup(text);
	l->text_len = strlen(text);
	l->ignore_case = ignore_case;
	l->max = l->left = max;
	look_begin(l, search_step);
	return true;
}
