/*
 * upload: a working tree as a tar file, for a delegate to come. Nothing looks into it here: it is
 * unpacked in the box. Its bytes go into blob chunks as they come.
 */
#include <string.h>

#include "action.h"
#include "blob.h"
#include "cleanup.h"
#include "config.h"
#include "encode.h"
#include "json.h"
#include "pool.h"
#include "site.h"

struct upload {
	const char *name;
};

static const struct field fields[] = {
	FIELD(TEXT, struct upload, name, .max = 128, .pattern = FIELD_NAME, .text = "tree.tar",
		.help = "File name, for people only."),
};

static bool copy_body(struct request *rq, struct blob_writer *w, char *chunk, struct err *err)
{
	size_t n;

	do {
		if (!request_read(rq, chunk, BLOB_CHUNK_SIZE, &n, err) ||
			!blob_write(w, chunk, n, err))
			return false;
	} while (n);
	return true;
}

static bool upload(struct call *c, const void *input, struct err *err)
{
	const struct upload *in = input;
	const struct config *cfg = c->site->cfg;
	CLEANUP(blob_writer) struct blob_writer *w = NULL;
	CLEANUP(json) struct json_object *o = json_new_object();
	unsigned char *hash = pool_alloc(c->pool, SHA256_SIZE);
	struct blob_made made;
	const struct blob_new blob = {.account_id = c->caller.account_id,
		.kind = BLOB_UPLOAD,
		.file_name = in->name,
		.max_bytes = cfg->upload_max};

	if (c->rq->content_length > cfg->upload_max) {
		(void)err_set(err, ERR_TOO_LARGE, "the upload has %lld bytes, more than %lld",
			(long long)c->rq->content_length, (long long)cfg->upload_max);
		return err_advise(
			err, NULL, "Leave out what can be made again, or raise ASB_UPLOAD_MAX.");
	}
	if (!c->rq->content_length)
		return err_set(err, ERR_INVALID, "the upload is empty");
	if (!blob_open(c->db, &blob, &w, err) ||
		!copy_body(c->rq, w, pool_alloc(c->pool, BLOB_CHUNK_SIZE), err) ||
		!blob_close(w, &made, err))
		return false;
	if (!hex_decode(made.sha256, hash, SHA256_SIZE))
		return err_set(err, ERR_INTERNAL, "upload: bad hash");
	c->rq->body_sha256 = hash;
	c->subject = pool_strdup(c->pool, made.name);
	json_add_text(o, "upload", made.name);
	json_add_i64(o, "size_bytes", made.size_bytes);
	json_add_text(o, "sha256", made.sha256);
	response_json(c->rs, 201, json_text(o, c->pool));
	return true;
}

const struct action action_upload = {
	.name = "upload",
	.summary = "Send a working tree, uncommitted files and all, as a tar file.",
	.method = "POST",
	.path = "/upload",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.streams = true,
	.type = "application/x-tar",
	.input_size = sizeof(struct upload),
	ACTION_FIELDS(fields),
	.answers = "201 {\"upload\",\"size_bytes\",\"sha256\"}; name it in delegate",
	.run = upload,
};
