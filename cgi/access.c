/*
 * Access, layer by layer. Comparisons of secrets go through secret_equal over hashes of one length.
 */
#include "access.h"

#include <string.h>
#include <strings.h>

#include "api_key.h"
#include "config.h"
#include "db.h"
#include "encode.h"
#include "oauth.h"
#include "pool.h"
#include "request.h"
#include "session.h"
#include "text.h"
#include "throttle.h"
#include "token.h"

#define CLIENT_MAX 100 /* bytes of what a client calls itself */

static const char *const loopback[] = {"127.0.0.1", "localhost", "[::1]"};

bool access_is_https(const struct config *cfg)
{
	return text_has_prefix(cfg->url, "https://");
}

const char *access_cookie_name(const struct config *cfg)
{
	return access_is_https(cfg) ? "__Host-asb" : "asb_dev";
}

void access_operator_hash(const struct config *cfg, unsigned char out[32])
{
	sha256(cfg->operator_token, strlen(cfg->operator_token), out);
}

bool access_is_operator(const unsigned char hash[32], const char *token)
{
	unsigned char got[SHA256_SIZE];

	sha256(token, strlen(token), got);
	return secret_equal(got, hash, sizeof(got));
}

/* The authority of ASB_URL. */
static const char *authority(const struct config *cfg)
{
	return strstr(cfg->url, "://") + 3;
}

/* Where ":port" begins, or the end. */
static size_t name_length(const char *host)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;

	return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

static bool is_name(const char *host, size_t n, const char *name)
{
	return strlen(name) == n && !strncasecmp(host, name, n);
}

static bool is_loopback(const char *host, size_t n)
{
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
		if (is_name(host, n, loopback[i]))
			return true;
	return false;
}

/* nginx may pass the name without the port; a port that is there must be ours. */
static bool is_our_host(const struct config *cfg, const char *host, bool needs_port)
{
	const char *ours = authority(cfg);
	size_t n = name_length(host), our_n = name_length(ours);

	if (!(strlen(ours) >= our_n && n == our_n && !strncasecmp(host, ours, n)) &&
		!(is_loopback(ours, our_n) && is_loopback(host, n)))
		return false;
	return (!host[n] && !needs_port) || !strcmp(host + n, ours + our_n);
}

bool access_host(const struct config *cfg, const struct request *rq, struct err *err)
{
	if (is_our_host(cfg, rq->host, false))
		return true;
	(void)err_set(err, ERR_FORBIDDEN, "this site does not answer to that Host");
	return err_advise(err, "host", "Use the address in ASB_URL.");
}

static bool is_our_origin(const struct config *cfg, const char *origin)
{
	const char *scheme = access_is_https(cfg) ? "https://" : "http://";

	return text_has_prefix(origin, scheme) && is_our_host(cfg, origin + strlen(scheme), true);
}

bool access_origin(const struct config *cfg, const struct request *rq, struct err *err)
{
	if (!*rq->origin || is_our_origin(cfg, rq->origin))
		return true;
	(void)err_set(err, ERR_FORBIDDEN, "the request comes from another origin");
	return err_advise(err, "origin", "Open the site by the address in ASB_URL.");
}

bool access_query(const struct request *rq, struct err *err)
{
	char *query = pool_strdup(rq->pool, rq->query);

	/* what cannot be decoded is looked at as it is; its action refuses it */
	if (!url_decode(query, true))
		query = pool_strdup(rq->pool, rq->query);
	if (!token_is_within(query) && !token_is_within(rq->path) &&
		!text_has_prefix(query, "access_token=") && !strstr(query, "&access_token="))
		return true;
	(void)err_set(err, ERR_MALFORMED, "a token does not belong into an address");
	return err_advise(err, "token_in_url",
		"Send it as Authorization: Bearer TOKEN. It has been seen by now: revoke it.");
}

const char *caller_kind_name(enum caller_kind kind)
{
	static const char *const names[] = {
		[CALLER_NOBODY] = "nobody",
		[CALLER_OPERATOR] = "operator",
		[CALLER_SESSION] = "session",
		[CALLER_KEY] = "key",
		[CALLER_OAUTH] = "oauth",
	};

	return names[kind];
}

const char *access_resource(struct pool *pool, const struct config *cfg)
{
	return pool_printf(pool, "%s/mcp", cfg->url);
}

static bool refuse_token(struct db *db, const struct request *rq, int64_t *retry_s, struct err *err)
{
	if (!throttle_fail(db, rq->address, retry_s, err))
		return false;
	(void)err_set(err, ERR_UNAUTHENTICATED,
		"the token is not valid here: mistyped, expired, revoked, or of another site");
	return err_advise(err, "token",
		"Make a key on the site's page /dashboard/keys and send Authorization: Bearer "
		"KEY.");
}

static bool caller_session(struct db *db, const struct request *rq, const char *cookie,
	struct caller *out, struct err *err)
{
	struct session *s;

	if (!session_find(db, rq->pool, cookie, &s, err))
		return false;
	if (!s)
		return true;
	*out = (struct caller){.kind = CALLER_SESSION,
		.account_id = s->account_id,
		.user_id = s->user_id,
		.id = s->id,
		.name = pool_printf(rq->pool, "session:%lld", (long long)s->id),
		.token = cookie,
		.scope = SCOPE_ADMIN};
	return true;
}

static bool caller_operator(struct db *db, struct caller *out, struct err *err)
{
	struct session s;

	if (!session_operator(db, &s, err))
		return false;
	*out = (struct caller){.kind = CALLER_OPERATOR,
		.account_id = s.account_id,
		.user_id = s.user_id,
		.name = "operator",
		.scope = SCOPE_ADMIN};
	return true;
}

