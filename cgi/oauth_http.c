/*
 * The table of OAuth's addresses, the documents that name them, and the shape of its errors.
 */
#include "oauth_http.h"

#undef oauth_refuse /* here it is a function */

#include <stdio.h>
#include <string.h>

#include "access.h"
#include "action.h"
#include "audit.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "log.h"
#include "pool.h"
#include "site.h"
#include "text.h"

/* What clients may ask for: who may ask is not theirs to say. */
static const char *const scopes[] = {"run:read", "run:write"};

struct endpoint {
	const char *method, *path, *action; /* action: in the audit; NULL: it changes nothing */
	bool (*run)(struct call *c, struct err *err);
};

bool oauth_refuse(struct err *err, const char *word, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	(void)err_set(err, ERR_INVALID, "%s", msg);
	return err_advise(err, word, NULL);
}

/* Is the pair's name one of the fields'? */
static bool is_known(const struct field *fields, size_t n, const char *pair, size_t len)
{
	const char *eq = memchr(pair, '=', len);
	size_t name = eq ? (size_t)(eq - pair) : len;

	for (size_t i = 0; i < n; i++)
		if (strlen(fields[i].name) == name && !memcmp(fields[i].name, pair, name))
			return true;
	return false;
}

bool oauth_fields(struct pool *pool, const struct field *fields, size_t n, const char *form,
	void *out, struct err *err)
{
	CLEANUP(buf) struct buf known = BUF_INIT(64 * 1024);

	for (size_t len; *form; form += len + (form[len] == '&')) {
		len = strcspn(form, "&");
		if (is_known(fields, n, form, len))
			(void)buf_addf(&known, "%s%.*s", known.len ? "&" : "", (int)len, form);
	}
	if (field_from_query(fields, n, known.data ? known.data : "", pool, out, err))
		return true;
	return err_advise(err, "invalid_request", NULL);
}

static struct json_object *texts(const char *const *list, size_t n)
{
	struct json_object *array = json_new_array();

	for (size_t i = 0; i < n; i++)
		json_push_text(array, list[i]);
	return array;
}

