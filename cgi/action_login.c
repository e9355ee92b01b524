/*
 * login: the operator's token, once, for a session cookie. A wrong token counts like a wrong
 * bearer.
 */
#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "session.h"
#include "site.h"
#include "throttle.h"

struct login {
	const char *token;
};

static const struct field fields[] = {
	FIELD(TEXT, struct login, token, .required = true, .max = 1024,
		.help = "The operator's token.",
		.fix = "Setup says where the operator's token is kept."),
};

/* 30 days: the session itself ends there, or after 7 days without use. */
static const char *cookie(struct call *c, const char *token)
{
	const struct config *cfg = c->site->cfg;

	return pool_printf(c->pool, "%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000%s",
		access_cookie_name(cfg), token, access_is_https(cfg) ? "; Secure" : "");
}

static bool login(struct call *c, const void *input, struct err *err)
{
	const struct login *in = input;
	CLEANUP(tx) struct tx tx = {0};
	CLEANUP(json) struct json_object *o = json_new_object();
	char token[SESSION_TOKEN_SIZE], csrf[CSRF_SIZE];
	struct session operator;

	if (!access_is_operator(c->site->operator_hash, in->token)) {
		if (!throttle_fail(c->db, c->rq->address, &c->retry_s, err))
			return false;
		(void)err_set(err, ERR_UNAUTHENTICATED, "wrong token");
		return err_advise(err, "token", "Setup says where the operator's token is kept.");
	}
	if (!session_operator(c->db, &operator, err) ||
		!db_begin(c->db, operator.account_id, &tx, err) ||
		!session_add(c->db, operator.account_id, operator.user_id, token, err) ||
		!db_commit(&tx, err))
		return false;
	access_csrf_token(token, csrf);
	json_add_text(o, "csrf", csrf);
	response_json(c->rs, 200, json_text(o, c->pool));
	(void)response_header(c->rs, "Set-Cookie", cookie(c, token));
	c->caller = (struct caller){.kind = CALLER_OPERATOR,
		.account_id = operator.account_id,
		.user_id = operator.user_id,
		.name = "operator"};
	return true;
}

const struct action action_login = {
	.name = "login",
	.summary = "Sign in on a browser: the token for a session cookie and its CSRF token.",
	.method = "POST",
	.path = "/login.json",
	.needs = NEEDS_NOBODY,
	.mutates = true,
	.own_tx = true,
	.type = "application/json",
	.input_size = sizeof(struct login),
	ACTION_FIELDS(fields),
	.answers = "200 {\"csrf\"} and the cookie; send csrf as X-CSRF-Token with every change",
	.run = login,
};
