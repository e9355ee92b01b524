/*
 * One request, layer by layer, in the order of the functions in `steps`: nothing is read of a body
 * before the caller is known, and nothing is written before everything is checked.
 */
#include "router.h"

#include <stdio.h>
#include <string.h>

#include "action.h"
#include "audit.h"
#include "cleanup.h"
#include "config.h"
#include "encode.h"
#include "idempotency.h"
#include "json.h"
#include "log.h"
#include "pool.h"
#include "session.h"
#include "site.h"
#include "text.h"

#define KEY_MAX 128	    /* bytes of an Idempotency-Key */
#define RETRY_BUSY_S "1"    /* the database is coming back */
#define RETRY_LIMITED_S 600 /* where nobody said better */

struct serve {
	struct call call;
	const struct action *action; /* NULL: none found yet */
	void *input;
	const char *body;
	size_t body_n;
	bool wrong_method;
	bool audited;
	int64_t start_ms;    /* on time_boot_ms */
	const char *allowed; /* the method that would be right */
};

/* NULL with wrong_method set where the path is known and the method is not. A HEAD is its GET, of
 * which response_send leaves the body out. */
static const struct action *route(struct serve *s)
{
	const struct request *rq = s->call.rq;
	const char *method = s->call.rs->head_only ? "GET" : rq->method;

	for (size_t i = 0; actions[i]; i++) {
		if (strcmp(actions[i]->path, rq->path))
			continue;
		if (!strcmp(actions[i]->method, method))
			return actions[i];
		s->wrong_method = true;
		s->allowed = actions[i]->method;
	}
	return NULL;
}

static bool find_action(struct serve *s, struct err *err)
{
	s->action = route(s);
	if (s->action)
		return true;
	if (s->wrong_method)
		return err_set(err, ERR_INVALID, "this address takes %s only", s->allowed);
	return err_set(err, ERR_NOT_FOUND, "no such address");
}

static bool check_caller(struct serve *s, struct err *err)
{
	struct call *c = &s->call;

	if (!access_caller(c->site->cfg, c->db, c->site->operator_hash, c->rq, &c->caller,
		    &c->retry_s, err))
		return false;
	if (c->caller.kind != CALLER_NOBODY || s->action->needs == NEEDS_NOBODY)
		return true;
	if (s->action->needs == NEEDS_LOCAL && access_is_local(c->site->cfg, c->rq))
		return true;
	(void)err_set(err, ERR_UNAUTHENTICATED, "sign in first");
	return err_advise(
		err, "no_caller", "Send Authorization: Bearer TOKEN, or sign in on the page.");
}

static bool check_csrf(struct serve *s, struct err *err)
{
	if (!s->action->mutates)
		return true;
	if (s->action->needs == NEEDS_NOBODY)
		return access_csrf_login(s->call.rq, err);
	return access_csrf(s->call.rq, &s->call.caller, err);
}

