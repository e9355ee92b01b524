/*
 * Blobs over sql/queries/blob.sql: a writer that cuts a stream into chunks, and reads.
 */
#include "blob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "patch_count.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"

const char *const blob_kind_names[] = {
	[BLOB_UPLOAD] = "upload",
	[BLOB_PATCH] = "patch",
	[BLOB_BUNDLE] = "bundle",
	[BLOB_ARTIFACT] = "artifact",
	[BLOB_FILES] = "files",
};
static_assert(
	sizeof(blob_kind_names) / sizeof(blob_kind_names[0]) == BLOB_KIND__COUNT, "a name each");

struct blob_writer {
	struct db *db;
	int64_t account_id;
	struct fence fence;	     /* job_id 0: none */
	int64_t id, n;		     /* n: number of the next chunk */
	int64_t size, max, run_left; /* run_left -1: not counted */
	bool complete;
	bool is_patch;
	struct patch_count count; /* of a patch */
	char name[ID_SIZE];
	crypto_hash_sha256_state sha;
	size_t len; /* bytes in chunk */
	unsigned char chunk[BLOB_CHUNK_SIZE];
};

static bool run_room(struct db *db, const struct blob_new *in, int64_t *left, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	*left = -1;
	if (!in->run_id || !in->run_max_bytes)
		return true;
	if (!db_query(db, Q_BLOB_RUN_SIZE, ARGS(db_i64(in->run_id)), &res, err))
		return false;
	*left = in->run_max_bytes - result_i64(&res, 0, 0);
	if (*left < 0)
		*left = 0;
	return true;
}

static bool writer_begin(struct blob_writer *w, struct tx *tx, struct err *err)
{
	return db_begin(w->db, w->account_id, tx, err) &&
	       (!w->fence.job_id || job_fence(w->db, &w->fence, err));
}

bool blob_open(struct db *db, const struct blob_new *in, struct blob_writer **out, struct err *err)
{
	CLEANUP(blob_writer) struct blob_writer *w = mem_alloc(sizeof(*w));
	CLEANUP(tx) struct tx tx = {0};
	CLEANUP(result) struct result res = {0};

	w->db = db;
	w->account_id = in->account_id;
	if (in->fence)
		w->fence = *in->fence;
	w->max = in->max_bytes;
	w->is_patch = in->kind == BLOB_PATCH;
	(void)crypto_hash_sha256_init(&w->sha);
	random_id(w->name, sizeof(w->name), "blob-", 16);
	if (!writer_begin(w, &tx, err) || !run_room(db, in, &w->run_left, err) ||
		!db_query(db, Q_BLOB_CREATE,
			ARGS(db_i64(in->account_id), db_text(w->name),
				db_text(blob_kind_names[in->kind]), db_text(in->file_name),
				db_ref(in->run_id), db_ref(in->turn_id)),
			&res, err) ||
		!db_commit(&tx, err))
		return err_wrap(err, "make blob");
	w->id = result_i64(&res, 0, 0);
	*out = STEAL(w);
	return true;
}

static bool chunk_flush(struct blob_writer *w, struct err *err)
{
	CLEANUP(tx) struct tx tx = {0};

	if (!w->len)
		return true;
	if (!writer_begin(w, &tx, err) ||
		!db_query(w->db, Q_BLOB_ADD_CHUNK,
			ARGS(db_i64(w->id), db_i64(w->n), db_bytes(w->chunk, w->len)), NULL, err) ||
		!db_commit(&tx, err))
		return err_wrap(err, "write blob");
	w->n++;
	w->len = 0;
	return true;
}

static bool within_caps(const struct blob_writer *w, size_t n, struct err *err)
{
	if (n > (size_t)(w->max - w->size)) {
		(void)err_set(err, ERR_TOO_LARGE, "more than %lld bytes", (long long)w->max);
		return err_advise(err, "blob_too_large", NULL);
	}
	if (w->run_left >= 0 && n > (size_t)(w->run_left - w->size)) {
		(void)err_set(err, ERR_TOO_LARGE, "the run's blobs are full");
		return err_advise(err, "run_blobs_full", NULL);
	}
	return true;
}

