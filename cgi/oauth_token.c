/*
 * /oauth/token and /oauth/revoke: a code for the first pair of tokens, a refresh token for the
 * next, and a token given back. Clients are public: they prove that a code is theirs by PKCE.
 */
#include <string.h>

#include "access.h"
#include "action.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "oauth_http.h"
#include "oauth_uri.h"
#include "pool.h"
#include "site.h"
#include "throttle.h"

#define FORM_MAX (16 * 1024)

struct token_form {
	const char *grant_type, *code, *redirect_uri, *client_id, *code_verifier, *refresh_token,
		*resource, *scope;
};

static const struct field fields[] = {
	FIELD(TEXT, struct token_form, grant_type, .required = true, .max = 100),
	FIELD(TEXT, struct token_form, code, .max = 200),
	FIELD(TEXT, struct token_form, redirect_uri, .max = OAUTH_URI_MAX),
	FIELD(TEXT, struct token_form, client_id, .max = OAUTH_ID_MAX),
	FIELD(TEXT, struct token_form, code_verifier, .max = 200),
	FIELD(TEXT, struct token_form, refresh_token, .max = 200),
	FIELD(TEXT, struct token_form, resource, .max = 1000),
	FIELD(TEXT, struct token_form, scope, .max = 1000),
};

struct revoke_form {
	const char *token, *client_id;
};

static const struct field revoke_fields[] = {
	FIELD(TEXT, struct revoke_form, token, .required = true, .max = 200),
	FIELD(TEXT, struct revoke_form, client_id, .required = true, .max = OAUTH_ID_MAX),
};

static bool read_form(
	struct call *c, const struct field *rows, size_t n, void *out, struct err *err)
{
	const char *body;
	size_t size;

	if (!request_has_type(c->rq, "application/x-www-form-urlencoded"))
		return oauth_refuse(err, "invalid_request",
			"Content-Type must be application/x-www-form-urlencoded");
	if (*c->rq->query)
		return oauth_refuse(
			err, "invalid_request", "fields go into the body, not into the address");
	return request_body(c->rq, FORM_MAX, &body, &size, err) &&
	       oauth_fields(c->pool, rows, n, body, out, err);
}

/* The form's code, verifier or token is not what it has to be: it counts like a wrong token. What
 * that has used up or ended stays so. */
static bool refuse_grant(struct call *c, struct tx *tx, struct err *err, const char *what)
{
	if (!db_commit(tx, err) || !throttle_fail(c->db, c->rq->address, &c->retry_s, err))
		return false;
	return oauth_refuse(err, "invalid_grant", "%s", what);
}

