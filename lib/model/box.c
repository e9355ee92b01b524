/*
 * Boxes over sql/queries/box.sql.
 */
#include "box.h"

#include <assert.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "exec.h"
#include "job.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"

/* as many rivals as a host has slots could each win a race against us */
#define SLOT_TRIES 256

const char *const box_state_names[] = {
	[BOX_POOLED] = "pooled",
	[BOX_CREATING] = "creating",
	[BOX_READY] = "ready",
	[BOX_STOPPED] = "stopped",
	[BOX_DESTROYING] = "destroying",
	[BOX_GONE] = "gone",
	[BOX_FAILED] = "failed",
};
static_assert(
	sizeof(box_state_names) / sizeof(box_state_names[0]) == BOX_STATE__COUNT, "a name each");

bool box_get(struct db *db, struct pool *pool, int64_t id, struct box *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int state;

	if (!db_query(db, Q_BOX_GET, ARGS(db_i64(id)), &res, err))
		return err_wrap(err, "get box");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such box");
	state = name_find(box_state_names, BOX_STATE__COUNT, result_text(&res, 0, 2));
	assert(state >= 0);
	*out = (struct box){
		.id = result_i64(&res, 0, 0),
		.name = pool_strdup(pool, result_text(&res, 0, 1)),
		.state = (enum box_state)state,
		.runtime = pool_strdup(pool, result_text(&res, 0, 3)),
		.image = pool_strdup(pool, result_text(&res, 0, 4)),
		.size_class = pool_strdup(pool, result_text(&res, 0, 5)),
		.memory_bytes = result_i64(&res, 0, 6),
		.cpus = result_i64(&res, 0, 7),
		.slot = result_is_null(&res, 0, 8) ? -1 : (int)result_i64(&res, 0, 8),
		.guest_boot_id = pool_strdup(pool, result_text(&res, 0, 9)),
		.language = pool_strdup(pool, result_text(&res, 0, 10)),
		.packages = pool_strdup(pool, result_text(&res, 0, 11)),
		.upload_id = result_i64(&res, 0, 12),
		.packages_from = pool_strdup(pool, result_text(&res, 0, 13)),
		.isolation = pool_strdup(pool, result_text(&res, 0, 14)),
		.readback = pool_strdup(pool, result_text(&res, 0, 15)),
		.is_pooled = result_bool(&res, 0, 16),
	};
	return true;
}

bool box_assign_slot(struct db *db, const struct fence *f, int64_t box_id, const char *host,
	const char *host_boot_id, int64_t nslots, int *slot, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	for (int left = SLOT_TRIES;; left--) {
		if (db_query(db, Q_BOX_ASSIGN_SLOT,
			    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id), db_text(host),
				    db_text(host_boot_id), db_i64(nslots)),
			    &res, err))
			break;
		if (!left || err->code != ERR_CONFLICT || strcmp(err->reason, "boxes_slot") != 0)
			return err_wrap(err, "assign slot");
	}
	if (!fence_check(f, &res, "the box is not on this host, or is not being created", err))
		return false;
	if (result_is_null(&res, 0, 2)) {
		(void)err_set(
			err, ERR_LIMITED, "all %d box slots of this host are taken", (int)nslots);
		return err_advise(err, "no_slot", "tear a box down, or raise BOX_SLOTS");
	}
	*slot = (int)result_i64(&res, 0, 2);
	return true;
}

bool box_started(struct db *db, const struct fence *f, int64_t box_id,
	const struct box_process *process, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BOX_STARTED,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id), db_i64(process->pid),
			    db_i64(process->pid_start), db_text(process->isolation),
			    db_text(process->template_key), db_text(process->readback)),
		    &res, err))
		return err_wrap(err, "box started");
	return fence_check(f, &res, "the box is not being created any more", err);
}

bool box_ready(struct db *db, const struct fence *f, int64_t box_id, const struct box_proof *proof,
	struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BOX_READY,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id),
			    db_text(proof->boot_id), db_text(proof->kernel),
			    db_text(proof->machine), db_text(proof->probe)),
		    &res, err))
		return err_wrap(err, "box ready");
	if (res.rows && result_bool(&res, 0, 2)) {
		(void)err_set(err, ERR_FORBIDDEN, "sealed: the gate is still open for the box");
		return err_advise(err, "network_leak", NULL);
	}
	return fence_check(f, &res, "the box is not being created any more", err);
}

bool box_take_streams(struct db *db, const struct fence *f, int64_t box_id, int64_t n,
	int64_t *first, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_BOX_TAKE_STREAMS,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id), db_i64(n)), &res,
		    err))
		return err_wrap(err, "stream numbers");
	if (!fence_check(f, &res, "no such box", err))
		return false;
	*first = result_i64(&res, 0, 2);
	return true;
}

bool box_move(struct db *db, const struct fence *f, int64_t box_id, enum box_state to,
	const char *reason, const char *detail, int64_t deadline_ms, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	assert(to == BOX_DESTROYING || to == BOX_GONE || to == BOX_FAILED);
	if (!db_query(db, Q_BOX_MOVE,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id),
			    db_text(box_state_names[to]), db_text(reason), db_i64(deadline_ms),
			    db_text(detail)),
		    &res, err))
		return err_wrap(err, "box %s", box_state_names[to]);
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}

/* The box first: whoever begins something in it holds its row, and once he has let go of it what he
 * began is there for the statements that follow. */
bool box_destroying(struct db *db, const struct fence *f, int64_t box_id,
	const struct box_ending *end, int64_t deadline_ms, struct err *err)
{
	return box_move(db, f, box_id, BOX_DESTROYING, NULL, NULL, deadline_ms, err) &&
	       turn_stop_box(db, f, box_id, end->turn, end->reason, end->detail, err) &&
	       exec_stop_box(db, f, box_id, end->exec_reason, err) &&
	       job_drop_box(db, f, box_id, turn_state_names[end->turn], err);
}
