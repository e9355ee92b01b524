/*
 * blob: downloads a patch, a bundle or a produced file. It comes from a box: a browser may store it
 * and do nothing else with it.
 */
#include "action.h"
#include "blob.h"
#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "pool.h"

struct blob_input {
	const char *name;
};

static const struct field fields[] = {
	FIELD(TEXT, struct blob_input, name, .required = true, .max = 64, .help = "The blob.",
		.fix = "Name the blob: RUN lists them in patch, bundle and files, watch those of "
		       "every tree in patches and bundles."),
};

struct sending {
	struct db *db;
	int64_t account_id, blob_id, left;
};

/* One chunk, in a transaction of its own: a slow reader holds none. */
static bool send_chunk(struct sending *s, int64_t n, response_write_fn *write, void *arg)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(tx) struct tx tx = {0};
	const unsigned char *data;
	struct err err;
	size_t size;

	if (!db_begin(s->db, s->account_id, &tx, &err) ||
		!blob_chunk(s->db, pool, s->blob_id, n, &data, &size, &err) ||
		!db_commit(&tx, &err))
		return false;
	if (!size || (int64_t)size > s->left)
		return false;
	s->left -= (int64_t)size;
	return write(arg, data, size);
}

static bool send_blob(void *stream_arg, response_write_fn *write, void *arg)
{
	struct sending *s = stream_arg;

	for (int64_t n = 0; s->left > 0; n++)
		if (!send_chunk(s, n, write, arg))
			return false;
	return true;
}

static bool get_blob(struct call *c, const void *input, struct err *err)
{
	const struct blob_input *in = input;
	CLEANUP(buf) struct buf disposition = BUF_INIT(2000);
	struct sending *s = POOL_NEW(c->pool, struct sending);
	struct blob blob;

	c->subject = in->name;
	if (!blob_get(c->db, c->pool, c->caller.account_id, in->name, &blob, err))
		return false;
	(void)buf_adds(&disposition, "attachment; filename*=UTF-8''");
	url_add(&disposition, blob.file_name);
	*s = (struct sending){.db = c->db,
		.account_id = c->caller.account_id,
		.blob_id = blob.id,
		.left = blob.size_bytes};
	c->rs->content_type = "application/octet-stream";
	c->rs->stream = send_blob;
	c->rs->stream_arg = s;
	c->rs->stream_size = blob.size_bytes;
	(void)response_header(c->rs, "Content-Disposition", disposition.data);
	return true;
}

const struct action action_blob = {
	.name = "blob",
	.summary = "Download a patch, a commit bundle or a produced file.",
	.method = "GET",
	.path = "/blob",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct blob_input),
	ACTION_FIELDS(fields),
	.answers = "200 the bytes, as an attachment",
	.run = get_blob,
};
