/*
 * signin_code: a code that signs a person in once, to be put into a link. Its answer is a secret,
 * so it is not kept for an Idempotency-Key.
 */
#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "pool.h"
#include "session.h"
#include "site.h"

static bool signin_code(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	char code[SIGNIN_CODE_SIZE], expires_at[SIGNIN_TIME_SIZE];

	(void)input;
	if (c->caller.kind != CALLER_OPERATOR) {
		(void)err_set(err, ERR_FORBIDDEN, "a session cannot make sign-in codes");
		return err_advise(err, "operator_only", "Send the operator's token.");
	}
	if (*c->rq->idempotency_key)
		return err_set(err, ERR_INVALID, "Idempotency-Key: is not taken here");
	if (!signin_code_add(c->db, c->caller.account_id, c->caller.user_id, code, expires_at, err))
		return false;
	json_add_text(o, "code", code);
	/* in the fragment, which no server and no Referer is told */
	json_add_text(o, "url",
		pool_printf(c->pool, "%s/dashboard/signin#code=%s", c->site->cfg->url, code));
	json_add_text(o, "expires_at", expires_at);
	return call_answer(c, 201, o);
}

const struct action action_signin_code = {
	.name = "signin_code",
	.summary = "A code that signs a person in once, within 10 minutes, and the link with it.",
	.method = "POST",
	.path = "/signin_code.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.answers = "201 {\"code\",\"url\",\"expires_at\"}; with the operator's token only",
	.run = signin_code,
};
