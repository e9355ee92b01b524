/*
 * A client that is described by a document at the address that is its client_id
 * (draft-ietf-oauth-client-id-metadata-document). The gate reads it, under rules of its own
 * (documents.c); whether what it says is good is decided here. What is not good is kept nowhere.
 */
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "document.h"
#include "json.h"
#include "oauth_http.h"
#include "oauth_uri.h"
#include "site.h"

static bool refuse(struct err *err, const char *why)
{
	return oauth_refuse(err, "invalid_client", "client_id: its document %s", why);
}

static bool check(struct json_object *o, const char *client_id, struct err *err)
{
	const char *id, *method;

	if (!json_get_text(o, "client_id", &id) || strcmp(id, client_id) != 0)
		return refuse(err, "says another client_id than its own address");
	if (json_has(o, "client_secret") || json_has(o, "client_secret_expires_at"))
		return refuse(err, "has a client_secret, which everybody can read");
	if (json_has(o, "token_endpoint_auth_method") &&
		(!json_get_text(o, "token_endpoint_auth_method", &method) ||
			strcmp(method, "none") != 0))
		return refuse(err, "wants another token_endpoint_auth_method than none, which is "
				   "the one that this site has");
	return true;
}

static bool ask(
	struct call *c, const char *client_id, const char **body, size_t *n, struct err *err)
{
	if (document_ask(c->site->cfg, c->pool, client_id, body, n, err))
		return true;
	if (err->code == ERR_UPSTREAM)
		err->code = ERR_INVALID;
	(void)err_wrap(err, "client_id");
	return err_advise(err, err->code == ERR_INVALID ? "invalid_client" : NULL,
		"Make the address reachable from this site, or connect with an API key. Where "
		"ASB_CLIENT_DOCUMENTS is 0, clients register instead.");
}

bool oauth_document_read(struct call *c, const char *client_id, struct err *err)
{
	CLEANUP(json) struct json_object *o = NULL;
	const char *body, *uris;
	size_t n;

	if (!ask(c, client_id, &body, &n, err))
		return false;
	if (!json_parse(body, n, &o, err) || !json_is_object(o))
		return refuse(err, "is not a JSON object");
	if (!check(o, client_id, err))
		return false;
	uris = oauth_redirect_uris(c, o, err);
	if (!uris) {
		(void)err_wrap(err, "client_id: its document");
		return err_advise(err, "invalid_client", NULL);
	}
	return oauth_document_put(c->db, client_id, oauth_title(c, o), uris, err);
}
