/*
 * get: a folder's files as a tar that is made here, of plain files and folders alone: what boxd
 * says is read as lists and bytes, so that there is no archive of the box's to be checked.
 */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "looks.h"
#include "pool.h"
#include "runner.h"
#include "tar.h"

#define GET_BYTES_MAX (256 * INT64_C(1024) * 1024)

struct getting {
	struct looking *l;
	struct blob_writer *writer;
	int64_t left;  /* of GET_BYTES_MAX */
	int64_t wants; /* of the file under way */
	int64_t files, changed;
};

static bool bytes_add(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct getting *g = arg;

	(void)stream;
	/* what has grown is cut where its header says that it ends */
	if ((int64_t)n > g->wants)
		n = (size_t)g->wants;
	g->wants -= (int64_t)n;
	return blob_write(g->writer, data, n, err);
}

/* Zeros in place of what a file has lost meanwhile, and up to the end of its block. */
static bool fill(struct getting *g, int64_t size, struct err *err)
{
	static const char zeros[4096];

	g->changed += g->wants > 0;
	for (int64_t n = g->wants + (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK; n > 0;) {
		size_t part = n < (int64_t)sizeof(zeros) ? (size_t)n : sizeof(zeros);

		if (!blob_write(g->writer, zeros, part, err))
			return false;
		n -= (int64_t)part;
	}
	return true;
}

static bool file_read(struct getting *g, const char *path, struct err *err)
{
	CLEANUP(json) struct json_object *request = json_new_object(), *done = NULL;
	struct looking *l = g->l;

	json_add_text(request, "path", pool_printf(l->r->pool, "%s/%s", look_path(l), path));
	json_add_i64(request, "max_bytes", g->wants);
	if (guest_look(&l->g, WIRE_READ, request, bytes_add, g, &done, l->deadline, err))
		return true;
	/* gone since, or not the caller's to read: its place is filled */
	return err->code == ERR_NOT_FOUND || err->code == ERR_FORBIDDEN || err->code == ERR_INVALID;
}

static bool entry_add(struct getting *g, const struct look_line *line, struct err *err)
{
	CLEANUP(buf) struct buf header = BUF_INIT(16384);
	struct tar_entry e = {.name = line->path};
	const char *kind = "";
	int64_t size = 0, mode = 0, mtime = 0;

	(void)json_get_text(line->o, "kind", &kind);
	(void)json_get_i64(line->o, "size", &size);
	(void)json_get_i64(line->o, "mode", &mode);
	(void)json_get_i64(line->o, "mtime_ms", &mtime);
	if (strcmp(kind, "file") != 0 && strcmp(kind, "dir") != 0)
		return true;
	e.kind = !strcmp(kind, "dir") ? TAR_DIR : TAR_FILE;
	e.size = e.kind == TAR_FILE && size > 0 ? (uint64_t)size : 0;
	e.mode = (unsigned)mode & 0777;
	e.mtime_s = mtime / 1000;
	if ((int64_t)e.size > g->left)
		return err_set(err, ERR_TOO_LARGE, "%.100s: more than %lld bytes in all",
			line->path, (long long)GET_BYTES_MAX);
	g->left -= (int64_t)e.size;
	g->wants = (int64_t)e.size;
	g->files += e.kind == TAR_FILE;
	return (tar_add_header(&header, &e) || err_set(err, ERR_INVALID, "a name too long")) &&
	       blob_write(g->writer, header.data, header.len, err) &&
	       (!g->wants || file_read(g, line->path, err)) && fill(g, (int64_t)e.size, err);
}

static bool all_add(struct getting *g, const struct look_lines *lines, struct err *err)
{
	CLEANUP(buf) struct buf end = BUF_INIT(4096);

	for (size_t i = 0; i < lines->n; i++)
		if (!entry_add(g, &lines->list[i], err))
			return false;
	(void)tar_add_end(&end);
	return blob_write(g->writer, end.data, end.len, err);
}

static bool blob_make(
	struct getting *g, const struct look_lines *lines, struct blob_made *made, struct err *err)
{
	struct runner *r = g->l->r;
	const struct blob_new blob = {
		.account_id = r->job.account_id,
		.kind = BLOB_FILES,
		.file_name = "files.tar",
		/* names and padding, beside the bytes */
		.max_bytes = GET_BYTES_MAX + LOOK_ENTRIES_MAX * INT64_C(8192),
		.fence = &r->job.fence,
	};
	bool ok = blob_open(r->db, &blob, &g->writer, err) && all_add(g, lines, err) &&
		  blob_close(g->writer, made, err);

	blob_writer_free(g->writer);
	return ok;
}

bool look_op_get(struct looking *l, struct json_object *out, struct err *err)
{
	CLEANUP(look_lines) struct look_lines lines = {0};
	CLEANUP(json) struct json_object *request = json_new_object();
	struct getting g = {.l = l, .left = GET_BYTES_MAX};
	struct blob_made made;
	int64_t skipped = 0;
	bool truncated = false;

	json_add_text(request, "path", look_path(l));
	json_add_i64(request, "depth", 64);
	json_add_i64(request, "max_entries", LOOK_ENTRIES_MAX);
	if (!look_lines_get(l, WIRE_LIST, request, &lines, err))
		return false;
	(void)json_get_bool(lines.done, "truncated", &truncated);
	(void)json_get_i64(lines.done, "skipped", &skipped);
	if (truncated)
		return err_set(err, ERR_TOO_LARGE, "more than %d entries: ask for a folder in it",
			LOOK_ENTRIES_MAX);
	if (!blob_make(&g, &lines, &made, err))
		return false;
	for (size_t i = 0; i < lines.n; i++) {
		const char *kind = "";

		(void)json_get_text(lines.list[i].o, "kind", &kind);
		skipped += strcmp(kind, "file") != 0 && strcmp(kind, "dir") != 0;
	}
	json_add_text(out, "path", look_path(l));
	json_add_text(out, "blob", made.name);
	json_add_i64(out, "size", made.size_bytes);
	json_add_text(out, "sha256", made.sha256);
	json_add_i64(out, "files", g.files);
	json_add_i64(out, "changed", g.changed);
	json_add_i64(out, "skipped", skipped);
	return true;
}
