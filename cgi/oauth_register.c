/*
 * /oauth/register (RFC 7591) and who a client_id is. A registration gives nothing: a person has to
 * allow the client, and is shown where the answer will go.
 */
#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "oauth_http.h"
#include "oauth_uri.h"
#include "pool.h"
#include "site.h"
#include "text.h"

#define REGISTRATION_MAX (32 * 1024)
#define URIS_MAX 10

const char *oauth_redirect_uris(struct call *c, struct json_object *o, struct err *err)
{
	struct json_object *uris = json_get(o, "redirect_uris");
	const char *uri;

	if (!json_count(uris) || json_count(uris) > URIS_MAX) {
		(void)oauth_refuse(err, "invalid_redirect_uri",
			"redirect_uris: must be 1 to %d addresses", URIS_MAX);
		return NULL;
	}
	for (size_t i = 0; i < json_count(uris); i++)
		if (!json_as_text(json_at(uris, i), &uri) || !oauth_uri_is_good(uri)) {
			(void)oauth_refuse(err, "invalid_redirect_uri",
				"redirect_uris: each must be https, http on loopback, or of a "
				"program's own scheme, without a fragment");
			return NULL;
		}
	return json_text(uris, c->pool);
}

const char *oauth_title(struct call *c, struct json_object *o)
{
	CLEANUP(buf) struct buf b = BUF_INIT(64 * 1024);
	const char *name;
	size_t n;

	if (!json_get_text(o, "client_name", &name) || !*name)
		return "a client without a name";
	text_add_sane(&b, name, strlen(name));
	n = b.len < OAUTH_TITLE_MAX ? b.len : OAUTH_TITLE_MAX;
	while (n && n < b.len && ((unsigned char)b.data[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		if (b.data[i] == '\n' || b.data[i] == '\t')
			b.data[i] = ' ';
	return n ? pool_memdup(c->pool, b.data, n) : "a client without a name";
}

bool oauth_register(struct call *c, struct err *err)
{
	CLEANUP(json) struct json_object *in = NULL, *o = json_new_object();
	struct json_object *list;
	char client_id[ID_SIZE];
	const char *body, *uris, *name;
	size_t n;

	if (!request_has_type(c->rq, "application/json"))
		return oauth_refuse(
			err, "invalid_client_metadata", "Content-Type must be application/json");
	if (!request_body(c->rq, REGISTRATION_MAX, &body, &n, err))
		return false;
	if (!json_parse(body, n, &in, err))
		return oauth_refuse(err, "invalid_client_metadata", "not JSON");
	uris = oauth_redirect_uris(c, in, err);
	if (!uris)
		return false;
	name = oauth_title(c, in);
	if (!oauth_client_add(c->db, name, uris, client_id, err))
		return false;
	c->subject = pool_strdup(c->pool, client_id);
	json_add_text(o, "client_id", client_id);
	json_add_i64(o, "client_id_issued_at", time_now_ms() / 1000);
	json_add_text(o, "client_name", name);
	if (!json_parse(uris, strlen(uris), &list, err))
		return false;
	json_add(o, "redirect_uris", list);
	list = json_new_array();
	json_push_text(list, "authorization_code");
	json_push_text(list, "refresh_token");
	json_add(o, "grant_types", list);
	list = json_new_array();
	json_push_text(list, "code");
	json_add(o, "response_types", list);
	/* whatever it asked for: it has no secret here */
	json_add_text(o, "token_endpoint_auth_method", "none");
	json_add_text(o, "scope", scope_list(SCOPE_RUN_WRITE));
	return call_answer(c, 201, o);
}

bool oauth_client_get(
	struct call *c, const char *client_id, struct oauth_client **out, struct err *err)
{
	bool is_document = oauth_uri_is_document(client_id);

	if (is_document && !c->site->cfg->has_client_documents)
		return oauth_refuse(err, "invalid_client",
			"client_id: this site takes no documents; register instead");
	if (!oauth_client_find(c->db, c->pool, client_id, out, err))
		return false;
	if (*out)
		return true;
	if (!is_document)
		return oauth_refuse(err, "invalid_client", "client_id: no such client");
	(void)err_set(err, ERR_NOT_FOUND, "client_id: its document has to be read");
	return err_advise(err, "document", "Load the page again.");
}
