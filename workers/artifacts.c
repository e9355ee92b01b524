/*
 * Reading /artifacts out of a box. The strict tar reader refuses what is not a plain file, folder
 * or link; links and folders are passed over here, and each file is streamed into a blob.
 */
#include "artifacts.h"

#include <string.h>

#include "blob.h"
#include "cleanup.h"
#include "guest.h"
#include "pool.h"
#include "runner.h"
#include "tar.h"
#include "text.h"

struct taking {
	struct guest *g;
	struct blob_new blob;
	struct blob_writer *writer;
	struct tar_reader *reader;
	int64_t count;
};

/* The path as one name that is fit for Content-Disposition: "out/a b.txt" is "out_a_b.txt". */
static const char *file_name(struct pool *pool, const char *path)
{
	size_t n = strlen(path), skip = n > 120 ? n - 120 : 0;
	char *name = pool_strdup(pool, path + skip);

	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			    (*p >= '0' && *p <= '9') || *p == '.' || *p == '-'))
			*p = '_';
	return text_is_name(name) ? name : "file";
}

static bool on_entry(void *arg, const struct tar_entry *e, struct err *err)
{
	struct taking *t = arg;

	if (e->kind != TAR_FILE)
		return true;
	if (++t->count > ARTIFACTS_MAX)
		return err_set(
			err, ERR_TOO_LARGE, "more than %d files in /artifacts", ARTIFACTS_MAX);
	t->blob.file_name = file_name(t->g->r->pool, e->name);
	return blob_open(t->g->r->db, &t->blob, &t->writer, err);
}

static bool on_data(void *arg, const void *data, size_t n, struct err *err)
{
	struct taking *t = arg;

	return !t->writer || blob_write(t->writer, data, n, err);
}

static bool on_end(void *arg, struct err *err)
{
	struct taking *t = arg;
	struct blob_made made;
	/* every turn and the teardown save the whole folder: what has not changed is not kept twice
	 */
	bool ok = !t->writer || (blob_close(t->writer, &made, err) &&
					blob_drop_repeat(t->g->r->db, made.id, err));

	blob_writer_free(t->writer);
	t->writer = NULL;
	return ok;
}

static bool on_bytes(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct taking *t = arg;

	(void)stream;
	return tar_reader_push(t->reader, data, n, err);
}

bool artifacts_save(struct guest *g, const struct blob_new *like, int64_t deadline, int64_t *count,
	struct err *err)
{
	struct taking t = {.g = g, .blob = *like};
	struct tar_sink sink = {.entry = on_entry, .data = on_data, .end = on_end, .arg = &t};
	struct tar_limits limits = tar_limits_default;
	bool ok;

	t.blob.kind = BLOB_ARTIFACT;
	limits.file_bytes = (uint64_t)like->max_bytes;
	limits.total_bytes = (uint64_t)like->run_max_bytes;
	t.reader = tar_reader_new(&limits, &sink);
	ok = guest_tar_out(g, "/artifacts", like->run_max_bytes, on_bytes, &t, deadline, err) &&
	     tar_reader_finish(t.reader, err);
	tar_reader_free(t.reader);
	blob_writer_free(t.writer);
	*count = t.count;
	return ok;
}