static bool check_key(struct serve *s, struct err *err)
{
	const char *key = s->call.rq->idempotency_key;

	if (!s->action->mutates || !*key)
		return true;
	if (strlen(key) > KEY_MAX ||
		strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_.:-") != strlen(key))
		return err_set(err, ERR_INVALID,
			"Idempotency-Key: must be 1 to %d letters, digits, and _ . : -", KEY_MAX);
	return true;
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

/* The answer the first time: its JSON, or the internal address of the wait. */
static const char *kept_answer(const struct response *rs)
{
	return rs->internal ? rs->internal : rs->body.data;
}

static void replay(struct response *rs, int status, const char *kept)
{
	if (kept[0] == '/') {
		rs->internal = kept;
		return;
	}
	response_json(rs, status, kept);
	(void)response_header(rs, "Idempotent-Replayed", "true");
}

static bool claim(struct serve *s, struct idempotency *key, unsigned char hash[SHA256_SIZE],
	bool *first, struct err *err)
{
	struct call *c = &s->call;
	const char *kept = NULL;
	int status = 0;

	*key = (struct idempotency){.account_id = c->caller.account_id,
		.key = c->rq->idempotency_key,
		.route = pool_printf(c->pool, "%s %s", c->rq->method, c->rq->path),
		.body_sha256 = hash};
	if (s->action->streams)
		memcpy(hash, c->rq->body_sha256, SHA256_SIZE);
	else
		sha256(s->body, s->body_n, hash);
	if (!idempotency_claim(c->db, c->pool, key, first, &status, &kept, err))
		return false;
	if (!*first)
		replay(c->rs, status, kept);
	return true;
}

/* The one place where Idempotency-Key is honoured: claim, work and kept answer are one transaction.
 */
static bool run_keyed(struct serve *s, struct err *err)
{
	unsigned char hash[SHA256_SIZE];
	struct idempotency key;
	bool first = false;

	if (!claim(s, &key, hash, &first, err))
		return false;
	if (!first)
		return true;
	if (!s->action->streams && !s->action->run(&s->call, s->input, err))
		return false;
	return idempotency_store(
		s->call.db, &key, s->call.rs->status, kept_answer(s->call.rs), err);
}

/* nginx's own answer to the redirect comes later: to the log and the audit it is "accepted". */
static int seen_status(const struct response *rs)
{
	return rs->internal ? 202 : rs->status;
}

/* In the transaction of what it tells of, or, of what has none or was refused, in one of its own.
 */
static bool write_audit(struct serve *s, struct err *err)
{
	const struct call *c = &s->call;
	struct audit row = {.account_id = c->caller.account_id,
		.caller = c->caller.name,
		.address = c->rq->address,
		.method = c->rq->method,
		.path = s->action->path,
		.action = s->action->name,
		.subject = c->subject,
		.request_id = c->rq->id,
		.status = seen_status(c->rs),
		.ms = time_boot_ms() - s->start_ms};

	return audit_add(c->db, &row, err);
}

static void audit_rest(struct serve *s)
{
	CLEANUP(tx) struct tx tx = {0};
	const struct call *c = &s->call;
	struct err err;

	if (!db_begin(c->db, c->caller.account_id, &tx, &err) || !write_audit(s, &err) ||
		!db_commit(&tx, &err))
		log_error("rq=%s %s", c->rq->id, err.msg);
}

/* What streams its body has no transaction while it does, and the body's hash is known only then:
 * it is done first. Done a second time under one key it is told the first answer, and what it
 * stored goes as every upload that nobody takes. */
static bool run(struct serve *s, struct err *err)
{
	const struct action *a = s->action;
	struct call *c = &s->call;
	CLEANUP(tx) struct tx tx = {0};
	bool keyed = a->mutates && *c->rq->idempotency_key;

	if ((a->own_tx || a->streams) && !a->run(c, s->input, err))
		return false;
	if (a->own_tx || (a->streams && !keyed))
		return true;
	if (!db_begin(c->db, c->caller.account_id, &tx, err))
		return false;
	if (c->caller.kind == CALLER_SESSION && !session_touch(c->db, c->caller.session_id, err))
		return false;
	if (!(keyed ? run_keyed(s, err) : a->run(c, s->input, err)) ||
		(a->mutates && !write_audit(s, err)) || !db_commit(&tx, err))
		return false;
	s->audited = a->mutates;
	return true;
}

static bool serve(struct serve *s, struct err *err)
{
	static bool (*const steps[])(struct serve * s, struct err * err) = {
		find_action, check_caller, check_csrf, check_type, check_key, read_input, run};
	const struct config *cfg = s->call.site->cfg;

	if (!access_host(cfg, s->call.rq, err) || !access_origin(cfg, s->call.rq, err))
		return false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!steps[i](s, err))
			return false;
	return true;
}

static void answer_error(struct serve *s, const struct err *err)
{
	struct call *c = &s->call;
	char retry[24];

	response_error(c->rs, err, c->rq->id, c->context);
	c->context = NULL;
	if (s->wrong_method && !s->action && err->code == ERR_INVALID) {
		c->rs->status = 405;
		(void)response_header(c->rs, "Allow", s->allowed);
	}
	if (err->code == ERR_UNAUTHENTICATED)
		(void)response_header(c->rs, "WWW-Authenticate", "Bearer realm=\"agent-sandbox\"");
	if (err->code == ERR_LIMITED) {
		(void)snprintf(retry, sizeof(retry), "%lld",
			(long long)(c->retry_s > 0 ? c->retry_s : RETRY_LIMITED_S));
		(void)response_header(c->rs, "Retry-After", retry);
	}
	if (err->code == ERR_BUSY)
		(void)response_header(c->rs, "Retry-After", RETRY_BUSY_S);
}

static void write_log(const struct serve *s, bool ok, const struct err *err, int64_t ms)
{
	const struct call *c = &s->call;
	int status = seen_status(c->rs);

	if (ok)
		log_info("rq=%s caller=%s subject=%s %s %s %d %lldms", c->rq->id, c->caller.name,
			c->subject ? c->subject : "-", s->action->method, s->action->path, status,
			(long long)ms);
	else if (status >= 500)
		log_error("rq=%s caller=%s %s %d %lldms %s", c->rq->id, c->caller.name,
			s->action ? s->action->path : "-", status, (long long)ms,
			log_quote(err->msg));
	else
		log_info("rq=%s caller=%s %s %d %lldms %s", c->rq->id, c->caller.name,
			s->action ? s->action->path : log_quote(c->rq->path), status, (long long)ms,
			log_quote(err->msg));
}

void router_serve(const struct site *site, struct request *rq, struct response *rs)
{
	struct err err = {0};
	struct serve s = {.call = {.site = site,
				  .rq = rq,
				  .rs = rs,
				  .db = site->db,
				  .pool = rq->pool,
				  .caller = {.name = "-"}},
		.start_ms = time_boot_ms()};
	bool ok;
	char csrf[CSRF_SIZE];

	rs->head_only = !strcmp(rq->method, "HEAD");
	ok = serve(&s, &err);
	if (!ok)
		answer_error(&s, &err);
	json_free(s.call.context);
	/* a page that was loaded again finds its CSRF token here; no other origin can read it */
	if (ok && s.call.caller.kind == CALLER_SESSION && !s.action->mutates) {
		access_csrf_token(s.call.caller.token, csrf);
		(void)response_header(rs, "X-CSRF-Token", csrf);
	}
	if (s.action && s.action->mutates && !s.audited)
		audit_rest(&s);
	write_log(&s, ok, &err, time_boot_ms() - s.start_ms);
}
