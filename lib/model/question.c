/*
 * Questions over sql/queries/question.sql.
 */
#include "question.h"

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "pool.h"
#include "queries.h"

bool question_open(struct db *db, const struct fence *f, int64_t run_id, int64_t turn_id,
	const char *box_ref, const char *text, int64_t *id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_QUESTION_OPEN,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(run_id), db_i64(turn_id),
			    db_text(box_ref), db_text(text)),
		    &res, err))
		return err_wrap(err, "open question");
	if (!fence_check(f, &res, "question", err))
		return false;
	*id = result_i64(&res, 0, 2);
	return true;
}

static const char *text_or_null(const struct result *res, struct pool *pool, int col)
{
	return result_is_null(res, 0, col) ? NULL : pool_strdup(pool, result_text(res, 0, col));
}

bool question_get(
	struct db *db, struct pool *pool, int64_t id, struct question *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_QUESTION_GET, ARGS(db_i64(id)), &res, err))
		return err_wrap(err, "get question");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such question");
	*out = (struct question){
		.id = result_i64(&res, 0, 0),
		.run_id = result_i64(&res, 0, 1),
		.turn_id = result_i64(&res, 0, 2),
		.box_ref = pool_strdup(pool, result_text(&res, 0, 3)),
		.text = pool_strdup(pool, result_text(&res, 0, 4)),
		.answer = text_or_null(&res, pool, 5),
		.answered_by = text_or_null(&res, pool, 6),
	};
	return true;
}
