/*
 * session: is somebody signed in, and who. What a page asks first; 401 is its answer too.
 */
#include "action.h"
#include "cleanup.h"
#include "json.h"

static bool session(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	char csrf[CSRF_SIZE];

	(void)input;
	json_add_bool(o, "signed_in", true);
	if (c->caller.kind == CALLER_SESSION) {
		access_csrf_token(c->caller.token, csrf);
		json_add_text(o, "csrf", csrf);
	} else {
		json_add_text(o, "csrf", NULL);
	}
	return call_add_caller(c, o, err) && call_answer(c, 200, o);
}

const struct action action_session = {
	.name = "session",
	.summary = "Whether somebody is signed in, and who.",
	.method = "GET",
	.path = "/session.json",
	.needs = NEEDS_CALLER,
	.answers =
		"200 {\"signed_in\":true,\"csrf\",\"caller\":{\"kind\",\"name\"}}; `csrf` is null "
		"with a token, which needs none; 401 where nobody is",
	.run = session,
};
