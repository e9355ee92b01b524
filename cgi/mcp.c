/*
 * The MCP door, from the outside in: Host and Origin, who asks, the HTTP method, the content type,
 * then what mcp_request.c reads, then the method. Nothing is kept between two requests.
 */
#include "mcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "json.h"
#include "mcp_door.h"
#include "mcp_fixture.h"
#include "pool.h"
#include "request.h"
#include "response.h"
#include "site.h"

/* Lists are the caller's own and change with what he does. */
#define TTL_MS 60000

bool mcp_is_path(const char *path)
{
	return !strcmp(path, "/mcp") || !strcmp(path, "/mcp/");
}

bool mcp_fault(
	struct mcp *m, int status, int code, struct json_object *data_taken, const char *fmt, ...)
{
	struct mcp_fault *f = &m->fault;
	va_list ap;

	json_free(f->data);
	*f = (struct mcp_fault){.status = status, .code = code, .data = data_taken, .has_id = true};
	va_start(ap, fmt);
	(void)vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	return false;
}

bool mcp_fault_err(struct mcp *m, int status, const struct err *err)
{
	struct call *c = &m->serve.call;
	CLEANUP(json) struct json_object *o = err_json(err, c->rq->id, c->context);
	struct json_object *data = json_share(json_get(o, "error"));
	const char *message = "", *fix = "";

	c->context = NULL;
	(void)json_get_text(data, "message", &message);
	(void)json_get_text(data, "fix", &fix);
	return mcp_fault(m, status, err_info(err->code)->jsonrpc, data, "%s%s%s", message,
		*fix ? ". " : "", fix);
}

bool mcp_param(struct mcp *m, const char *name, const char **out)
{
	if (json_get_text(m->params, name, out))
		return true;
	return mcp_bad_params(m, "params.%s: must be text", name);
}

bool mcp_one_page(struct mcp *m)
{
	return !json_get(m->params, "cursor") ||
	       mcp_bad_params(m, "params.cursor: there is one page only, which has no cursor");
}

bool mcp_outer_fault(struct mcp *m, int status, const struct err *err)
{
	(void)mcp_fault_err(m, status, err);
	m->fault.has_id = false;
	serve_error_headers(&m->serve, err);
	return false;
}

/* *done: it was answered by the door itself. */
static bool check_door(struct mcp *m, bool *done, struct err *err)
{
	struct serve *s = &m->serve;
	const struct request *rq = s->call.rq;
	bool ok;

	if (!serve_place(s, err) || !serve_caller(s, err))
		return mcp_outer_fault(m, err_info(err->code)->http, err);
	if (s->call.caller.kind == CALLER_NOBODY || s->call.caller.kind == CALLER_SESSION) {
		(void)err_set(err, ERR_UNAUTHENTICATED, "a bearer token is needed here");
		(void)err_advise(err, "no_caller",
			"Configure the client to send Authorization: Bearer TOKEN with this "
			"server.");
		return mcp_outer_fault(m, 401, err);
	}
	if (s->call.site->cfg->has_conformance && mcp_fixture_door(m, &ok)) {
		*done = ok;
		return ok;
	}
	if (strcmp(rq->method, "POST") != 0) {
		(void)err_set(err, ERR_INVALID, "this address takes POST only");
		(void)mcp_outer_fault(m, 405, err);
		(void)response_header(s->call.rs, "Allow", "POST");
		return false;
	}
	if (!request_has_type(rq, "application/json")) {
		(void)err_set(err, ERR_MALFORMED, "Content-Type must be application/json");
		return mcp_outer_fault(m, 415, err);
	}
	return true;
}

static const struct mcp_method *find_method(const struct mcp *m)
{
	for (const struct mcp_method *method = mcp_methods; method->name; method++)
		if (!strcmp(method->name, m->method))
			return method;
	return NULL;
}

/* True: it says what has been done. */
static bool finish(struct mcp *m, const struct mcp_method *method)
{
	if (m->call.era == MCP_MODERN && method && method->cached && m->result &&
		!json_get(m->result, "inputRequests")) {
		json_add_i64(m->result, "ttlMs", TTL_MS);
		json_add_text(m->result, "cacheScope", "private");
	}
	return true;
}

static bool run_method(struct mcp *m)
{
	const struct mcp_method *method = find_method(m);
	bool fixtures = m->serve.call.site->cfg->has_conformance, modern, ok;

	if (!mcp_request_check(m, method ? method->named : NULL))
		return false;
	modern = m->call.era == MCP_MODERN;
	if (fixtures && mcp_fixture_run(m, &ok))
		return ok && finish(m, method);
	if (m->kind != MCP_REQUEST)
		return true;
	if (!method || (modern ? !method->modern : !method->legacy))
		return mcp_fault(m, modern ? 404 : 200, MCP_NO_METHOD, NULL,
			"no such method: this server answers server/discover, tools/*, "
			"resources/*, prompts/*, completion/complete, and of tasks get, update and "
			"cancel");
	m->serve.what = method->name;
	if (!method->run(m))
		return false;
	if (fixtures)
		mcp_fixture_extend(m);
	return finish(m, method);
}

static void answer_fault(struct mcp *m)
{
	struct call *c = &m->serve.call;
	CLEANUP(json) struct json_object *error = json_new_object();
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

	json_add_i64(error, "code", m->fault.code);
	json_add_text(error, "message", m->fault.message);
	if (m->fault.data)
		json_add(error, "data", json_share(m->fault.data));
	(void)buf_adds(&b, "{\"jsonrpc\":\"2.0\",");
	if (m->fault.has_id)
		(void)buf_addf(&b, "\"id\":%s,", m->call.id ? m->call.id : "null");
	(void)buf_addf(&b, "\"error\":%s}", json_text(error, c->pool));
	response_json(c->rs, m->fault.status, b.data);
}

static void answer(struct mcp *m, bool ok)
{
	struct response *rs = m->serve.call.rs;

	if (m->answered)
		return;
	if (!ok) {
		answer_fault(m);
	} else if (m->kind != MCP_REQUEST) {
		rs->status = 202;
	} else {
		response_json(
			rs, 200, mcp_answer(m->serve.call.pool, &m->call, json_share(m->result)));
		if (m->serve.call.site->cfg->has_conformance)
			mcp_fixture_as_stream(m);
	}
}

void mcp_serve(const struct site *site, struct request *rq, struct response *rs)
{
	struct mcp m = {.call = {.version = "", .tool = ""}};
	struct err err = {0};
	bool ok, done = false;

	serve_init(&m.serve, site, rq, rs);
	m.serve.door = "/mcp";
	ok = check_door(&m, &done, &err) && (done || (mcp_request_read(&m) && run_method(&m)));
	answer(&m, ok);
	/* a tool call ends its own: its status is the action's */
	if (!m.answered) {
		if (!ok && !err.code)
			(void)err_set(&err,
				m.fault.code == MCP_INTERNAL ? ERR_INTERNAL : ERR_INVALID, "%.200s",
				m.fault.message);
		serve_end(&m.serve, ok, &err);
	}
	json_free(m.fault.data);
	json_free(m.result);
	json_free(m.body);
}