/* RFC 7636: is the challenge the verifier's SHA-256 in base64url? */
static bool is_verified(const char *verifier, const char *challenge)
{
	CLEANUP(buf) struct buf b = BUF_INIT(128);
	unsigned char hash[SHA256_SIZE];
	size_t n = strlen(verifier);

	if (n < 43 || n > 128 ||
		strspn(verifier, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789-._~") != n)
		return false;
	sha256(verifier, n, hash);
	base64_add(&b, hash, sizeof(hash));
	for (char *p = b.data; *p; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	/* without the padding, of which 32 bytes have one character */
	return strlen(challenge) == b.len - 1 && secret_equal(b.data, challenge, b.len - 1);
}

static bool is_same_resource(const struct token_form *in, const struct oauth_taken *t)
{
	return !in->resource || !strcmp(in->resource, t->resource);
}

/* The code is used up, whatever is wrong with the rest: whoever tries has it already. */
static bool take_code(struct call *c, struct tx *tx, const struct token_form *in,
	struct oauth_taken **out, struct err *err)
{
	struct oauth_taken *t = NULL;
	enum token_kind kind;

	if (!in->code || !in->client_id || !in->redirect_uri || !in->code_verifier)
		return oauth_refuse(err, "invalid_request",
			"code, client_id, redirect_uri and code_verifier must all be there");
	if (token_parse(in->code, &kind) && kind == TOKEN_CODE &&
		!oauth_code_take(c->db, c->pool, in->code, &t, err))
		return false;
	if (!t)
		return refuse_grant(c, tx, err, "the code is wrong, used, or older than a minute");
	c->caller.account_id = t->account_id;
	if (strcmp(t->client_id, in->client_id) != 0)
		return refuse_grant(c, tx, err, "the code is another client's");
	if (strcmp(t->redirect_uri, in->redirect_uri) != 0)
		return refuse_grant(
			c, tx, err, "redirect_uri: is not the one the code was asked for with");
	if (!is_verified(in->code_verifier, t->challenge))
		return refuse_grant(c, tx, err, "code_verifier: does not belong to the challenge");
	*out = t;
	return is_same_resource(in, t) ||
	       (db_commit(tx, err) && oauth_refuse(err, "invalid_target",
					      "resource: the code is for %s", t->resource));
}

/* The token is used up by what it was good for alone: a client that asked for too much may ask
 * again. */
static bool take_refresh(struct call *c, struct tx *tx, const struct token_form *in,
	struct oauth_taken **out, struct err *err)
{
	struct oauth_taken *t = NULL;
	enum token_kind kind;
	enum scope less;

	if (!in->refresh_token || !in->client_id)
		return oauth_refuse(
			err, "invalid_request", "refresh_token and client_id must be there");
	if (token_parse(in->refresh_token, &kind) && kind == TOKEN_REFRESH &&
		!oauth_refresh_take(c->db, c->pool, in->refresh_token, in->client_id, &t, err))
		return false;
	if (!t)
		return refuse_grant(c, tx, err,
			"the refresh token is wrong, used, too old, or its access was ended");
	c->caller.account_id = t->account_id;
	if (!is_same_resource(in, t))
		return oauth_refuse(
			err, "invalid_target", "resource: the token is for %s", t->resource);
	if (in->scope) {
		if (!scope_parse(in->scope, &less) || less > t->scope)
			return oauth_refuse(
				err, "invalid_scope", "scope: more than %s", scope_list(t->scope));
		t->scope = less;
	}
	*out = t;
	return true;
}

bool oauth_token(struct call *c, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	CLEANUP(tx) struct tx tx = {0};
	char access[TOKEN_SIZE], refresh[TOKEN_SIZE];
	struct token_form in = {0};
	struct oauth_taken *t = NULL;
	bool is_code;

	if (!read_form(c, fields, sizeof(fields) / sizeof(fields[0]), &in, err))
		return false;
	is_code = !strcmp(in.grant_type, "authorization_code");
	if (!is_code && strcmp(in.grant_type, "refresh_token") != 0)
		return oauth_refuse(err, "unsupported_grant_type",
			"grant_type: authorization_code and refresh_token are there");
	/* one transaction: who gets no new tokens has not lost the one he came with */
	if (!db_begin(c->db, 0, &tx, err) ||
		!(is_code ? take_code : take_refresh)(c, &tx, &in, &t, err) ||
		!oauth_tokens_add(c->db, t, access, refresh, err) || !db_commit(&tx, err))
		return false;
	c->subject = in.client_id;
	json_add_text(o, "access_token", access);
	json_add_text(o, "token_type", "Bearer");
	json_add_i64(o, "expires_in", OAUTH_ACCESS_S);
	json_add_text(o, "refresh_token", refresh);
	json_add_text(o, "scope", scope_list(t->scope));
	return call_answer(c, 200, o);
}

/* Whatever the token was: the client has its will, and learns nothing. */
bool oauth_revoke(struct call *c, struct err *err)
{
	struct revoke_form in = {0};
	enum token_kind kind;

	if (!read_form(c, revoke_fields, 2, &in, err))
		return false;
	if (token_parse(in.token, &kind) && (kind == TOKEN_OAUTH || kind == TOKEN_REFRESH) &&
		!oauth_token_drop(c->db, in.token, in.client_id, &c->caller.account_id, err))
		return false;
	if (c->caller.account_id)
		c->subject = in.client_id;
	response_json(c->rs, 200, "{}");
	return true;
}
