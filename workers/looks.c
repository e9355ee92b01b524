/*
 * list, read and search; and what all looks share.
 */
#include "looks.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

/* 10,000 lines with paths as long as paths are. */
#define LINES_MAX (16u << 20)
#define READ_ANSWER_MAX (256 * 1024)

void cleanup_look_lines(struct look_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		json_free(lines->list[i].o);
	json_free(lines->done);
}

static bool keep(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	(void)stream;
	return buf_add(arg, data, n) ||
	       err_set(err, ERR_UPSTREAM, "the box says more than it was asked for");
}

/* Relative, and down: what boxd says of a path goes back to it, and into archives. */
static bool path_is_inside(const char *path)
{
	size_t n;

	for (const char *p = path;; p += n + 1) {
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (!p[n])
			return true;
	}
}

static int by_path(const void *a, const void *b)
{
	const struct look_line *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static bool line_take(struct look_lines *out, const char *text, size_t n, struct err *err)
{
	struct look_line line = {0};

	if (out->n >= LOOK_ENTRIES_MAX || !json_parse(text, n, &line.o, err) ||
		!json_get_text(line.o, "path", &line.path) || !path_is_inside(line.path)) {
		json_free(line.o);
		(void)err_set(err, ERR_UPSTREAM, "a line of the box that cannot be");
		return err_advise(err, "protocol", NULL);
	}
	(void)json_get_i64(line.o, "line", &line.number);
	out->list[out->n++] = line;
	return true;
}

bool look_lines_get(struct looking *l, enum wire_type type, struct json_object *request,
	struct look_lines *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(LINES_MAX);
	const char *p, *end;

	if (!guest_look(&l->g, type, request, keep, &text, &out->done, l->deadline, err))
		return false;
	out->list = POOL_ARRAY(l->r->pool, struct look_line, LOOK_ENTRIES_MAX);
	for (p = text.data; (end = memchr(p, '\n', text.len - (size_t)(p - text.data)));
		p = end + 1)
		if (!line_take(out, p, (size_t)(end - p), err))
			return false;
	qsort(out->list, out->n, sizeof(*out->list), by_path);
	return true;
}

const char *look_text(const struct looking *l, const char *key, const char *absent)
{
	const char *s = absent;

	(void)json_get_text(l->request, key, &s);
	return s;
}

int64_t look_number(const struct looking *l, const char *key, int64_t absent)
{
	int64_t n = absent;

	(void)json_get_i64(l->request, key, &n);
	return n;
}

const char *look_path(const struct looking *l)
{
	const char *path = look_text(l, "path", "");

	if (*path == '/')
		return path;
	return *path ? pool_printf(l->r->pool, "%s/%s", l->trees.cwd, path) : l->trees.cwd;
}

/* What boxd says at the end, as far as it is wanted. */
static void done_copy(struct json_object *out, struct json_object *done, const char *const *keys)
{
	bool truncated = false;
	int64_t n;

	for (size_t i = 0; keys[i]; i++)
		if (json_get_i64(done, keys[i], &n))
			json_add_i64(out, keys[i], n);
	(void)json_get_bool(done, "truncated", &truncated);
	json_add_bool(out, "truncated", truncated);
}

static void time_add(struct json_object *out, struct json_object *from)
{
	char text[TIME_TEXT_SIZE];
	int64_t ms;

	/* a year of four digits */
	if (!json_get_i64(from, "mtime_ms", &ms) || ms < 0 || ms > INT64_C(253402300799999))
		return;
	time_text(ms, text);
	json_add_text(out, "modified_at", text);
}

static struct json_object *entry_of(const struct look_line *line)
{
	struct json_object *o = json_new_object();
	const char *s;
	int64_t n;

	json_add_text(o, "path", line->path);
	if (json_get_text(line->o, "kind", &s))
		json_add_text(o, "kind", s);
	if (json_get_i64(line->o, "size", &n))
		json_add_i64(o, "size", n);
	if (json_get_i64(line->o, "mode", &n))
		json_add_text(o, "mode",
			(char[8]){(char)('0' + (n >> 9 & 7)), (char)('0' + (n >> 6 & 7)),
				(char)('0' + (n >> 3 & 7)), (char)('0' + (n & 7))});
	time_add(o, line->o);
	if (json_get_text(line->o, "target", &s))
		json_add_text(o, "target", s);
	return o;
}

bool look_op_list(struct looking *l, struct json_object *out, struct err *err)
{
	static const char *const keys[] = {"skipped", NULL};
	CLEANUP(look_lines) struct look_lines lines = {0};
	CLEANUP(json) struct json_object *request = json_new_object();
	struct json_object *entries;
	size_t offset = (size_t)look_number(l, "offset", 0), used = 0, i;
	size_t limit = (size_t)look_number(l, "limit", 200);

	json_add_text(request, "path", look_path(l));
	json_add_i64(request, "depth", look_number(l, "depth", 1));
	json_add_i64(request, "max_entries", LOOK_ENTRIES_MAX);
	if (!look_lines_get(l, WIRE_LIST, request, &lines, err))
		return false;
	entries = json_new_array();
	json_add_text(out, "path", look_path(l));
	for (i = offset; i < lines.n && i - offset < limit && used < LOOK_ANSWER_MAX; i++) {
		used += strlen(lines.list[i].path) + 200;
		json_push(entries, entry_of(&lines.list[i]));
	}
	json_add(out, "entries", entries);
	json_add_i64(out, "total", (int64_t)lines.n);
	if (i < lines.n)
		json_add_i64(out, "next_offset", (int64_t)i);
	done_copy(out, lines.done, keys);
	return true;
}

bool look_bytes(struct looking *l, const char *path, const char *user, int64_t offset, int64_t max,
	struct buf *out, struct json_object **done, struct err *err)
{
	CLEANUP(json) struct json_object *request = json_new_object();

	json_add_text(request, "path", path);
	json_add_text(request, "user", user);
	json_add_i64(request, "offset", offset);
	json_add_i64(request, "max_bytes", max);
	return guest_look(&l->g, WIRE_READ, request, keep, out, done, l->deadline, err);
}

/* The bytes at the end that are a character only with what follows. */
static size_t half_character(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return c >= (back == 1 ? 0xc0 : back == 2 ? 0xe0 : 0xf0) ? back : 0;
	}
	return 0;
}

