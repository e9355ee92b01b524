/*
 * openapi: what the API is, for programs that make clients of it. It holds nothing that the source
 * does not, so anybody may read it.
 */
#include "access.h"
#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "openapi.h"
#include "site.h"

static bool openapi(struct call *c, const void *input, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	CLEANUP(json)
	struct json_object *o = openapi_document(cfg->url, access_cookie_name(cfg));

	(void)input;
	(void)err;
	return call_answer(c, 200, o);
}

const struct action action_openapi = {
	.name = "openapi",
	.summary = "The API as OpenAPI 3.1.",
	.method = "GET",
	.path = "/openapi.json",
	.needs = NEEDS_NOBODY,
	.own_tx = true,
	.answers = "200 an OpenAPI document",
	.run = openapi,
};
