/*
 * Files of a run. The code's name carries the exec's stream, so that no two runs share one.
 */
#include "run_files.h"

#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "exec.h"
#include "guest.h"
#include "json.h"
#include "language.h"
#include "pool.h"
#include "tar.h"

#define FILES_MAX (12u << 20) /* what a request of 8 MiB can bring, as a tar */

struct run_file run_file_of(struct pool *pool, const struct exec *e, const char *cwd)
{
	const struct language *l = language_find(e->language);
	struct run_file f = {.env = l ? l->env : NULL};

	if (!l || !e->code)
		return f;
	f.dir = l->dir ? l->dir : cwd;
	f.name = pool_printf(
		pool, "%srun-%lld%s", l->dir ? "" : ".", (long long)e->stream, l->suffix);
	f.ahead = l->ahead;
	f.path = pool_printf(pool, "%s/%s", f.dir, f.name);
	if (guest_text_fits(e->code, e->code_size))
		f.text = pool_memdup(pool, e->code, e->code_size);
	return f;
}

struct tar_bytes {
	const struct buf *tar;
	size_t at;
};

static bool tar_read(void *arg, void *data, size_t size, size_t *n, struct err *err)
{
	struct tar_bytes *b = arg;
	size_t left = b->tar->len - b->at;

	(void)err;
	*n = left < size ? left : size;
	memcpy(data, b->tar->data + b->at, *n);
	b->at += *n;
	return true;
}

bool run_files_send(
	struct guest *g, const char *cwd, const char *files, int64_t deadline, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	CLEANUP(buf) struct buf tar = BUF_INIT(FILES_MAX);
	struct tar_bytes b = {.tar = &tar};
	const char *name, *text;

	if (!json_parse(files, strlen(files), &o, err))
		return false;
	for (size_t i = 0; (name = json_key_at(o, i)); i++) {
		struct tar_entry entry = {.kind = TAR_FILE, .name = name, .mode = 0644};

		if (!json_get_text(o, name, &text))
			return err_set(err, ERR_INVALID, "%s is no text", name);
		entry.size = strlen(text);
		(void)tar_add_header(&tar, &entry);
		(void)buf_add(&tar, text, entry.size);
		(void)tar_add_padding(&tar, entry.size);
	}
	if (!tar_add_end(&tar) || tar.failed)
		return err_set(err, ERR_TOO_LARGE, "too much for one run");
	return guest_tar_in(g, cwd, "agent", tar_read, &b, deadline, err);
}
