/*
 * A call that wants a secret which nobody has entered, of a client that can send its person to an
 * address: the call ends with `input_required` and the address of the page. A secret never goes
 * through a form, a client or a model. The client sends the call again when its person is back, or
 * does not want to; then it is answered in words where the secret is still not there.
 */
#include "cleanup.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "response.h"

static bool can_open(const struct mcp *m)
{
	return m->call.era == MCP_MODERN &&
	       json_is_object(json_get(json_get(m->capabilities, "elicitation"), "url"));
}

bool mcp_secret_is_answer(struct mcp *m)
{
	return json_has(json_get(m->params, "inputResponses"), MCP_SECRET_KEY);
}

bool mcp_secret_ask(struct mcp *m, const struct err *err)
{
	struct call *c = &m->serve.call;
	struct json_object *params, *request, *requests, *result;
	const char *secret, *url;

	if (!can_open(m) || mcp_secret_is_answer(m) || !c->context ||
		!json_get_text(c->context, "secret", &secret) ||
		!json_get_text(c->context, "url", &url))
		return false;
	params = json_new_object();
	json_add_text(params, "mode", "url");
	json_add_text(params, "message",
		pool_printf(c->pool,
			"%s. It is entered on a page of the site, signed in, and goes to nobody "
			"else.",
			err->msg));
	json_add_text(params, "url", url);
	request = json_new_object();
	json_add_text(request, "method", "elicitation/create");
	json_add(request, "params", params);
	requests = json_new_object();
	json_add(requests, MCP_SECRET_KEY, request);
	result = json_new_object();
	json_add_text(result, "resultType", "input_required");
	json_add(result, "inputRequests", requests);
	response_json(c->rs, 200, mcp_answer(c->pool, &m->call, result));
	return true;
}