bool blob_write(struct blob_writer *w, const void *data, size_t n, struct err *err)
{
	const unsigned char *p = data;

	if (!within_caps(w, n, err))
		return false;
	(void)crypto_hash_sha256_update(&w->sha, p, n);
	w->size += (int64_t)n;
	if (w->is_patch)
		patch_count_add(&w->count, data, n);
	while (n) {
		size_t part = sizeof(w->chunk) - w->len;

		if (part > n)
			part = n;
		memcpy(w->chunk + w->len, p, part);
		w->len += part;
		p += part;
		n -= part;
		if (w->len == sizeof(w->chunk) && !chunk_flush(w, err))
			return false;
	}
	return true;
}

static bool store_count(struct blob_writer *w, struct err *err)
{
	return !w->is_patch || db_query(w->db, Q_BLOB_COUNT,
				       ARGS(db_i64(w->id), db_i64(w->count.files),
					       db_i64(w->count.added), db_i64(w->count.removed)),
				       NULL, err);
}

bool blob_close(struct blob_writer *w, struct blob_made *out, struct err *err)
{
	struct blob_made made = {.id = w->id, .size_bytes = w->size};
	unsigned char sum[SHA256_SIZE];
	CLEANUP(tx) struct tx tx = {0};

	if (!chunk_flush(w, err))
		return false;
	(void)crypto_hash_sha256_final(&w->sha, sum);
	hex_encode(sum, sizeof(sum), made.sha256);
	memcpy(made.name, w->name, sizeof(made.name));
	if (!writer_begin(w, &tx, err) || !store_count(w, err) ||
		!db_query(w->db, Q_BLOB_COMPLETE,
			ARGS(db_i64(w->id), db_i64(w->size), db_text(made.sha256)), NULL, err) ||
		!db_commit(&tx, err))
		return err_wrap(err, "complete blob");
	w->complete = true;
	*out = made;
	return true;
}

void blob_writer_free(struct blob_writer *w)
{
	if (!w)
		return;
	if (w->id && !w->complete) {
		CLEANUP(tx) struct tx tx = {0};
		struct err err;

		/* where this fails too, the sweep takes the row */
		if (db_begin(w->db, w->account_id, &tx, &err) &&
			db_query(w->db, Q_BLOB_DROP, ARGS(db_i64(w->id)), NULL, &err))
			(void)!db_commit(&tx, &err);
	}
	free(w);
}

void cleanup_blob_writer(struct blob_writer **w)
{
	blob_writer_free(*w);
}

bool blob_get(struct db *db, struct pool *pool, int64_t account_id, const char *name,
	struct blob *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BLOB_GET, ARGS(db_i64(account_id), db_text(name)), &res, err))
		return err_wrap(err, "get blob");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such blob");
	*out = (struct blob){
		.id = result_i64(&res, 0, 0),
		.name = pool_strdup(pool, result_text(&res, 0, 1)),
		.kind = pool_strdup(pool, result_text(&res, 0, 2)),
		.file_name = pool_strdup(pool, result_text(&res, 0, 3)),
		.size_bytes = result_i64(&res, 0, 4),
		.sha256 = pool_strdup(pool, result_text(&res, 0, 5)),
		.run_id = result_i64(&res, 0, 6),
	};
	return true;
}

bool blob_chunk(struct db *db, struct pool *pool, int64_t id, int64_t n, const unsigned char **data,
	size_t *size, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BLOB_CHUNK, ARGS(db_i64(id), db_i64(n)), &res, err))
		return err_wrap(err, "read blob");
	*size = 0;
	*data = NULL;
	if (res.rows)
		*data = result_bytes(&res, pool, 0, 0, size);
	return true;
}

bool blob_drop_repeat(struct db *db, int64_t id, struct err *err)
{
	return db_query(db, Q_BLOB_DROP_REPEAT, ARGS(db_i64(id)), NULL, err) ||
	       err_wrap(err, "drop blob");
}

bool blob_newest(struct db *db, int64_t run_id, int64_t *id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BLOB_NEWEST, ARGS(db_i64(run_id)), &res, err))
		return err_wrap(err, "newest blob");
	*id = result_i64(&res, 0, 0);
	return true;
}

bool blob_replace(struct db *db, const struct fence *f, int64_t run_id, int64_t turn_id,
	int64_t before, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BLOB_REPLACE,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(run_id), db_i64(turn_id),
			    db_i64(before)),
		    &res, err))
		return err_wrap(err, "replace blobs");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}

bool blob_sweep(struct db *db, int64_t older_ms, int64_t *dropped, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BLOB_SWEEP, ARGS(db_i64(older_ms)), &res, err))
		return err_wrap(err, "sweep blobs");
	*dropped = res.affected;
	return true;
}
