/*
 * One action done, whichever door it came by. Claim of the Idempotency-Key, work, audit row and
 * kept answer are one transaction.
 */
#include "serve.h"

#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "cleanup.h"
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

void serve_init(struct serve *s, const struct site *site, struct request *rq, struct response *rs)
{
	*s = (struct serve){.call = {.site = site,
				    .rq = rq,
				    .rs = rs,
				    .db = site->db,
				    .pool = rq->pool,
				    .caller = {.name = "-"}},
		.door = "-",
		.what = "",
		.start_ms = time_boot_ms()};
}

bool serve_place(struct serve *s, struct err *err)
{
	const struct call *c = &s->call;

	return access_host(c->site->cfg, c->rq, err) && access_origin(c->site->cfg, c->rq, err) &&
	       access_query(c->rq, err);
}

bool serve_caller(struct serve *s, struct err *err)
{
	struct call *c = &s->call;

	return access_caller(
		c->site->cfg, c->db, c->site->operator_hash, c->rq, &c->caller, &c->retry_s, err);
}

bool serve_may(struct serve *s, struct err *err)
{
	const struct call *c = &s->call;

	if (c->caller.kind != CALLER_NOBODY)
		return access_scope(&c->caller, action_scope(s->action), err);
	if (s->action->needs == NEEDS_NOBODY)
		return true;
	if (s->action->needs == NEEDS_LOCAL && access_is_local(c->site->cfg, c->rq))
		return true;
	(void)err_set(err, ERR_UNAUTHENTICATED, "sign in first");
	return err_advise(
		err, "no_caller", "Send Authorization: Bearer TOKEN, or sign in on the page.");
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
		.route = pool_printf(
			c->pool, "%s %s%s%s", c->rq->method, s->door, *s->what ? " " : "", s->what),
		.body_sha256 = hash};
	if (s->action->streams)
		memcpy(hash, c->rq->body_sha256, SHA256_SIZE);
	else
		sha256(s->body, s->body_n, hash);
	if (s->key_ms && !idempotency_forget(c->db, key, s->key_ms, err))
		return false;
	if (!idempotency_claim(c->db, c->pool, key, first, &status, &kept, err))
		return false;
	if (!*first && s->key_ms)
		s->repeated = c->subject = kept;
	else if (!*first)
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
	return idempotency_store(s->call.db, &key, s->call.rs->status,
		s->key_ms ? s->call.subject : kept_answer(s->call.rs), err);
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
		.path = s->door,
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
bool serve_run(struct serve *s, struct err *err)
{
	const struct action *a = s->action;
	struct call *c = &s->call;
	CLEANUP(tx) struct tx tx = {0};
	bool keyed = a->mutates && *c->rq->idempotency_key;

	if (!check_key(s, err))
		return false;
	if ((a->own_tx || a->streams) && !a->run(c, s->input, err))
		return false;
	if (a->own_tx || (a->streams && !keyed))
		return true;
	if (!db_begin(c->db, c->caller.account_id, &tx, err))
		return false;
	if (c->caller.kind == CALLER_SESSION && !session_touch(c->db, c->caller.id, err))
		return false;
	if (!(keyed ? run_keyed(s, err) : a->run(c, s->input, err)) ||
		(a->mutates && !write_audit(s, err)) || !db_commit(&tx, err))
		return false;
	s->audited = a->mutates;
	return true;
}

static void write_log(const struct serve *s, bool ok, const struct err *err, int64_t ms)
{
	const struct call *c = &s->call;
	int status = seen_status(c->rs);

	if (ok)
		log_info("rq=%s caller=%s subject=%s %s %s%s%s %d %lldms", c->rq->id,
			c->caller.name, c->subject ? c->subject : "-", c->rq->method, s->door,
			*s->what ? " " : "", s->what, status, (long long)ms);
	else if (err->code == ERR_INTERNAL || status >= 500)
		log_error("rq=%s caller=%s %s%s%s %d %lldms %s", c->rq->id, c->caller.name, s->door,
			*s->what ? " " : "", s->what, status, (long long)ms, log_quote(err->msg));
	else
		log_info("rq=%s caller=%s %s%s%s %d %lldms %s", c->rq->id, c->caller.name, s->door,
			*s->what ? " " : "", s->what, status, (long long)ms, log_quote(err->msg));
}

void serve_error_headers(struct serve *s, const struct err *err)
{
	struct call *c = &s->call;
	const char *challenge = access_challenge(c->pool, c->site->cfg, c->rq,
		s->action ? action_scope(s->action) : SCOPE_NONE, err);
	char retry[24];

	if (challenge)
		(void)response_header(c->rs, "WWW-Authenticate", challenge);
	if (err->code == ERR_LIMITED) {
		(void)snprintf(retry, sizeof(retry), "%lld",
			(long long)(c->retry_s > 0 ? c->retry_s : RETRY_LIMITED_S));
		(void)response_header(c->rs, "Retry-After", retry);
	}
	if (err->code == ERR_BUSY)
		(void)response_header(c->rs, "Retry-After", RETRY_BUSY_S);
}

void serve_end(struct serve *s, bool ok, const struct err *err)
{
	json_free(s->call.context);
	s->call.context = NULL;
	if (s->action && s->action->mutates && !s->audited)
		audit_rest(s);
	write_log(s, ok, err, time_boot_ms() - s->start_ms);
}
