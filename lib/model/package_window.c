/*
 * The package window over sql/queries/package.sql.
 */
#include "package_window.h"

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "queries.h"

static bool window_set(struct db *db, const struct fence *f, int64_t box_id, const char *egress,
	const char *installed, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_PACKAGE_WINDOW,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id), db_text(egress),
			    db_text(installed)),
		    &res, err))
		return err_wrap(err, "package window");
	return fence_check(f, &res, "the box is not being created any more", err);
}

bool package_window_open(struct db *db, const struct fence *f, int64_t box_id, struct err *err)
{
	return window_set(db, f, box_id, "packages", NULL, err);
}

bool package_window_close(struct db *db, const struct fence *f, int64_t box_id,
	const char *installed, struct err *err)
{
	return window_set(db, f, box_id, "sealed", installed, err);
}