/* Where asb-web hands a request of /mcp to asb-live, which looks again, it is the same request. */
static bool is_resource(const struct request *rq)
{
	return !strcmp(rq->path, "/mcp") || !strcmp(rq->path, "/internal/wait");
}

/* What a client calls itself, as far as it can be shown. */
static const char *client_name(const struct request *rq)
{
	size_t n = strlen(rq->user_agent);
	char *name = pool_memdup(rq->pool, rq->user_agent, n < CLIENT_MAX ? n : CLIENT_MAX);

	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return name;
}

/* A key or an access token: nobody is asked about one whose CRC is wrong. */
static bool caller_bearer(const struct config *cfg, struct db *db, const struct request *rq,
	const char *token, struct caller *out, struct err *err)
{
	const struct bearer_use use = {.address = rq->address, .client = client_name(rq)};
	enum token_kind kind;
	struct bearer *b = NULL;

	if (!token_parse(token, &kind))
		return true;
	if (kind == TOKEN_KEY && !api_key_use(db, rq->pool, token, &use, &b, err))
		return false;
	if (kind == TOKEN_OAUTH && is_resource(rq) &&
		!oauth_token_use(
			db, rq->pool, token, access_resource(rq->pool, cfg), &use, &b, err))
		return false;
	if (b)
		*out = (struct caller){.kind = kind == TOKEN_KEY ? CALLER_KEY : CALLER_OAUTH,
			.account_id = b->account_id,
			.user_id = b->user_id,
			.id = b->id,
			.name = b->name,
			.scope = b->scope};
	return true;
}

bool access_caller(const struct config *cfg, struct db *db, const unsigned char hash[32],
	const struct request *rq, struct caller *out, int64_t *retry_s, struct err *err)
{
	const char *cookie = request_cookie(rq, access_cookie_name(cfg)),
		   *token = rq->authorization;

	*out = (struct caller){.name = "-"};
	if (!*token)
		return !cookie || caller_session(db, rq, cookie, out, err);
	if (cookie) {
		(void)err_set(err, ERR_FORBIDDEN, "a token and a session cookie came together");
		return err_advise(err, "mixed_auth", "Send one of them only.");
	}
	if (strncasecmp(token, "Bearer ", 7) != 0)
		return refuse_token(db, rq, retry_s, err);
	token += 7 + strspn(token + 7, " ");
	if (access_is_operator(hash, token))
		return caller_operator(db, out, err);
	if (!caller_bearer(cfg, db, rq, token, out, err))
		return false;
	return out->kind != CALLER_NOBODY || refuse_token(db, rq, retry_s, err);
}

bool access_scope(const struct caller *caller, enum scope needed, struct err *err)
{
	if (caller->scope >= needed)
		return true;
	(void)err_set(err, ERR_FORBIDDEN, "this needs the scope %s, and the %s has only %s",
		scope_name(needed), caller->kind == CALLER_KEY ? "key" : "client",
		caller->scope ? scope_list(caller->scope) : "none");
	return err_advise(err, "insufficient_scope",
		"Use a key that has the scope; the site's page /dashboard/keys makes one.");
}

const char *access_challenge(struct pool *pool, const struct config *cfg, const struct request *rq,
	enum scope needed, const struct err *err)
{
	bool scope = !strcmp(err->reason, "insufficient_scope");

	if (err->code != ERR_UNAUTHENTICATED && !scope)
		return NULL;
	return pool_printf(pool,
		"Bearer realm=\"agent-sandbox\", "
		"resource_metadata=\"%s/.well-known/oauth-protected-resource/mcp\", "
		"scope=\"%s\"%s",
		cfg->url, scope_list(scope && needed ? needed : SCOPE_RUN_WRITE),
		scope		     ? ", error=\"insufficient_scope\""
		: *rq->authorization ? ", error=\"invalid_token\""
				     : "");
}

void access_csrf_token(const char *session_token, char out[CSRF_SIZE])
{
	static const char label[] = "asb csrf 1";
	unsigned char mac[SHA256_SIZE];

	hmac_sha256(session_token, strlen(session_token), label, sizeof(label) - 1, mac);
	hex_encode(mac, sizeof(mac), out);
}

static bool refuse_csrf(struct err *err, const char *what)
{
	(void)err_set(err, ERR_FORBIDDEN, "%s", what);
	return err_advise(
		err, "csrf", "Do it on the site's own page, or use a token instead of the cookie.");
}

/* access_origin has already refused a foreign Origin. */
bool access_csrf(const struct request *rq, const struct caller *caller, struct err *err)
{
	char token[CSRF_SIZE];

	if (caller->kind != CALLER_SESSION)
		return true;
	if (*rq->fetch_site ? strcmp(rq->fetch_site, "same-origin") != 0 : !*rq->origin)
		return refuse_csrf(err, "the request does not come from a page of this site");
	access_csrf_token(caller->token, token);
	if (strlen(rq->csrf) != CSRF_SIZE - 1 || !secret_equal(rq->csrf, token, CSRF_SIZE - 1))
		return refuse_csrf(err, "X-CSRF-Token is missing or wrong");
	return true;
}

bool access_csrf_login(const struct request *rq, struct err *err)
{
	if (*rq->fetch_site && strcmp(rq->fetch_site, "same-origin") != 0)
		return refuse_csrf(err, "the request does not come from a page of this site");
	return true;
}

bool access_is_local(const struct config *cfg, const struct request *rq)
{
	const char *ours = authority(cfg);

	return !rq->forwarded && !access_is_https(cfg) && is_loopback(ours, name_length(ours)) &&
	       (!strcmp(rq->address, "127.0.0.1") || !strcmp(rq->address, "::1"));
}
