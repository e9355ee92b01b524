/*
 * OAuth 2.1 from a client's registration to its end, each refusal beside what passes: redirect
 * mismatch, PKCE downgrade, another resource or oauth_client_id, codes and refresh tokens that come
 * a second time, access tokens elsewhere than at /mcp. The lookup of an access token is tried at
 * the door's own function, for /mcp's answers have tests of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "access.h"
#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "oauthclient.h"
#include "pool.h"
#include "testdb.h"
#include "token.h"

static void test_documents(void **state)
{
	static const char *const resource[] = {"/.well-known/oauth-protected-resource/mcp",
		"/.well-known/oauth-protected-resource"};
	static const char *const server[] = {
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct answer a = oauth_get(resource[i]);

		assert_int_equal(a.status, 200);
		assert_string_equal(testweb_get(oauth_pool, &a, "resource"), RESOURCE);
		assert_string_equal(
			testweb_get(oauth_pool, &a, "authorization_servers.0"), TESTWEB_URL);
		assert_string_equal(
			testweb_get(oauth_pool, &a, "bearer_methods_supported.0"), "header");
		assert_null(strstr(a.body, "offline_access"));
		assert_null(strstr(a.body, "admin"));
		a = oauth_get(server[i]);
		assert_int_equal(a.status, 200);
		assert_string_equal(testweb_get(oauth_pool, &a, "issuer"), TESTWEB_URL);
		assert_string_equal(
			testweb_get(oauth_pool, &a, "code_challenge_methods_supported.0"), "S256");
		assert_string_equal(
			testweb_get(oauth_pool, &a, "code_challenge_methods_supported.1"), "");
		assert_string_equal(
			testweb_get(oauth_pool, &a, "token_endpoint_auth_methods_supported.0"),
			"none");
		assert_string_equal(testweb_get(oauth_pool, &a,
					    "authorization_response_iss_parameter_supported"),
			"true");
	}
	/* the doors' own checks stand before them too */
	assert_int_equal(testweb_ask(oauth_pool, "GET", resource[0],
				 (const char *const[]){"Host: evil.example", NULL}, NULL, 0)
				 .status,
		403);
	assert_int_equal(oauth_post("/.well-known/openid-configuration", JSON, "{}").status, 400);
	assert_int_equal(oauth_get("/.well-known/other").status, 404);
}

/* What the person is shown, and a no. */
static void page_asks(const char *q)
{
	struct answer a;

	/* the browser is sent to our page with the query as it came */
	a = oauth_get(pool_printf(oauth_pool, "/oauth/authorize?%s", q));
	assert_int_equal(a.status, 302);
	assert_non_null(strstr(a.head,
		pool_printf(oauth_pool, "Location: " TESTWEB_URL "/dashboard/connect?%s\r\n", q)));
	/* which asks what it is about */
	{
		CLEANUP(buf) struct buf b = BUF_INIT(8000);

		(void)buf_adds(&b, "/connect.json?request=");
		url_add(&b, q);
		a = testweb_operator(oauth_pool, "GET", b.data, NULL);
	}
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(oauth_pool, &a, "title"), "Some Editor");
	assert_string_equal(testweb_get(oauth_pool, &a, "redirect_host"), "127.0.0.1:4000");
	assert_string_equal(testweb_get(oauth_pool, &a, "loopback"), "true");
	assert_string_equal(testweb_get(oauth_pool, &a, "scopes.1"), "run:write");
	/* no: the client is told, and nothing else happens */
	a = oauth_consent(q, false);
	assert_string_equal(testweb_get(oauth_pool, &a, "redirect"), CALLBACK
		"?error=access_denied&state=s%20%26%3D1&iss=http%3A%2F%2F127.0.0.1%3A8380");
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_grants"), 0);
}

static void nowhere_at_rest(const char *token)
{
	assert_int_equal(testdb_i64("SELECT (SELECT count(*) FROM oauth_tokens t WHERE "
				    "t::text ~ '%s') + (SELECT count(*) FROM audit a WHERE "
				    "a::text ~ '%s')",
				 strrchr(token, '_') + 1, strrchr(token, '_') + 1),
		0);
}