#define TEXTS(...)                                \
	texts((const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* RFC 9728. */
static bool resource_metadata(struct call *c, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const struct config *cfg = c->site->cfg;

	(void)err;
	json_add_text(o, "resource", access_resource(c->pool, cfg));
	json_add(o, "authorization_servers", TEXTS(cfg->url));
	json_add(o, "scopes_supported", texts(scopes, 2));
	json_add(o, "bearer_methods_supported", TEXTS("header"));
	json_add_text(o, "resource_name", "Agent Sandbox");
	json_add_text(o, "resource_documentation", pool_printf(c->pool, "%s/", cfg->url));
	return call_answer(c, 200, o);
}

/* RFC 8414. */
static bool server_metadata(struct call *c, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const char *url = c->site->cfg->url;

	(void)err;
	json_add_text(o, "issuer", url);
	json_add_text(o, "authorization_endpoint", pool_printf(c->pool, "%s/oauth/authorize", url));
	json_add_text(o, "token_endpoint", pool_printf(c->pool, "%s/oauth/token", url));
	json_add_text(o, "registration_endpoint", pool_printf(c->pool, "%s/oauth/register", url));
	json_add_text(o, "revocation_endpoint", pool_printf(c->pool, "%s/oauth/revoke", url));
	json_add(o, "scopes_supported", texts(scopes, 2));
	json_add(o, "response_types_supported", TEXTS("code"));
	json_add(o, "response_modes_supported", TEXTS("query"));
	json_add(o, "grant_types_supported", TEXTS("authorization_code", "refresh_token"));
	json_add(o, "code_challenge_methods_supported", TEXTS("S256"));
	json_add(o, "token_endpoint_auth_methods_supported", TEXTS("none"));
	json_add(o, "revocation_endpoint_auth_methods_supported", TEXTS("none"));
	json_add_bool(
		o, "client_id_metadata_document_supported", c->site->cfg->has_client_documents);
	json_add_bool(o, "authorization_response_iss_parameter_supported", true);
	return call_answer(c, 200, o);
}

static const struct endpoint endpoints[] = {
	{"GET", "/.well-known/oauth-protected-resource", NULL, resource_metadata},
	{"GET", "/.well-known/oauth-protected-resource/mcp", NULL, resource_metadata},
	{"GET", "/.well-known/oauth-authorization-server", NULL, server_metadata},
	{"GET", "/.well-known/openid-configuration", NULL, server_metadata},
	{"GET", "/oauth/authorize", NULL, oauth_authorize},
	{"POST", "/oauth/token", "oauth_token", oauth_token},
	{"POST", "/oauth/revoke", "oauth_revoke", oauth_revoke},
	{"POST", "/oauth/register", "oauth_register", oauth_register},
};

/* The standard's error. Ours have another shape, so what is not a word of its is put into one. */
static void answer_error(struct call *c, const struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	const struct err_info *info = err_info(err->code);
	const char *word = err->reason[0] ? err->reason : "invalid_request";
	int status = info->http;

	if (err->code == ERR_INVALID)
		status = !strcmp(word, "invalid_client") ? 401 : 400;
	else if (status >= 500 || err->code == ERR_LIMITED)
		word = status == 503 || status == 429 ? "temporarily_unavailable" : "server_error";
	else
		word = "invalid_request";
	json_add_text(o, "error", word);
	json_add_text(o, "error_description",
		info->visible ? err->msg : "something went wrong on our side");
	json_add_text(o, "request_id", c->rq->id);
	buf_reset(&c->rs->headers);
	(void)call_answer(c, status, o);
	if (err->code == ERR_LIMITED)
		(void)response_header(c->rs, "Retry-After",
			pool_printf(c->pool, "%lld", c->retry_s > 0 ? (long long)c->retry_s : 600));
	if (err->code == ERR_BUSY)
		(void)response_header(c->rs, "Retry-After", "1");
}

static void audit(struct call *c, const struct endpoint *e, int64_t ms)
{
	CLEANUP(tx) struct tx tx = {0};
	struct audit row = {.account_id = c->caller.account_id,
		.caller = c->caller.name,
		.address = c->rq->address,
		.method = e->method,
		.path = e->path,
		.action = e->action,
		.subject = c->subject,
		.request_id = c->rq->id,
		.status = c->rs->status,
		.ms = ms};
	struct err err;

	if (!db_begin(c->db, row.account_id, &tx, &err) || !audit_add(c->db, &row, &err) ||
		!db_commit(&tx, &err))
		log_error("rq=%s %s", c->rq->id, err.msg);
}

static bool run(struct call *c, const struct endpoint *e, struct err *err)
{
	const struct config *cfg = c->site->cfg;
	const char *method = c->rs->head_only ? "GET" : c->rq->method;

	if (!access_host(cfg, c->rq, err) || !access_origin(cfg, c->rq, err) ||
		!access_query(c->rq, err))
		return false;
	if (strcmp(method, e->method) != 0)
		return oauth_refuse(
			err, "invalid_request", "this address takes %s only", e->method);
	return e->run(c, err);
}

bool oauth_serve(struct call *c, int64_t start_ms)
{
	const struct endpoint *e = NULL;
	struct err err = {0};
	int64_t ms;
	bool ok;

	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
		if (!strcmp(endpoints[i].path, c->rq->path))
			e = &endpoints[i];
	if (!e)
		return false;
	ok = run(c, e, &err);
	if (!ok)
		answer_error(c, &err);
	ms = time_boot_ms() - start_ms;
	if (e->action)
		audit(c, e, ms);
	if (!ok && c->rs->status >= 500)
		log_error("rq=%s %s %d %lldms %s", c->rq->id, e->path, c->rs->status, (long long)ms,
			log_quote(err.msg));
	else
		log_info("rq=%s caller=%s subject=%s %s %d %lldms %s", c->rq->id, c->caller.name,
			c->subject ? c->subject : "-", e->path, c->rs->status, (long long)ms,
			ok ? "" : log_quote(err.msg));
	return true;
}
