#pragma once
/*
 * Bytes kept in rows of 256 KiB: uploads, patches, bundles, artifacts. Written as a stream and seen
 * by nobody until complete. A writer opens its own short transactions (a slow sender must not hold
 * one), so it is used outside any; reading happens in whatever transaction the caller has.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encode.h"
#include "err.h"
#include "random.h"

struct db;
struct fence;
struct pool;

enum blob_kind {
	BLOB_UPLOAD,
	BLOB_PATCH,
	BLOB_BUNDLE,
	BLOB_ARTIFACT,
	BLOB_FILES,
	BLOB_KIND__COUNT
};
extern const char *const blob_kind_names[BLOB_KIND__COUNT];

#define BLOB_CHUNK_SIZE (256 * 1024)

struct blob_new {
	int64_t account_id;
	enum blob_kind kind;
	const char *file_name;	 /* sanitised, for Content-Disposition only */
	int64_t run_id, turn_id; /* 0: none yet */
	int64_t max_bytes;	 /* of this blob */
	int64_t run_max_bytes;	 /* of all blobs of the run; 0: not counted */
	const struct fence
		*fence; /* the job that it is written for, held by each write; NULL: none */
};

struct blob_writer; /* owns one chunk of memory */

/* Makes the row. Writing past a cap is ERR_TOO_LARGE, reason "blob_too_large" or "run_blobs_full".
 */
bool blob_open(struct db *db, const struct blob_new *in, struct blob_writer **out,
	struct err *err) NODISCARD;
bool blob_write(struct blob_writer *w, const void *data, size_t n, struct err *err) NODISCARD;
struct blob_made {
	int64_t id, size_bytes;
	char name[ID_SIZE];
	char sha256[2 * SHA256_SIZE + 1];
};
/* Completes it. What a patch changes was counted as it passed and is kept beside it. */
bool blob_close(struct blob_writer *w, struct blob_made *out, struct err *err) NODISCARD;
/* Frees the writer; what was not closed is dropped again. NULL is fine. */
void blob_writer_free(struct blob_writer *w);
void cleanup_blob_writer(struct blob_writer **w);

struct blob {
	int64_t id, size_bytes, run_id;
	const char *name, *kind, *file_name, *sha256;
};
/* A complete blob of the account; ERR_NOT_FOUND. */
bool blob_get(struct db *db, struct pool *pool, int64_t account_id, const char *name,
	struct blob *out, struct err *err) NODISCARD;
/* Chunk n (from 0) in the pool; *size 0 past the last. */
bool blob_chunk(struct db *db, struct pool *pool, int64_t id, int64_t n, const unsigned char **data,
	size_t *size, struct err *err) NODISCARD;
/* Drops blob `id` again where the run has the same file already. */
bool blob_drop_repeat(struct db *db, int64_t id, struct err *err) NODISCARD;
/* The run's newest blob; 0: none. */
bool blob_newest(struct db *db, int64_t run_id, int64_t *id, struct err *err) NODISCARD;
/* Drops what was saved of the turn, and of files, up to blob `before` and has been saved anew
 * since. */
bool blob_replace(struct db *db, const struct fence *f, int64_t run_id, int64_t turn_id,
	int64_t before, struct err *err) NODISCARD;
/* Drops up to 100 of what nobody finished or took for older_ms, and files put together longer than
 * an hour ago. */
bool blob_sweep(struct db *db, int64_t older_ms, int64_t *dropped, struct err *err) NODISCARD;