static void test_the_whole_way(void **state)
{
	const char *q = oauth_query(""), *code, *access, *next, *grant_id;
	enum scope scope;
	struct answer a;

	(void)state;
	page_asks(q);
	/* yes */
	a = oauth_consent(q, true);
	assert_non_null(strstr(testweb_get(oauth_pool, &a, "redirect"),
		"&state=s%20%26%3D1&iss=http%3A%2F%2F127.0.0.1%3A8380"));
	code = oauth_code_of(q);
	a = oauth_exchange_well(code);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(a.head, "Cache-Control: no-store"));
	assert_string_equal(testweb_get(oauth_pool, &a, "token_type"), "Bearer");
	assert_string_equal(testweb_get(oauth_pool, &a, "expires_in"), "3600");
	assert_string_equal(testweb_get(oauth_pool, &a, "scope"), "run:read run:write");
	access = testweb_get(oauth_pool, &a, "access_token");
	next = testweb_get(oauth_pool, &a, "refresh_token");
	assert_int_equal(oauth_who(access, "/mcp", &scope), CALLER_OAUTH);
	assert_int_equal(scope, SCOPE_RUN_WRITE);
	/* only the pair of it that is an access token, and only there */
	assert_int_equal(oauth_who(next, "/mcp", NULL), CALLER_NOBODY);
	assert_int_equal(oauth_who(code, "/mcp", NULL), CALLER_NOBODY);
	for (size_t i = 0; actions[i]; i++)
		assert_int_equal(oauth_who(access, actions[i]->path, NULL), CALLER_NOBODY);
	testdb_exec("TRUNCATE throttle");
	nowhere_at_rest(access);
	nowhere_at_rest(next);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE action = 'oauth_token' AND "
				    "status = 200 AND account_id IS NOT NULL AND subject = '%s'",
				 oauth_client_id),
		1);
	/* the list says what is connected and when it came; the grant whose code nobody took is not
	 * in it */
	a = testweb_operator(oauth_pool, "GET", "/grants.json", NULL);
	grant_id = testweb_get(oauth_pool, &a, "grants.0.grant_id");
	assert_string_equal(testweb_get(oauth_pool, &a, "grants.0.title"), "Some Editor");
	assert_string_equal(
		testweb_get(oauth_pool, &a, "grants.0.last_used_address"), "192.0.2.40");
	assert_string_equal(testweb_get(oauth_pool, &a, "grants.1.grant_id"), "");
	/* the next pair; and the one before lives for its hour */
	a = oauth_refresh(next, "&scope=run%3Aread");
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(oauth_pool, &a, "scope"), "run:read");
	assert_int_equal(oauth_who(testweb_get(oauth_pool, &a, "access_token"), "/mcp", &scope),
		CALLER_OAUTH);
	assert_int_equal(scope, SCOPE_RUN_READ);
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_OAUTH);
	/* a person ends it: all of it, at once */
	for (int i = 0; i < 2; i++)
		assert_int_equal(testweb_operator(oauth_pool, "POST", "/revoke_grant.json",
					 pool_printf(oauth_pool, "{\"grant_id\":\"%s\"}", grant_id))
					 .status,
			200);
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_NOBODY);
	assert_int_equal(oauth_who(testweb_get(oauth_pool, &a, "access_token"), "/mcp", NULL),
		CALLER_NOBODY);
	a = oauth_refresh(testweb_get(oauth_pool, &a, "refresh_token"), "");
	oauth_assert_error(&a, 400, "invalid_grant");
	assert_int_equal(testweb_operator(oauth_pool, "POST", "/revoke_grant.json",
				 "{\"grant_id\":\"grant-x\"}")
				 .status,
		404);
}

