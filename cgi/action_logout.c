/*
 * logout: ends this session and clears what the browser keeps of us.
 */
#include "action.h"
#include "pool.h"
#include "session.h"
#include "site.h"

static bool logout(struct call *c, const void *input, struct err *err)
{
	const struct config *cfg = c->site->cfg;

	(void)input;
	if (c->caller.kind == CALLER_SESSION && !session_drop(c->db, c->caller.id, err))
		return false;
	response_json(c->rs, 200, "{\"ok\":true}");
	(void)response_header(c->rs, "Set-Cookie",
		pool_printf(c->pool, "%s=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0%s",
			access_cookie_name(cfg), access_is_https(cfg) ? "; Secure" : ""));
	(void)response_header(c->rs, "Clear-Site-Data", "\"cache\", \"cookies\", \"storage\"");
	return true;
}

const struct action action_logout = {
	.name = "logout",
	.summary = "End the session of this browser.",
	.method = "POST",
	.path = "/logout.json",
	.needs = NEEDS_CALLER,
	.mutates = true,
	.type = "application/json",
	.answers = "200 {\"ok\":true}; with a token nothing ends",
	.run = logout,
};
