/*
 * One request, layer by layer, in the order of the functions in `steps`: nothing is read of a body
 * before the caller is known, and nothing is written before everything is checked.
 */
#include "router.h"

#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "field.h"
#include "json.h"
#include "log.h"
#include "mcp.h"
#include "oauth_http.h"
#include "pool.h"
#include "serve.h"
#include "token.h"

struct route {
	struct serve serve; /* first: the steps take this */
	bool wrong_method;
	const char *allowed; /* the method that would be right */
};

/* NULL with wrong_method set where the path is known and the method is not. A HEAD is its GET, of
 * which response_send leaves the body out. */
static const struct action *find(struct route *r)
{
	const struct request *rq = r->serve.call.rq;
	const char *method = r->serve.call.rs->head_only ? "GET" : rq->method;

	for (size_t i = 0; actions[i]; i++) {
		if (strcmp(actions[i]->path, rq->path))
			continue;
		if (!strcmp(actions[i]->method, method))
			return actions[i];
		r->wrong_method = true;
		r->allowed = actions[i]->method;
	}
	return NULL;
}

static bool find_action(struct route *r, struct err *err)
{
	r->serve.action = find(r);
	if (r->serve.action)
		r->serve.door = r->serve.action->path;
	else if (!token_is_within(r->serve.call.rq->path))
		r->serve.door = pool_strdup(r->serve.call.pool, log_quote(r->serve.call.rq->path));
	if (r->serve.action)
		return true;
	if (r->wrong_method)
		(void)err_set(err, ERR_INVALID, "this address takes %s only", r->allowed);
	else
		(void)err_set(err, ERR_NOT_FOUND, "no such address");
	return err_advise(err, NULL,
		"GET /openapi.json says which addresses there are, and what each takes.");
}

static bool check_csrf(struct serve *s, struct err *err)
{
	if (!s->action->mutates)
		return true;
	if (s->action->needs == NEEDS_NOBODY)
		return access_csrf_login(s->call.rq, err);
	return access_csrf(s->call.rq, &s->call.caller, err);
}

static bool check_type(struct serve *s, struct err *err)
{
	if (!s->action->type || request_has_type(s->call.rq, s->action->type))
		return true;
	(void)err_set(err, ERR_MALFORMED, "Content-Type must be %s", s->action->type);
	return err_advise(err, "content_type", NULL);
}

/* An empty body counts as {}. */
static bool read_json(struct serve *s, struct err *err)
{
	const struct action *a = s->action;
	struct request *rq = s->call.rq;
	CLEANUP(json) struct json_object *o = NULL;
	bool empty;

	if (*rq->query)
		return err_set(
			err, ERR_INVALID, "inputs go into the body, not into the query string");
	if (!request_body(rq, ROUTER_BODY_MAX, &s->body, &s->body_n, err))
		return false;
	empty = !s->body_n;
	if (!json_parse(empty ? "{}" : s->body, empty ? 2 : s->body_n, &o, err))
		return false;
	return field_from_json(a->fields, a->nfields, o, s->call.pool, s->input, err);
}

static bool read_input(struct serve *s, struct err *err)
{
	const struct action *a = s->action;

	s->input = pool_alloc(s->call.pool, a->input_size);
	if (a->type && !a->streams)
		return read_json(s, err);
	return field_from_query(
		a->fields, a->nfields, s->call.rq->query, s->call.pool, s->input, err);
}

static bool serve(struct route *r, struct err *err)
{
	static bool (*const steps[])(struct serve * s, struct err * err) = {
		serve_caller, serve_may, check_csrf, check_type, read_input, serve_run};

	if (!serve_place(&r->serve, err) || !find_action(r, err))
		return false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!steps[i](&r->serve, err))
			return false;
	return true;
}

static void answer_error(struct route *r, const struct err *err)
{
	struct call *c = &r->serve.call;

	response_error(c->rs, err, c->rq->id, c->context);
	c->context = NULL;
	if (r->wrong_method && !r->serve.action && err->code == ERR_INVALID) {
		c->rs->status = 405;
		(void)response_header(c->rs, "Allow", r->allowed);
	}
	serve_error_headers(&r->serve, err);
}

void router_serve(const struct site *site, struct request *rq, struct response *rs)
{
	struct err err = {0};
	struct route r = {0};
	struct serve *s = &r.serve;
	bool ok;
	char csrf[CSRF_SIZE];

	rs->head_only = !strcmp(rq->method, "HEAD");
	if (mcp_is_path(rq->path)) {
		mcp_serve(site, rq, rs);
		return;
	}
	serve_init(s, site, rq, rs);
	if (oauth_serve(&s->call, s->start_ms))
		return;
	ok = serve(&r, &err);
	if (!ok)
		answer_error(&r, &err);
	/* a page that was loaded again finds its CSRF token here; no other origin can read it */
	if (ok && s->call.caller.kind == CALLER_SESSION && !s->action->mutates) {
		access_csrf_token(s->call.caller.token, csrf);
		(void)response_header(rs, "X-CSRF-Token", csrf);
	}
	serve_end(s, ok, &err);
}