static void test_requests_that_are_none(void **state)
{
	static const struct {
		const char *from, *to,
			*word; /* word NULL: the client is not told, nobody is sent */
	} cases[] = {
		{"response_type=code", "response_type=token", "unsupported_response_type"},
		{"response_type=code&", "", "unsupported_response_type"},
		{"&code_challenge_method=S256", "&code_challenge_method=plain", "invalid_request"},
		{"&code_challenge_method=S256", "", "invalid_request"},
		{"&code_challenge=" CHALLENGE, "", "invalid_request"},
		{"&code_challenge=" CHALLENGE, "&code_challenge=short", "invalid_request"},
		{RESOURCE_QUERY, "https%3A%2F%2Fother.example%2Fmcp", "invalid_target"},
		{RESOURCE_QUERY, "http%3A%2F%2F127.0.0.1%3A8380", "invalid_target"},
		{"&some_extension=1", "&scope=admin", "invalid_scope"},
		{"&some_extension=1", "&scope=openid%20profile", "invalid_scope"},
		{CALLBACK_QUERY, "https%3A%2F%2Fevil.example%2Fcb", NULL},
		{CALLBACK_QUERY, "https%3A%2F%2Feditor.example%2Fcb%2F", NULL},
		{CALLBACK_QUERY, "http%3A%2F%2F127.0.0.1%3A4000%2Fcallback%2F..%2Fx", NULL},
		{CALLBACK_QUERY, "javascript%3Aalert(1)", NULL},
		{CALLBACK_QUERY, "", NULL},
		{"client_id=client-", "client_id=client-x", NULL},
		{"client_id=client-", "client_id=https%3A%2F%2Fevil.example%2Fclient", NULL},
		{"&some_extension=1", "&client_id=client-2", NULL},
		{"&some_extension=1", "&redirect_uri=https%3A%2F%2Fevil.example", NULL},
		{"&some_extension=1", "&state=%zz", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *q = oauth_query(""), *at = strstr(q, cases[i].from);
		struct answer a, by_page;

		assert_non_null(at);
		q = pool_printf(oauth_pool, "%.*s%s%s", (int)(at - q), q, cases[i].to,
			at + strlen(cases[i].from));
		a = oauth_get(pool_printf(oauth_pool, "/oauth/authorize?%s", q));
		by_page = oauth_consent(q, true);
		if (by_page.status != 422)
			fail_msg("consent %s: %d %s", q, by_page.status, by_page.body);
		if (!cases[i].word) {
			if (a.status != 400 || strstr(a.head, "Location:") ||
				strstr(a.body, "evil"))
				fail_msg("%s: %d %s", q, a.status, a.head);
			continue;
		}
		if (a.status != 302 ||
			!strstr(a.head,
				pool_printf(oauth_pool,
					"Location: " CALLBACK "?error=%s&state=s%%20%%26%%3D1&iss=",
					cases[i].word)))
			fail_msg("%s: %d %s", q, a.status, a.head);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_grants"), 0);
	/* what may differ: the port of loopback, and what nobody knows */
	{
		const char *q = oauth_query("&scope=run%3Aread%20offline_access"), *at;

		at = strstr(q, "4000");
		q = pool_printf(oauth_pool, "%.*s4001%s", (int)(at - q), q, at + 4);
		assert_int_equal(
			oauth_get(pool_printf(oauth_pool, "/oauth/authorize?%s", q)).status, 302);
		(void)oauth_code_of(q);
		assert_string_equal(testdb_text("SELECT scopes FROM oauth_grants"), "run:read");
	}
}

static void test_codes(void **state)
{
	static const char other[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	const char *q = oauth_query(""), *code, *access;
	struct answer a;

	(void)state;
	/* each of these has the code and uses it up; what was granted stays as good as nothing */
	code = oauth_code_of(q);
	a = oauth_exchange(code, other, CALLBACK_QUERY, oauth_client_id, RESOURCE_QUERY);
	oauth_assert_error(&a, 400, "invalid_grant");
	a = oauth_exchange_well(code);
	oauth_assert_error(&a, 400, "invalid_grant");
	code = oauth_code_of(q);
	a = oauth_exchange(code, VERIFIER, "https%3A%2F%2Feditor.example%2Fcb", oauth_client_id,
		RESOURCE_QUERY);
	oauth_assert_error(&a, 400, "invalid_grant");
	code = oauth_code_of(q);
	a = oauth_exchange(code, VERIFIER, CALLBACK_QUERY, oauth_register_client(), RESOURCE_QUERY);
	oauth_assert_error(&a, 400, "invalid_grant");
	code = oauth_code_of(q);
	a = oauth_exchange(code, VERIFIER, CALLBACK_QUERY, oauth_client_id,
		"https%3A%2F%2Fother.example%2Fmcp");
	oauth_assert_error(&a, 400, "invalid_target");
	/* without a verifier it is no request at all, and the code is still good (control) */
	code = oauth_code_of(q);
	a = oauth_post("/oauth/token", FORM,
		pool_printf(oauth_pool,
			"grant_type=authorization_code&code=%s&client_id=%s&redirect_uri=%s", code,
			oauth_client_id, CALLBACK_QUERY));
	oauth_assert_error(&a, 400, "invalid_request");
	a = oauth_exchange_well(code);
	assert_int_equal(a.status, 200);
	/* a second time: whoever it is, what the first got ends */
	access = testweb_get(oauth_pool, &a, "access_token");
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_OAUTH);
	a = oauth_exchange_well(code);
	oauth_assert_error(&a, 400, "invalid_grant");
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_NOBODY);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM oauth_grants WHERE revoked_why = 'code reused'"),
		2);
	/* too late */
	code = oauth_code_of(q);
	testdb_exec("UPDATE oauth_codes SET expires_at = now() WHERE used_at IS NULL");
	a = oauth_exchange_well(code);
	oauth_assert_error(&a, 400, "invalid_grant");
	/* what is no code asks nobody, and counts */
	testdb_exec("TRUNCATE throttle");
	for (int i = 0; i < 20; i++) {
		a = oauth_exchange_well("asb_code_000000000000000000000000000000000000");
		oauth_assert_error(&a, 400, "invalid_grant");
	}
	a = oauth_exchange_well("asb_code_000000000000000000000000000000000000");
	oauth_assert_error(&a, 429, "temporarily_unavailable");
	a = oauth_exchange_well(oauth_code_of(q));
	assert_int_equal(a.status, 200);
}

