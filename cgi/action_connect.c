/*
 * connect, consent: a client's request as the person sees it who may allow it, and the answer. Both
 * take the query of /oauth/authorize as it came and check it anew.
 */
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "oauth_http.h"
#include "oauth_uri.h"
#include "pool.h"
#include "site.h"

struct connect {
	const char *request;
	bool allow;
};

static const struct field connect_fields[] = {
	FIELD(TEXT, struct connect, request, .required = true, .max = 8000,
		.help = "The query of the client's link to /oauth/authorize.",
		.fix = "Start again from the program that wants to be connected."),
};

static const struct field consent_fields[] = {
	FIELD(TEXT, struct connect, request, .required = true, .max = 8000,
		.help = "The query of the client's link to /oauth/authorize.",
		.fix = "Start again from the program that wants to be connected."),
	FIELD(BOOL, struct connect, allow, .help = "Whether the person allows it."),
};

static bool connect_get(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const struct connect *in = input;
	struct json_object *scopes = json_new_array();
	struct oauth_request rq;
	bool may_redirect;
	const char *host;
	size_t n;

	json_add(o, "scopes", scopes);
	if (!oauth_request_read(c, in->request, &rq, &may_redirect, err) &&
		(err->code != ERR_NOT_FOUND || !oauth_document_read(c, rq.client_id, err) ||
			!oauth_request_read(c, in->request, &rq, &may_redirect, err)))
		return false;
	for (int s = SCOPE_RUN_READ; s <= (int)rq.granted; s++)
		json_push_text(scopes, scope_name((enum scope)s));
	json_add_text(o, "client_id", rq.client->client_id);
	json_add_text(o, "title", rq.client->title);
	json_add_bool(o, "document", rq.client->is_document);
	json_add_text(o, "redirect_uri", rq.redirect_uri);
	host = oauth_uri_host(rq.redirect_uri, &n);
	json_add_text_n(o, "redirect_host", host, n);
	json_add_bool(o, "loopback", oauth_uri_is_loopback(rq.redirect_uri));
	json_add_text(o, "resource", rq.resource);
	return call_answer(c, 200, o);
}

static bool allow(struct call *c, const struct oauth_request *rq, const char **to, struct err *err)
{
	const struct oauth_grant_new new = {.account_id = c->caller.account_id,
		.user_id = c->caller.user_id,
		.client_id = rq->client->client_id,
		.title = rq->client->title,
		.redirect_uri = rq->redirect_uri,
		.resource = rq->resource,
		.challenge = rq->code_challenge,
		.scope = rq->granted};
	char name[ID_SIZE], code[TOKEN_SIZE];

	if (!oauth_grant_add(c->db, &new, name, code, err))
		return false;
	c->subject = pool_strdup(c->pool, name);
	*to = oauth_redirect(c->pool, c->site->cfg, rq, "code", code);
	return true;
}

static bool consent(struct call *c, const void *input, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const struct connect *in = input;
	struct oauth_request rq;
	bool may_redirect;
	const char *to;

	if (*c->rq->idempotency_key)
		return err_set(err, ERR_INVALID, "Idempotency-Key: is not taken here");
	if (!oauth_request_read(c, in->request, &rq, &may_redirect, err))
		return false;
	if (!in->allow)
		to = oauth_redirect(c->pool, c->site->cfg, &rq, "error", "access_denied");
	else if (!allow(c, &rq, &to, err))
		return false;
	json_add_text(o, "redirect", to);
	return call_answer(c, 200, o);
}

const struct action action_connect = {
	.name = "connect",
	.summary = "What a client that wants to be connected asks for.",
	.method = "GET",
	.path = "/connect.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.own_tx = true, /* it may wait for a document, which must hold no transaction */
	.input_size = sizeof(struct connect),
	ACTION_FIELDS(connect_fields),
	.answers = "200 {\"client_id\",\"title\",\"document\",\"redirect_uri\",\"redirect_host\","
		   "\"loopback\",\"scopes\",\"resource\"}; 422 where the request is none, or the "
		   "client's document cannot be read",
	.run = connect_get,
};

const struct action action_consent = {
	.name = "consent",
	.summary = "Allow it, or not. The answer says where the browser goes with that.",
	.method = "POST",
	.path = "/consent.json",
	.needs = NEEDS_CALLER,
	.scope = SCOPE_ADMIN,
	.mutates = true,
	.type = "application/json",
	.input_size = sizeof(struct connect),
	ACTION_FIELDS(consent_fields),
	.answers = "200 {\"redirect\"}; Idempotency-Key is not taken",
	.run = consent,
};
