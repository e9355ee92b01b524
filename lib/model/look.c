/*
 * Looks over sql/queries/look.sql.
 */
#include "look.h"

#include <assert.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"
#include "run.h"
#include "sandbox.h"

const char *const look_op_names[] = {
	[LOOK_LIST] = "list",
	[LOOK_READ] = "read",
	[LOOK_SEARCH] = "search",
	[LOOK_DIFF] = "diff",
	[LOOK_GET] = "get",
};
static_assert(sizeof(look_op_names) / sizeof(look_op_names[0]) == LOOK_OP__COUNT, "a name each");

/* What the row does not keep: by the reason, else by the code. */
static const char *fix_of(enum err_code code, const char *reason)
{
	static const struct {
		const char *reason, *fix;
	} fixes[] = {
		{"box_ended", "What a run made is in its patch and files; a sandbox takes all "
			      "with it: create another."},
		{"no_baseline", "Only a tree that came along can be compared: sync_from, upload or "
				"repos. read_file shows a file as it is."},
		{"field", "Give one that the message names."},
	};

	for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++)
		if (!strcmp(fixes[i].reason, reason))
			return fixes[i].fix;
	switch (code) {
	case ERR_NOT_FOUND:
		return "list_files says what is there.";
	case ERR_INVALID:
		return "list_files says what is there and of what kind it is.";
	case ERR_FORBIDDEN:
		return "Files that the box's user may read can be looked at, outside of /proc, "
		       "/sys, /dev and /run: run can print others.";
	case ERR_TOO_LARGE:
		return "Ask for a folder in it.";
	default:
		return NULL;
	}
}

bool look_submit(struct db *db, const struct look_new *in, char name[ID_SIZE], struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int64_t box_id = 0, run_id = 0;

	random_id(name, ID_SIZE, "look-", 16);
	if (!(in->sandbox ? sandbox_hold(db, in->account_id, in->sandbox, &box_id, err)
			  : run_lock_box(db, in->account_id, in->session, &run_id, &box_id, err)) ||
		!db_query(db, Q_LOOK_SUBMIT,
			ARGS(db_i64(in->account_id), db_i64(box_id), db_text(name),
				db_text(look_op_names[in->op]), db_text(in->request),
				db_ref(run_id), db_text(in->request_id)),
			&res, err))
		return err_wrap(err, "look");
	if (res.rows)
		return true;
	(void)err_set(err, ERR_CONFLICT, "the box has ended: there is nothing to look at");
	return err_advise(err, "box_ended", fix_of(ERR_CONFLICT, "box_ended"));
}

bool look_get(struct db *db, struct pool *pool, int64_t id, struct look_row *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int op;

	if (!db_query(db, Q_LOOK_GET, ARGS(db_i64(id)), &res, err))
		return err_wrap(err, "get look");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such look");
	op = name_find(look_op_names, LOOK_OP__COUNT, result_text(&res, 0, 0));
	assert(op >= 0);
	*out = (struct look_row){
		.op = (enum look_op)op,
		.request = pool_strdup(pool, result_text(&res, 0, 1)),
		.ended = strcmp(result_text(&res, 0, 2), "queued") != 0,
		.is_sandbox = result_bool(&res, 0, 3),
		.upload_id = result_i64(&res, 0, 4),
		.source = pool_strdup(pool, result_text(&res, 0, 5)),
		.repos = pool_strdup(pool, result_text(&res, 0, 6)),
	};
	return true;
}

bool look_finish(struct db *db, const struct fence *f, int64_t id, const char *result,
	const struct err *why, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_LOOK_FINISH,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(id),
			    db_text(result ? "done" : "failed"), db_text(result),
			    db_text(result ? NULL : err_info(why->code)->name),
			    db_text(result ? NULL : why->reason),
			    db_text(result ? NULL : why->msg)),
		    &res, err))
		return err_wrap(err, "finish look");
	return fence_check(f, &res, "the look has ended", err);
}

bool look_error(const char *code, const char *reason, const char *detail, struct err *err)
{
	enum err_code c = ERR_INVALID;

	for (int i = 1; i < ERR_CODE__COUNT; i++)
		if (!strcmp(err_info((enum err_code)i)->name, code))
			c = (enum err_code)i;
	(void)err_set(err, c, "%s", detail);
	return err_advise(err, reason, fix_of(c, reason));
}

bool look_sweep(struct db *db, int64_t older_ms, struct err *err)
{
	return db_query(db, Q_LOOK_SWEEP, ARGS(db_i64(older_ms)), NULL, err) ||
	       err_wrap(err, "sweep looks");
}