static void test_refresh_tokens(void **state)
{
	const char *first, *second, *access;
	struct answer a;

	(void)state;
	a = oauth_exchange_well(oauth_code_of(oauth_query("")));
	first = testweb_get(oauth_pool, &a, "refresh_token");
	/* nobody else's, not for more, not elsewhere */
	a = oauth_post("/oauth/token", FORM,
		pool_printf(oauth_pool,
			"grant_type=refresh_token&client_id=client-other&refresh_token=%s", first));
	oauth_assert_error(&a, 400, "invalid_grant");
	a = oauth_refresh(first, "");
	assert_int_equal(a.status, 200);
	second = testweb_get(oauth_pool, &a, "refresh_token");
	access = testweb_get(oauth_pool, &a, "access_token");
	assert_string_not_equal(first, second);
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_OAUTH);
	/* the first one again: somebody has both, so nobody keeps anything */
	a = oauth_refresh(first, "");
	oauth_assert_error(&a, 400, "invalid_grant");
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_NOBODY);
	a = oauth_refresh(second, "");
	oauth_assert_error(&a, 400, "invalid_grant");
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_grants WHERE revoked_why = "
				    "'refresh reused'"),
		1);
	/* who asks for too much, or for elsewhere, has not lost the token by that */
	a = oauth_exchange_well(oauth_code_of(oauth_query("&scope=run%3Aread")));
	first = testweb_get(oauth_pool, &a, "refresh_token");
	a = oauth_refresh(first, "&scope=run%3Awrite");
	oauth_assert_error(&a, 400, "invalid_scope");
	a = oauth_refresh(first, "&resource=https%3A%2F%2Fx.example");
	oauth_assert_error(&a, 400, "invalid_target");
	a = oauth_refresh(first, "");
	assert_int_equal(a.status, 200);
	/* nor by a site that could not make new ones */
	first = testweb_get(oauth_pool, &a, "refresh_token");
	testdb_exec(
		"ALTER TABLE oauth_tokens ADD CONSTRAINT away CHECK (kind <> 'access') NOT VALID");
	assert_int_equal(oauth_refresh(first, "").status, 500);
	testdb_exec("ALTER TABLE oauth_tokens DROP CONSTRAINT away");
	assert_int_equal(oauth_refresh(first, "").status, 200);
	a = oauth_exchange_well(oauth_code_of(oauth_query("")));
	testdb_exec("UPDATE oauth_tokens SET expires_at = now()");
	assert_int_equal(oauth_who(testweb_get(oauth_pool, &a, "access_token"), "/mcp", NULL),
		CALLER_NOBODY);
	a = oauth_refresh(testweb_get(oauth_pool, &a, "refresh_token"), "");
	oauth_assert_error(&a, 400, "invalid_grant");
}

