/*
 * The pool over sql/queries/pool.sql.
 */
#include "box_pool.h"

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "queries.h"
#include "random.h"
#include "rows.h"
#include "size_class.h"

bool box_pool_make(struct db *db, const struct box_pool_new *in, struct err *err)
{
	char name[ID_SIZE];

	random_id(name, sizeof(name), "box-", 16);
	return db_query(db, Q_POOL_MAKE,
		       ARGS(db_text(name), db_text(in->runtime), db_text(in->image),
			       db_text(in->image_key), db_text(in->size->name),
			       db_i64(in->size->memory_bytes), db_i64(in->size->cpus),
			       db_ref(size_class_disk(in->size, in->runtime)), db_text(in->host),
			       db_i64(in->creating_ms), db_i64(in->max_ms + BOX_POOL_MS)),
		       NULL, err) ||
	       err_wrap(err, "pool");
}

static bool pool_move(struct db *db, int q, const struct fence *f, int64_t box_id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, q, ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id)), &res, err))
		return err_wrap(err, "pool");
	return fence_check(f, &res, "the box is not being created any more", err);
}

bool box_pooled(struct db *db, const struct fence *f, int64_t box_id, struct err *err)
{
	return pool_move(db, Q_BOX_POOLED, f, box_id, err);
}

bool box_unpooled(struct db *db, const struct fence *f, int64_t box_id, struct err *err)
{
	return pool_move(db, Q_BOX_UNPOOLED, f, box_id, err);
}

bool box_pool_drop(struct db *db, const char *host, int64_t box_id, const char *reason,
	int64_t destroying_ms, bool *dropped, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_POOL_DROP,
		    ARGS(db_text(host), db_ref(box_id), db_text(reason), db_i64(destroying_ms)),
		    &res, err))
		return err_wrap(err, "pool");
	*dropped = res.affected > 0;
	return true;
}