static void content_add(struct looking *l, struct json_object *out, struct buf *bytes, bool more)
{
	CLEANUP(buf) struct buf encoded = BUF_INIT(READ_ANSWER_MAX * 2);
	bool base64 = !strcmp(look_text(l, "encoding", "text"), "base64");
	size_t cut = more && bytes->len > 3 ? half_character(bytes->data, bytes->len) : 0;
	bool is_text =
		!memchr(bytes->data, 0, bytes->len) && text_is_utf8(bytes->data, bytes->len - cut);

	json_add_bool(out, "binary", !is_text);
	if (base64) {
		base64_add(&encoded, bytes->data, bytes->len);
		json_add_text(out, "encoding", "base64");
		json_add_text_n(out, "content", encoded.data, encoded.len);
	} else if (is_text) {
		bytes->len -= cut;
		json_add_text(out, "encoding", "text");
		json_add_text_n(out, "content", bytes->data, bytes->len);
	} else {
		json_add_text(out, "content", NULL);
	}
	json_add_i64(out, "bytes", (int64_t)bytes->len);
}

bool look_op_read(struct looking *l, struct json_object *out, struct err *err)
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(READ_ANSWER_MAX);
	CLEANUP(json) struct json_object *done = NULL;
	int64_t offset = look_number(l, "offset", 0), size = 0;
	bool changed = false;

	if (!look_bytes(l, look_path(l), "agent", offset, look_number(l, "max_bytes", 65536),
		    &bytes, &done, err))
		return false;
	(void)json_get_i64(done, "size", &size);
	(void)json_get_bool(done, "changed", &changed);
	json_add_text(out, "path", look_path(l));
	json_add_i64(out, "size", size);
	time_add(out, done);
	json_add_i64(out, "offset", offset);
	content_add(l, out, &bytes, offset + (int64_t)bytes.len < size);
	if (offset + (int64_t)bytes.len < size)
		json_add_i64(out, "next_offset", offset + (int64_t)bytes.len);
	json_add_bool(out, "changed", changed);
	return true;
}

bool look_op_search(struct looking *l, struct json_object *out, struct err *err)
{
	static const char *const keys[] = {"files", "binary", "skipped", NULL};
	CLEANUP(look_lines) struct look_lines lines = {0};
	CLEANUP(json) struct json_object *request = json_new_object();
	struct json_object *matches = NULL;
	bool ignore_case = false;

	(void)json_get_bool(l->request, "ignore_case", &ignore_case);
	json_add_text(request, "path", look_path(l));
	json_add_text(request, "text", look_text(l, "text", ""));
	json_add_bool(request, "ignore_case", ignore_case);
	json_add_i64(request, "max_matches", look_number(l, "limit", 200));
	if (!look_lines_get(l, WIRE_SEARCH, request, &lines, err))
		return false;
	matches = json_new_array();
	for (size_t i = 0; i < lines.n; i++) {
		struct json_object *o = json_new_object();
		const char *text = "";
		int64_t column = 1;

		(void)json_get_text(lines.list[i].o, "text", &text);
		(void)json_get_i64(lines.list[i].o, "column", &column);
		json_add_text(o, "path", lines.list[i].path);
		json_add_i64(o, "line", lines.list[i].number);
		json_add_i64(o, "column", column);
		json_add_text(o, "text", text);
		json_push(matches, o);
	}
	json_add_text(out, "path", look_path(l));
	json_add(out, "matches", matches);
	done_copy(out, lines.done, keys);
	return true;
}
