/*
 * Turns over sql/queries/turn.sql.
 */
#include "turn.h"

#include <assert.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "job.h"
#include "pool.h"
#include "queries.h"
#include "rows.h"

const char *const turn_state_names[] = {
	[TURN_QUEUED] = "queued",
	[TURN_STARTING] = "starting",
	[TURN_RUNNING] = "running",
	[TURN_ASKED] = "asked",
	[TURN_DONE] = "done",
	[TURN_FAILED] = "failed",
	[TURN_STOPPED] = "stopped",
	[TURN_LOST] = "lost",
};
static_assert(
	sizeof(turn_state_names) / sizeof(turn_state_names[0]) == TURN_STATE__COUNT, "a name each");

const char *const turn_reason_names[] = {
	[REASON_OK] = "ok",
	[REASON_AGENT_ERROR] = "agent_error",
	[REASON_OOM] = "oom",
	[REASON_GUEST_PANIC] = "guest_panic",
	[REASON_TIMEOUT] = "timeout",
	[REASON_MAX_DURATION] = "max_duration",
	[REASON_OPERATOR] = "operator",
	[REASON_PROTOCOL] = "protocol",
	[REASON_AGENT_LOST] = "agent_lost",
	[REASON_BOX_LOST] = "box_lost",
	[REASON_WORKER_LOST] = "worker_lost",
	[REASON_HOST_REBOOT] = "host_reboot",
	[REASON_POLICY] = "policy",
	[REASON_TREE] = "tree",
	[REASON_PROVISION] = "provision",
};
static_assert(sizeof(turn_reason_names) / sizeof(turn_reason_names[0]) == TURN_REASON__COUNT,
	"a name each");

enum turn_reason turn_reason_find(const char *name, enum turn_reason otherwise)
{
	int i = name_find(turn_reason_names, TURN_REASON__COUNT, name);

	/* what a sandbox tells apart, for a run's box is the policy that did not hold */
	if (!strcmp(name, "network_leak"))
		return REASON_POLICY;
	return i < 0 ? otherwise : (enum turn_reason)i;
}

bool turn_get(struct db *db, struct pool *pool, int64_t id, struct turn *out, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	int state;

	if (!db_query(db, Q_TURN_GET, ARGS(db_i64(id)), &res, err))
		return err_wrap(err, "get turn");
	if (!res.rows)
		return err_set(err, ERR_NOT_FOUND, "no such turn");
	state = name_find(turn_state_names, TURN_STATE__COUNT, result_text(&res, 0, 5));
	assert(state >= 0);
	*out = (struct turn){
		.id = result_i64(&res, 0, 0),
		.run_id = result_i64(&res, 0, 1),
		.n = result_i64(&res, 0, 2),
		.message = pool_strdup(pool, result_text(&res, 0, 3)),
		.question_id = result_i64(&res, 0, 4),
		.state = (enum turn_state)state,
		.exec_id = result_i64(&res, 0, 6),
		.has_deadline = !result_is_null(&res, 0, 7),
		.left_ms = result_i64(&res, 0, 7),
		.run_name = pool_strdup(pool, result_text(&res, 0, 8)),
		.agent = pool_strdup(pool, result_text(&res, 0, 9)),
		.task = pool_strdup(pool, result_text(&res, 0, 10)),
		.source = pool_strdup(pool, result_text(&res, 0, 11)),
		.repos = pool_strdup(pool, result_text(&res, 0, 12)),
		.upload_id = result_i64(&res, 0, 13),
		.log_id = result_i64(&res, 0, 14),
		.question_ref = pool_strdup(pool, result_text(&res, 0, 15)),
		.answer = pool_strdup(pool, result_text(&res, 0, 16)),
		.trace_seq = result_i64(&res, 0, 17),
		.session = pool_strdup(pool, result_text(&res, 0, 18)),
		.ends = result_i64(&res, 0, 19),
	};
	return true;
}

bool turn_start(
	struct db *db, const struct fence *f, int64_t turn_id, int64_t deadline_ms, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_TURN_START,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(turn_id), db_i64(deadline_ms)),
		    &res, err))
		return err_wrap(err, "start turn");
	return fence_check(f, &res, "the turn has ended", err);
}

bool turn_running(struct db *db, const struct fence *f, int64_t turn_id, int64_t exec_id,
	int64_t deadline_ms, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_TURN_RUNNING,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(turn_id), db_ref(exec_id),
			    db_i64(deadline_ms)),
		    &res, err))
		return err_wrap(err, "turn running");
	return fence_check(f, &res, "the turn has ended", err);
}

bool turn_end(struct db *db, const struct fence *f, int64_t turn_id, const struct turn_end *end,
	struct err *err)
{
	CLEANUP(result) struct result res = {0};
	const char *reason = NULL;

	assert(end->state >= TURN_ASKED && end->state < TURN_STATE__COUNT);
	assert(end->reason < TURN_REASON__COUNT);
	/* one that asks has nothing to explain */
	if (end->state != TURN_ASKED)
		reason = turn_reason_names[end->reason];
	if (!db_query(db, Q_TURN_END,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(turn_id),
			    db_text(turn_state_names[end->state]), db_text(reason),
			    db_text(end->detail),
			    end->exited ? db_i64(end->exit_code) : db_text(NULL),
			    db_ref(end->signal), db_ref(end->patch_id), db_ref(end->bundle_id)),
		    &res, err))
		return err_wrap(err, "end turn");
	return fence_check(f, &res, "the turn has ended already", err);
}

bool turn_save(struct db *db, const struct fence *f, int64_t turn_id, int64_t patch_id,
	int64_t bundle_id, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_TURN_SAVE,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(turn_id), db_ref(patch_id),
			    db_ref(bundle_id)),
		    &res, err))
		return err_wrap(err, "save turn");
	return fence_check(f, &res, "no such turn", err);
}

bool turn_stop_box(struct db *db, const struct fence *f, int64_t box_id, enum turn_state state,
	enum turn_reason reason, const char *detail, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(db, Q_TURN_STOP_BOX,
		    ARGS(db_i64(f->job_id), db_i64(f->epoch), db_i64(box_id),
			    db_text(turn_state_names[state]), db_text(turn_reason_names[reason]),
			    db_text(detail)),
		    &res, err))
		return err_wrap(err, "stop turns");
	return result_i64(&res, 0, 0) || fence_lost(f, err);
}
