/*
 * /oauth/authorize: what a client asks a person for is checked, and the person is asked on a page
 * of ours, which sends the same query back (action_connect.c): nothing is kept in between.
 */
#include <string.h>

#include "access.h"
#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "encode.h"
#include "json.h"
#include "oauth_http.h"
#include "oauth_uri.h"
#include "pool.h"
#include "site.h"
#include "text.h"

#define QUERY_MAX 6000	  /* bytes; it becomes part of a header */
#define CHALLENGE_SIZE 43 /* of a SHA-256 in base64 without padding */

static const struct field fields[] = {
	FIELD(TEXT, struct oauth_request, client_id, .required = true, .max = OAUTH_ID_MAX),
	FIELD(TEXT, struct oauth_request, redirect_uri, .required = true, .max = OAUTH_URI_MAX),
	FIELD(TEXT, struct oauth_request, response_type, .max = 100),
	FIELD(TEXT, struct oauth_request, scope, .max = 1000),
	FIELD(TEXT, struct oauth_request, state, .max = 2000),
	FIELD(TEXT, struct oauth_request, code_challenge, .max = 200),
	FIELD(TEXT, struct oauth_request, code_challenge_method, .max = 20),
	FIELD(TEXT, struct oauth_request, resource, .max = 1000),
};

/* A sentence that names no one's input: the person who reads it did not write that. */
static const char fatal_page[] =
	"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<title>Not connected - Agent Sandbox</title></head><body><main><h1>Not connected</h1>"
	"<p>The program that sent you here is not known to this site, or it wants to be told the "
	"answer at an address that it has not registered. Nothing was allowed.</p>"
	"<p>Start again from the program. If it stays, the program has to register anew, or its "
	"client_id is no address of a document (https, with a path).</p>"
	"</main></body></html>\n";

/* The highest of the scopes asked for that a client may have; what we do not know is left out, and
 * the client is told what it got. */
static enum scope scope_asked(const char *list)
{
	enum scope got = SCOPE_NONE;

	for (size_t n; *list; list += n) {
		list += strspn(list, " ");
		n = strcspn(list, " ");
		for (int s = SCOPE_RUN_READ; s <= SCOPE_RUN_WRITE; s++)
			if (strlen(scope_name((enum scope)s)) == n &&
				!memcmp(scope_name((enum scope)s), list, n) && (int)got < s)
				got = (enum scope)s;
	}
	return got;
}

static bool is_challenge(const char *s)
{
	return strlen(s) == CHALLENGE_SIZE &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
		       CHALLENGE_SIZE;
}

/* What the client is told of. */
static bool check(struct call *c, struct oauth_request *rq, struct err *err)
{
	const char *ours = access_resource(c->pool, c->site->cfg);

	if (!rq->response_type || strcmp(rq->response_type, "code") != 0)
		return oauth_refuse(
			err, "unsupported_response_type", "response_type: must be code");
	if (!rq->code_challenge_method || strcmp(rq->code_challenge_method, "S256") != 0)
		return oauth_refuse(err, "invalid_request", "code_challenge_method: must be S256");
	if (!rq->code_challenge || !is_challenge(rq->code_challenge))
		return oauth_refuse(err, "invalid_request",
			"code_challenge: must be a SHA-256 in base64url, 43 characters");
	if (!rq->resource)
		rq->resource = ours;
	if (strcmp(rq->resource, ours) != 0)
		return oauth_refuse(err, "invalid_target", "resource: must be %s", ours);
	rq->granted = scope_asked(rq->scope ? rq->scope : scope_list(SCOPE_RUN_WRITE));
	if (!rq->granted)
		return oauth_refuse(
			err, "invalid_scope", "scope: run:read and run:write are there");
	return true;
}

bool oauth_request_read(struct call *c, const char *query, struct oauth_request *out,
	bool *may_redirect, struct err *err)
{
	CLEANUP(json) struct json_object *uris = NULL;

	*may_redirect = false;
	*out = (struct oauth_request){0};
	if (strlen(query) > QUERY_MAX)
		return oauth_refuse(err, "invalid_request", "the request is too long");
	if (!oauth_fields(c->pool, fields, sizeof(fields) / sizeof(fields[0]), query, out, err) ||
		!oauth_client_get(c, out->client_id, &out->client, err))
		return false;
	if (!json_parse(out->client->redirect_uris, strlen(out->client->redirect_uris), &uris, err))
		return false;
	if (!oauth_uri_is_good(out->redirect_uri) || !oauth_uri_is_listed(uris, out->redirect_uri))
		return oauth_refuse(
			err, "invalid_request", "redirect_uri: is none that the client registered");
	*may_redirect = true;
	return check(c, out, err);
}

const char *oauth_redirect(struct pool *pool, const struct config *cfg,
	const struct oauth_request *rq, const char *name, const char *value)
{
	CLEANUP(buf) struct buf b = BUF_INIT(16 * 1024);

	(void)buf_addf(
		&b, "%s%c%s=", rq->redirect_uri, strchr(rq->redirect_uri, '?') ? '&' : '?', name);
	url_add(&b, value);
	if (rq->state) {
		(void)buf_adds(&b, "&state=");
		url_add(&b, rq->state);
	}
	/* RFC 9207: a client of several sites knows which of them answers */
	(void)buf_adds(&b, "&iss=");
	url_add(&b, cfg->url);
	return pool_strdup(pool, b.data);
}

bool oauth_authorize(struct call *c, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	struct oauth_request rq;
	bool may_redirect;
	const char *to;

	/* a document is read for the person who has signed in, and for nobody else */
	if (oauth_request_read(c, c->rq->query, &rq, &may_redirect, err) ||
		err->code == ERR_NOT_FOUND) {
		to = pool_printf(c->pool, "%s/dashboard/connect?%s", cfg->url, c->rq->query);
	} else if (may_redirect && err->code == ERR_INVALID) {
		to = oauth_redirect(c->pool, cfg, &rq, "error", err->reason);
	} else if (err->code == ERR_INVALID) {
		response_text(c->rs, 400, "text/html", fatal_page, strlen(fatal_page));
		return true;
	} else {
		return false;
	}
	response_text(c->rs, 302, "text/plain", "", 0);
	(void)response_header(c->rs, "Location", to);
	return true;
}
