/*
 * What several actions share.
 */
#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "queries.h"

bool call_json(struct call *c, int status, int q, const struct db_arg *args, size_t nargs,
	const char *what, struct err *err)
{
	CLEANUP(result) struct result res = {0};

	if (!db_query(c->db, q, args, nargs, &res, err))
		return false;
	if (!res.rows || result_is_null(&res, 0, 0))
		return err_set(err, ERR_NOT_FOUND, "no such %s", what);
	response_json(c->rs, status, result_text(&res, 0, 0));
	return true;
}

bool call_answer(struct call *c, int status, struct json_object *o)
{
	response_json(c->rs, status, json_text(o, c->pool));
	return true;
}

bool call_add_caller(struct call *c, struct json_object *o, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	struct json_object *caller;

	if (!db_query(c->db, Q_WEB_ACCOUNT, ARGS(db_i64(c->caller.account_id)), &res, err))
		return false;
	caller = json_new_object();
	json_add_text(caller, "kind", caller_kind_name(c->caller.kind));
	json_add_text(caller, "name", res.rows ? result_text(&res, 0, 0) : NULL);
	json_add(o, "caller", caller);
	return true;
}

void call_wait(struct call *c, const char *what, const char *name, int64_t turn, int64_t wait_ms)
{
	c->rs->internal = pool_printf(c->pool,
		"/internal/wait?%s=%s&wait_ms=%lld&account=%lld&turn=%lld", what, name,
		(long long)wait_ms, (long long)c->caller.account_id, (long long)turn);
}

void call_wait_read(struct call *c, const char *what, const char *name, int64_t wait_ms)
{
	call_wait(c, what, name, 0, wait_ms);
	c->rs->internal = pool_printf(c->pool, "%s&read=1", c->rs->internal);
}
