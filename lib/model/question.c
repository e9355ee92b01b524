/*
 * Questions over sql/queries/question.sql.
 */
#include "question.h"

#include "cleanup.h"
#include "db.h"
#include "job.h"
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