static void test_audience(void **state)
{
	struct answer a = oauth_exchange_well(oauth_code_of(oauth_query("")));
	const char *access = testweb_get(oauth_pool, &a, "access_token");

	(void)state;
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_OAUTH);
	assert_int_equal(oauth_who(access, "/internal/wait", NULL), CALLER_OAUTH);
	assert_int_equal(oauth_who(access, "/fleet.json", NULL), CALLER_NOBODY);
	/* given out when the site had another address */
	testdb_exec("UPDATE oauth_grants SET resource = 'https://before.example/mcp'");
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_NOBODY);
	testdb_exec("UPDATE oauth_grants SET resource = '" RESOURCE "'");
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_OAUTH);
	assert_int_equal(
		oauth_who("ghp_000000000000000000000000000000000000", "/mcp", NULL), CALLER_NOBODY);
}

static void test_given_back(void **state)
{
	struct answer a = oauth_exchange_well(oauth_code_of(oauth_query("")));
	const char *access = testweb_get(oauth_pool, &a, "access_token");
	const char *next = testweb_get(oauth_pool, &a, "refresh_token");

	(void)state;
	/* another client's word changes nothing, and is not told so */
	a = oauth_post("/oauth/revoke", FORM,
		pool_printf(oauth_pool, "token=%s&client_id=client-other", access));
	assert_int_equal(a.status, 200);
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_OAUTH);
	a = oauth_post("/oauth/revoke", FORM,
		pool_printf(oauth_pool, "token=%s&client_id=%s", next, oauth_client_id));
	assert_int_equal(a.status, 200);
	assert_int_equal(oauth_who(access, "/mcp", NULL), CALLER_NOBODY);
	a = oauth_post("/oauth/revoke", FORM,
		pool_printf(oauth_pool, "token=unknown&client_id=%s", oauth_client_id));
	assert_int_equal(a.status, 200);
	a = oauth_post("/oauth/revoke", JSON, "{}");
	oauth_assert_error(&a, 400, "invalid_request");
}

static void test_registrations(void **state)
{
	static const struct {
		const char *body, *word;
	} cases[] = {
		{"{}", "invalid_redirect_uri"},
		{"{\"redirect_uris\":[]}", "invalid_redirect_uri"},
		{"{\"redirect_uris\":\"https://a.example\"}", "invalid_redirect_uri"},
		{"{\"redirect_uris\":[1]}", "invalid_redirect_uri"},
		{"{\"redirect_uris\":[\"https://a.example\",\"javascript:alert(1)\"]}",
			"invalid_redirect_uri"},
		{"{\"redirect_uris\":[\"http://a.example\"]}", "invalid_redirect_uri"},
		{"[]", "invalid_redirect_uri"},
		{"{", "invalid_client_metadata"},
	};
	struct answer a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		a = oauth_post("/oauth/register", JSON, cases[i].body);
		oauth_assert_error(&a, 400, cases[i].word);
	}
	a = oauth_post("/oauth/register", FORM, "redirect_uris=x");
	oauth_assert_error(&a, 400, "invalid_client_metadata");
	a = oauth_post("/oauth/register", JSON, "{\"redirect_uris\":[\"https://a.example\"]}");
	assert_int_equal(a.status, 201);
	assert_int_equal(testdb_i64("SELECT count(*) FROM oauth_clients"), 1);
	/* there is an end to clients that nobody connects */
	testdb_exec("INSERT INTO oauth_clients (client_id, title, redirect_uris) SELECT 'c' || i, "
		    "'t', '[]' FROM generate_series(1, 999) i");
	a = oauth_post("/oauth/register", JSON, "{\"redirect_uris\":[\"https://a.example\"]}");
	oauth_assert_error(&a, 429, "temporarily_unavailable");
	testdb_exec("DELETE FROM oauth_clients WHERE client_id = 'c1'");
	a = oauth_post("/oauth/register", JSON, "{\"redirect_uris\":[\"https://a.example\"]}");
	assert_int_equal(a.status, 201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_documents, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(
			test_the_whole_way, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(
			test_requests_that_are_none, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(test_codes, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(
			test_refresh_tokens, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(test_audience, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(
			test_given_back, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(
			test_registrations, oauthclient_fresh, oauthclient_over),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
