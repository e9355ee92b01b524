/*
 * login: the operator's token, or a sign-in code, for a session cookie. A wrong one counts like a
 * wrong bearer.
 */
#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "session.h"
#include "site.h"
#include "throttle.h"

struct login {
	const char *token, *code;
};

static const struct field fields[] = {
	FIELD(TEXT, struct login, token, .max = 1024, .help = "The operator's token; or give code.",
		.fix = "Setup says where the operator's token is kept."),
	FIELD(TEXT, struct login, code, .max = 64, .help = "A sign-in code, which is used up."),
};

/* 30 days: the session itself ends there, or after 7 days without use. */
static const char *cookie(struct call *c, const char *token)
{
	const struct config *cfg = c->site->cfg;

	return pool_printf(c->pool, "%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000%s",
		access_cookie_name(cfg), token, access_is_https(cfg) ? "; Secure" : "");
}

static bool refuse(struct call *c, const char *what, const char *fix, struct err *err)
{
	if (!throttle_fail(c->db, c->rq->address, &c->retry_s, err))
		return false;
	(void)err_set(err, ERR_UNAUTHENTICATED, "%s", what);
	return err_advise(err, c->subject, fix);
}

/* Who it is that signs in. */
static bool identify(struct call *c, const struct login *in, struct session *who, struct err *err)
{
	bool found;

	if (!in->token == !in->code)
		return err_set(err, ERR_INVALID, "token, code: give one of them");
	c->subject = in->token ? "token" : "code";
	if (in->token)
		return access_is_operator(c->site->operator_hash, in->token)
			       ? session_operator(c->db, who, err)
			       : refuse(c, "wrong token",
					 "Setup says where the operator's token is kept.", err);
	if (!signin_code_take(c->db, in->code, who, &found, err))
		return false;
	return found || refuse(c, "the code is wrong, used, or older than 10 minutes",
				"Get a new one, or sign in with the operator's token.", err);
}

static bool login(struct call *c, const void *input, struct err *err)
{
	CLEANUP(tx) struct tx tx = {0};
	CLEANUP(json) struct json_object *o = json_new_object();
	char token[SESSION_TOKEN_SIZE], csrf[CSRF_SIZE];
	struct session who;

	if (!identify(c, input, &who, err) || !db_begin(c->db, who.account_id, &tx, err) ||
		!session_add(c->db, who.account_id, who.user_id, token, err) ||
		!db_commit(&tx, err))
		return false;
	access_csrf_token(token, csrf);
	json_add_text(o, "csrf", csrf);
	response_json(c->rs, 200, json_text(o, c->pool));
	(void)response_header(c->rs, "Set-Cookie", cookie(c, token));
	c->caller = (struct caller){.kind = CALLER_OPERATOR,
		.account_id = who.account_id,
		.user_id = who.user_id,
		.name = "operator"};
	return true;
}

const struct action action_login = {
	.name = "login",
	.summary =
		"Sign in on a browser: the token, or a sign-in code, for a session cookie and its "
		"CSRF token.",
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
