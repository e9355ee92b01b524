/*
 * Writing the audit table.
 */
#include "audit.h"

#include "cleanup.h"
#include "db.h"
#include "queries.h"

bool audit_add(struct db *db, const struct audit *a, struct err *err)
{
	return db_query(db, Q_AUDIT_ADD,
		       ARGS(db_i64(a->account_id), db_text(a->caller), db_text(a->address),
			       db_text(a->method), db_text(a->path), db_i64(a->status),
			       db_i64(a->ms), db_text(a->action), db_text(a->subject),
			       db_text(a->request_id)),
		       NULL, err) ||
	       err_wrap(err, "audit");
}
