/*
 * A client in memory.
 */
#include "oauthclient.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool.h"
#include "request.h"
#include "site.h"
#include "testdb.h"

struct pool *oauth_pool;
const char *oauth_client_id;

int oauthclient_fresh(void **state)
{
	(void)state;
	oauth_pool = pool_new();
	testdb_exec("TRUNCATE throttle, audit, oauth_codes, oauth_tokens, oauth_grants, "
		    "oauth_clients");
	oauth_client_id = NULL;
	return 0;
}

int oauthclient_over(void **state)
{
	(void)state;
	pool_free(oauth_pool);
	return 0;
}

struct answer oauth_post(const char *path, const char *type, const char *body)
{
	return testweb_ask(oauth_pool, "POST", path,
		(const char *const[]){HOST, type, ADDRESS, NULL}, body, strlen(body));
}

struct answer oauth_get(const char *url)
{
	return testweb_ask(
		oauth_pool, "GET", url, (const char *const[]){HOST, ADDRESS, NULL}, NULL, 0);
}

const char *oauth_register_client(void)
{
	struct answer a = oauth_post("/oauth/register", JSON,
		"{\"client_name\":\"Some \\u001b[31mEditor\",\"redirect_uris\":[\"" CALLBACK
		"\",\"https://editor.example/cb\"],\"grant_types\":[\"authorization_code\"],"
		"\"token_endpoint_auth_method\":\"client_secret_basic\",\"application_type\":"
		"\"native\"}");

	assert_int_equal(a.status, 201);
	assert_string_equal(testweb_get(oauth_pool, &a, "client_name"), "Some Editor");
	assert_string_equal(testweb_get(oauth_pool, &a, "token_endpoint_auth_method"), "none");
	assert_string_equal(testweb_get(oauth_pool, &a, "redirect_uris.0"), CALLBACK);
	return testweb_get(oauth_pool, &a, "client_id");
}

const char *oauth_query(const char *more)
{
	if (!oauth_client_id)
		oauth_client_id = oauth_register_client();
	return pool_printf(oauth_pool,
		"response_type=code&client_id=%s&redirect_uri=%s&code_challenge=%s"
		"&code_challenge_method=S256&state=s%%20%%26%%3D1&resource=%s&some_extension=1%s",
		oauth_client_id, CALLBACK_QUERY, CHALLENGE, RESOURCE_QUERY, more);
}

struct answer oauth_consent(const char *q, bool allow)
{
	return testweb_operator(oauth_pool, "POST", "/consent.json",
		pool_printf(oauth_pool, "{\"request\":\"%s\",\"allow\":%s}", q,
			allow ? "true" : "false"));
}

const char *oauth_code_of(const char *q)
{
	struct answer a = oauth_consent(q, true);
	const char *to = testweb_get(oauth_pool, &a, "redirect"), *code = strstr(to, "?code=");

	assert_int_equal(a.status, 200);
	assert_non_null(code);
	code += strlen("?code=");
	return pool_printf(oauth_pool, "%.*s", (int)strcspn(code, "&"), code);
}

struct answer oauth_exchange(const char *code, const char *verifier, const char *redirect,
	const char *by, const char *resource)
{
	return oauth_post("/oauth/token", FORM,
		pool_printf(oauth_pool,
			"grant_type=authorization_code&code=%s&code_verifier=%s&redirect_uri=%s"
			"&client_id=%s&resource=%s&ignored=1",
			code, verifier, redirect, by, resource));
}

struct answer oauth_exchange_well(const char *code)
{
	return oauth_exchange(code, VERIFIER, CALLBACK_QUERY, oauth_client_id, RESOURCE_QUERY);
}

struct answer oauth_refresh(const char *token, const char *more)
{
	return oauth_post("/oauth/token", FORM,
		pool_printf(oauth_pool, "grant_type=refresh_token&refresh_token=%s&client_id=%s%s",
			token, oauth_client_id, more));
}

/* Who the door takes an access token for, at an address. */
enum caller_kind oauth_who(const char *token, const char *url, enum scope *scope)
{
	const struct site *site = testweb_site();
	struct caller caller = {0};
	struct request rq;
	int64_t retry_s = 0;
	struct err err;

	assert_true(request_from_memory(&rq, oauth_pool, "POST", url,
		(const char *const[]){HOST, ADDRESS,
			pool_printf(oauth_pool, "Authorization: Bearer %s", token), NULL},
		"", 0, &err));
	if (!access_caller(site->cfg, site->db, site->operator_hash, &rq, &caller, &retry_s, &err))
		assert_true(err.code == ERR_UNAUTHENTICATED || err.code == ERR_LIMITED);
	if (scope)
		*scope = caller.scope;
	return caller.kind;
}

void oauth_assert_error(const struct answer *a, int status, const char *word)
{
	const char *got = testweb_get(oauth_pool, a, "error");

	if (a->status != status || strcmp(got, word) != 0)
		fail_msg("%d %s, not %d %s", a->status, a->body, status, word);
	assert_true(strlen(testweb_get(oauth_pool, a, "error_description")) > 0);
}
