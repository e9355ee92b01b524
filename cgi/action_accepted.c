/*
 * accepted: what was to be waited for, as it is now. nginx asks it with the query of the wait where
 * asb-live is not there to hold it: the action was committed, so its state is the answer, to a JSON
 * request as to an MCP call.
 */
#include "action.h"
#include "log.h"
#include "mcp_result.h"
#include "queries.h"
#include "wait_kinds.h"

static bool read_it(struct call *c, const struct wait_ask *ask, struct err *err)
{
	if (call_json(c, 202, ask->reads ? ask->kind->seen : ask->kind->read,
		    ARGS(db_text(ask->name), db_i64(c->caller.account_id)), ask->kind->what, err))
		return true;
	if (err->code != ERR_NOT_FOUND)
		log_warn("web rq=%s accepted: %s", c->rq->id, err->msg);
	wait_err_unread(ask->kind, ask->name, err);
	return false;
}

static bool accepted(struct call *c, const void *input, struct err *err)
{
	struct wait_ask ask;
	struct mcp_call call;
	const char *answer;

	if (!wait_ask_take(input, &ask, err))
		return false;
	c->subject = ask.name;
	if (!ask.mcp)
		return read_it(c, &ask, err);
	if (!mcp_call_parse(c->pool, ask.mcp, &call, err))
		return false;
	answer = read_it(c, &ask, err) ? mcp_result(c->pool, &call, 202, c->rs->body.data)
				       : mcp_result_err(c->pool, &call, err, c->rq->id);
	response_json(c->rs, 200, answer);
	return true;
}

const struct action action_accepted = {
	.name = "accepted",
	.summary = "What a request was to wait for, as it is now: asked by nginx, where it cannot "
		   "be waited for.",
	.method = "GET",
	.path = "/accepted.json",
	.needs = NEEDS_CALLER,
	.input_size = sizeof(struct wait_input),
	.fields = wait_fields,
	.nfields = WAIT_FIELDS,
	.answers = "202 with the shape that the wait would have had; 200 with the answer to an "
		   "MCP call",
	.run = accepted,
};
