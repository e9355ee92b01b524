/*
 * API keys from their making to their end: what each scope lets in, for every action of the table;
 * what is refused without asking the database; that a key is shown once, is nowhere at rest, and is
 * over at once when it is revoked or has expired.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "action.h"
#include "cleanup.h"
#include "pool.h"
#include "snippets.h"
#include "testdb.h"
#include "testweb.h"
#include "token.h"

#define ADDRESS "REMOTE_ADDR=192.0.2.30"

static int fresh(void **state)
{
	(void)state;
	testdb_exec("TRUNCATE throttle, api_keys, audit");
	return 0;
}

static struct answer with(
	struct pool *pool, const char *key, const char *method, const char *url, const char *body)
{
	return testweb_ask(pool, method, url,
		(const char *const[]){HOST, pool_printf(pool, "Authorization: Bearer %s", key),
			body ? JSON : "X-None: 1", ADDRESS, "User-Agent: test/1 \x1b[31m", NULL},
		body, body ? strlen(body) : 0);
}

/* A key of the operator's, with its row's name. */
static const char *make_key(struct pool *pool, const char *scope, const char **key_id)
{
	struct answer a = testweb_operator(pool, "POST", "/create_key.json",
		pool_printf(pool, "{\"title\":\"a test\",\"scope\":\"%s\"}", scope));

	assert_int_equal(a.status, 201);
	if (key_id)
		*key_id = testweb_get(pool, &a, "key_id");
	return testweb_get(pool, &a, "key");
}

static void test_a_key_is_shown_once(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *key, *key_id;
	enum token_kind kind;
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "POST", "/create_key.json",
		"{\"title\":\"laptop\",\"scope\":\"run:read\",\"lifetime_ms\":3600000}");
	assert_int_equal(a.status, 201);
	key = testweb_get(pool, &a, "key");
	key_id = testweb_get(pool, &a, "key_id");
	assert_true(token_parse(key, &kind));
	assert_string_equal(testweb_get(pool, &a, "prefix"), pool_printf(pool, "%.12s", key));
	assert_string_equal(testweb_get(pool, &a, "scopes.0"), "run:read");
	assert_string_equal(testweb_get(pool, &a, "scopes.1"), "");
	assert_string_equal(testweb_get(pool, &a, "state"), "active");
	assert_string_equal(testweb_get(pool, &a, "created_by"), "operator");
	assert_int_equal(testdb_i64("SELECT (expires_at BETWEEN now() + interval '59 minutes' AND "
				    "now() + interval '61 minutes')::int FROM api_keys"),
		1);
	/* the row has its hash; neither the list, nor the audit, nor the row itself has it */
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM api_keys WHERE key_sha256 = sha256('%s')", key),
		1);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM api_keys k WHERE k::text ~ '%s'", key + 12), 0);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit a WHERE a::text ~ '%s'", key + 12), 0);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit WHERE action = 'create_key' AND status = "
			   "201 AND caller = 'operator' AND subject = '%s'",
			key_id),
		1);
	a = testweb_operator(pool, "GET", "/keys.json", NULL);
	assert_int_equal(a.status, 200);
	assert_null(strstr(a.body, key + 12));
	assert_string_equal(testweb_get(pool, &a, "keys.0.key_id"), key_id);
	assert_string_equal(testweb_get(pool, &a, "keys.0.last_used_at"), "");
	/* the answer is a secret: none is kept to be said again */
	a = testweb_ask(pool, "POST", "/create_key.json",
		(const char *const[]){HOST, BEARER, JSON, "Idempotency-Key: k1", NULL},
		"{\"title\":\"x\"}", 13);
	assert_int_equal(a.status, 422);
}

static void test_use_is_noted(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *key, *key_id;
	struct answer a;

	(void)state;
	key = make_key(pool, "run:write", &key_id);
	a = with(pool, key, "GET", "/session.json", NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "caller.kind"), "key");
	a = testweb_operator(pool, "GET", "/keys.json", NULL);
	assert_string_equal(testweb_get(pool, &a, "keys.0.last_used_address"), "192.0.2.30");
	assert_string_equal(testweb_get(pool, &a, "keys.0.last_used_client"), "test/1 ?[31m");
	/* once a minute is enough; from elsewhere it is written at once */
	testdb_exec("UPDATE api_keys SET last_used_at = now() - interval '30 s'");
	(void)with(pool, key, "GET", "/session.json", NULL);
	assert_int_equal(testdb_i64("SELECT (last_used_at < now() - interval '20 s')::int FROM "
				    "api_keys"),
		1);
	testdb_exec("UPDATE api_keys SET last_used_address = '192.0.2.99'");
	(void)with(pool, key, "GET", "/session.json", NULL);
	assert_int_equal(testdb_i64("SELECT (last_used_at > now() - interval '20 s')::int FROM "
				    "api_keys"),
		1);
	/* and the audit says which key it was */
	a = with(pool, key, "POST", "/teardown.json", "{\"session\":\"run-none\"}");
	assert_int_equal(a.status, 404);
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE action = 'teardown' AND "
				    "caller = '%s'",
				 key_id),
		1);
}

/* Sends what no action takes: who gets past the doors is told so with 422, and nothing changes. */
static struct answer knock(struct pool *pool, const struct action *a, const char *key)
{
	const char *headers[] = {HOST, pool_printf(pool, "Authorization: Bearer %s", key),
		a->type ? pool_printf(pool, "Content-Type: %s", a->type) : "X-None: 1", ADDRESS,
		NULL};

	return a->streams || !a->type
		       ? testweb_ask(pool, a->method, pool_printf(pool, "%s?no_such=1", a->path),
				 headers, "", 0)
		       : testweb_ask(pool, a->method, a->path, headers, "{\"no_such\":1}", 13);
}

static void test_scopes_for_every_action(void **state)
{
	static const enum scope scopes[] = {SCOPE_RUN_READ, SCOPE_RUN_WRITE, SCOPE_ADMIN};
	CLEANUP(pool) struct pool *pool = pool_new();
	int refused = 0, passed = 0;

	(void)state;
	for (size_t s = 0; s < 3; s++) {
		const char *key = make_key(pool, scope_name(scopes[s]), NULL);

		for (size_t i = 0; actions[i]; i++) {
			const struct action *act = actions[i];
			struct answer a = knock(pool, act, key);

			if (action_scope(act) <= scopes[s]) {
				if (a.status != 422)
					fail_msg("%s with %s: %d %s", act->name,
						scope_name(scopes[s]), a.status, a.body);
				passed++;
				continue;
			}
			if (a.status != 403)
				fail_msg("%s with %s: %d %s", act->name, scope_name(scopes[s]),
					a.status, a.body);
			assert_string_equal(testweb_get(pool, &a, "error.context.reason"),
				"insufficient_scope");
			assert_non_null(strstr(testweb_get(pool, &a, "error.message"),
				scope_name(action_scope(act))));
			assert_non_null(strstr(a.head, "error=\"insufficient_scope\""));
			assert_non_null(strstr(a.head,
				pool_printf(pool, "scope=\"%s\"", scope_list(action_scope(act)))));
			refused++;
		}
	}
	assert_true(refused > 10 && passed > 60);
	/* what changes something asks for more than looking, and what makes keys for the most */
	for (size_t i = 0; actions[i]; i++)
		if (actions[i]->mutates && actions[i]->needs == NEEDS_CALLER)
			assert_in_range(action_scope(actions[i]), SCOPE_RUN_WRITE, SCOPE_ADMIN);
	assert_int_equal(action_scope(action_find("create_key")), SCOPE_ADMIN);
	assert_int_equal(action_scope(action_find("keys")), SCOPE_ADMIN);
	assert_int_equal(action_scope(action_find("revoke_key")), SCOPE_ADMIN);
	assert_int_equal(testdb_i64("SELECT count(*) FROM api_keys"), 3);
}

static void test_refusals(void **state)
{
	static const char gone[] = "UPDATE api_keys SET expires_at = now() - interval '1 s'";
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *key, *key_id, *other;
	struct answer a;

	(void)state;
	key = make_key(pool, "run:read", &key_id);
	other = make_key(pool, "run:read", NULL);
	assert_int_equal(with(pool, key, "GET", "/fleet.json", NULL).status, 200);
	/* revoked: at once, for this key alone, and a second time without harm */
	for (int i = 0; i < 2; i++) {
		a = testweb_operator(pool, "POST", "/revoke_key.json",
			pool_printf(pool, "{\"key_id\":\"%s\"}", key_id));
		assert_int_equal(a.status, 200);
	}
	a = with(pool, key, "GET", "/fleet.json", NULL);
	assert_int_equal(a.status, 401);
	assert_string_equal(testweb_get(pool, &a, "error.context.reason"), "token");
	assert_null(strstr(a.body, key));
	assert_non_null(strstr(a.head, "error=\"invalid_token\""));
	assert_int_equal(with(pool, other, "GET", "/fleet.json", NULL).status, 200);
	a = testweb_operator(pool, "GET", "/keys.json", NULL);
	assert_null(strstr(a.body, key_id));
	/* expired */
	testdb_exec(gone);
	assert_int_equal(with(pool, other, "GET", "/fleet.json", NULL).status, 401);
	a = testweb_operator(pool, "GET", "/keys.json", NULL);
	assert_string_equal(testweb_get(pool, &a, "keys.0.state"), "expired");
	/* no such key; the key itself is not its name, and goes into no row */
	testdb_exec("UPDATE api_keys SET expires_at = NULL");
	a = testweb_operator(
		pool, "POST", "/revoke_key.json", pool_printf(pool, "{\"key_id\":\"%s\"}", other));
	assert_int_equal(a.status, 404);
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM audit a WHERE a::text ~ '%s'", other + 12), 0);
	assert_int_equal(with(pool, other, "GET", "/fleet.json", NULL).status, 200);
	/* another program's token is none */
	a = with(pool, "ghp_000000000000000000000000000000000000", "GET", "/fleet.json", NULL);
	assert_int_equal(a.status, 401);
	/* nor is another account's key seen or ended from here */
	testdb_exec("INSERT INTO accounts (name) VALUES ('others')");
	testdb_exec("INSERT INTO api_keys (account_id, user_id, name, title, prefix, key_sha256, "
		    "scopes, created_by) SELECT a.id, u.id, 'key-theirs', 't', 'p', 'h', "
		    "'admin', 'x' FROM accounts a, users u WHERE a.name = 'others'");
	a = testweb_operator(pool, "GET", "/keys.json", NULL);
	assert_null(strstr(a.body, "key-theirs"));
	a = testweb_operator(pool, "POST", "/revoke_key.json", "{\"key_id\":\"key-theirs\"}");
	assert_int_equal(a.status, 404);
}

/* Without the function that looks a key up, one whose CRC is wrong is refused all the same: nobody
 * was asked. A right one shows that the function was needed. */
static void test_a_wrong_crc_asks_nobody(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char bad[TOKEN_SIZE];
	const char *key;

	(void)state;
	key = make_key(pool, "run:read", NULL);
	(void)snprintf(bad, sizeof(bad), "%s", key);
	bad[20] = bad[20] == 'a' ? 'b' : 'a';
	testdb_exec("ALTER FUNCTION key_use RENAME TO key_use_away");
	assert_int_equal(with(pool, bad, "GET", "/fleet.json", NULL).status, 401);
	assert_int_equal(with(pool, key, "GET", "/fleet.json", NULL).status, 500);
	testdb_exec("ALTER FUNCTION key_use_away RENAME TO key_use");
	assert_int_equal(with(pool, key, "GET", "/fleet.json", NULL).status, 200);
	/* but it counts */
	assert_int_equal(
		testdb_i64("SELECT failures FROM throttle WHERE address = '192.0.2.30'"), 1);
	for (int i = 1; i < 20; i++)
		assert_int_equal(with(pool, bad, "GET", "/fleet.json", NULL).status, 401);
	assert_int_equal(with(pool, bad, "GET", "/fleet.json", NULL).status, 429);
	assert_int_equal(with(pool, key, "GET", "/fleet.json", NULL).status, 200);
}

static void test_no_token_in_an_address(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *key = make_key(pool, "run:read", NULL), *at;
	char other[TOKEN_SIZE];

	(void)state;
	(void)snprintf(other, sizeof(other), "%s", key);
	other[20] = other[20] == 'a' ? 'b' : 'a';
	const struct {
		const char *url;
		int status;
	} cases[] = {
		{pool_printf(pool, "/fleet.json?key=%s", key), 400},
		{pool_printf(pool, "/fleet.json?%s", key), 400},
		{pool_printf(pool, "/fleet.json?x=asb%%5Fkey%%5F%s", key + 8), 400},
		{pool_printf(pool, "/healthz?token=%s", key), 400},
		{pool_printf(pool, "/no_such/%s", key), 400},
		{"/fleet.json?access_token=anything", 400},
		{"/fleet.json?limit=1&access_token=anything", 400},
		/* the controls: what is no token goes on to be looked at as what it is */
		{pool_printf(pool, "/fleet.json?key=%s", other), 422},
		{"/fleet.json?key=1", 422},
		{"/fleet.json", 200},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer a = testweb_operator(pool, "GET", cases[i].url, NULL);

		if (a.status != cases[i].status)
			fail_msg("%s: %d %s", cases[i].url, a.status, a.body);
		if (a.status == 400)
			assert_string_equal(
				testweb_get(pool, &a, "error.context.reason"), "token_in_url");
		at = strstr(a.body, key + 8);
		assert_null(at);
	}
}

static void test_who_makes_keys(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie, *csrf, *body = "{\"title\":\"by a session\"}", *admin;
	struct answer a;

	(void)state;
	testweb_sign_in(pool, &cookie, &csrf);
	a = testweb_ask(pool, "POST", "/create_key.json",
		(const char *const[]){
			HOST, JSON, "Sec-Fetch-Site: same-origin", cookie, csrf, NULL},
		body, strlen(body));
	assert_int_equal(a.status, 201);
	assert_string_equal(testweb_get(pool, &a, "scopes.1"), "run:write");
	admin = make_key(pool, "admin", NULL);
	a = with(pool, admin, "POST", "/create_key.json", "{\"title\":\"by a key\"}");
	assert_int_equal(a.status, 201);
	assert_int_equal(testdb_i64("SELECT count(*) FROM api_keys WHERE created_by ~ '^key-'"), 1);
	/* a key is no browser: it signs nobody in */
	a = with(pool, admin, "POST", "/signin_code.json", "{}");
	assert_int_equal(a.status, 403);
	/* there is an end to them */
	testdb_exec("INSERT INTO api_keys (account_id, user_id, name, title, prefix, key_sha256, "
		    "scopes, created_by) SELECT k.account_id, k.user_id, 'key-' || i, 't', 'p', "
		    "i::text::bytea, 'admin', 'x' FROM generate_series(1, 197) i, (SELECT * FROM "
		    "api_keys LIMIT 1) k");
	a = with(pool, admin, "POST", "/create_key.json", "{\"title\":\"one too many\"}");
	assert_int_equal(a.status, 409);
	testdb_exec("UPDATE api_keys SET revoked_at = now() WHERE name = 'key-1'");
	a = with(pool, admin, "POST", "/create_key.json", "{\"title\":\"one too many\"}");
	assert_int_equal(a.status, 201);
	a = with(pool, admin, "POST", "/create_key.json", "{\"title\":\" \"}");
	assert_int_equal(a.status, 422);
	a = with(pool, admin, "POST", "/create_key.json", "{\"title\":\"x\",\"scope\":\"root\"}");
	assert_int_equal(a.status, 422);
	a = with(pool, admin, "POST", "/create_key.json", "{\"title\":\"x\",\"lifetime_ms\":1}");
	assert_int_equal(a.status, 422);
}

/* The 401 says where to learn more, and its body what to do: programs print it to people. */
/* What is put into each client's settings: the table, with this site's address and no secret. */
static void test_how_clients_are_told(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *const nobody[] = {HOST, NULL};
	struct answer a = testweb_operator(pool, "GET", "/clients.json", NULL);
	size_t n = 0;

	(void)state;
	assert_int_equal(a.status, 200);
	for (const struct snippet *s = snippets; s->name; s++, n++) {
		const char *text = testweb_get(pool, &a, pool_printf(pool, "clients.%zu.text", n));

		assert_string_equal(
			testweb_get(pool, &a, pool_printf(pool, "clients.%zu.format", n)), s->name);
		assert_non_null(strstr(text, TESTWEB_URL "/mcp\""));
		assert_non_null(strstr(text, snippet_key_place(s)));
		assert_null(strstr(text, TESTWEB_TOKEN));
	}
	assert_string_equal(testweb_get(pool, &a, pool_printf(pool, "clients.%zu.text", n)), "");
	assert_non_null(strstr(testweb_get(pool, &a, "then"), "at launch"));
	assert_int_equal(testweb_ask(pool, "GET", "/clients.json", nobody, NULL, 0).status, 401);
}

static void test_the_challenge(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	a = testweb_ask(pool, "GET", "/fleet.json", (const char *const[]){HOST, NULL}, NULL, 0);
	assert_int_equal(a.status, 401);
	assert_non_null(strstr(a.head,
		"WWW-Authenticate: Bearer realm=\"agent-sandbox\", resource_metadata=\"" TESTWEB_URL
		"/.well-known/oauth-protected-resource/mcp\", scope=\"run:read run:write\"\r\n"));
	a = with(pool, "wrong", "GET", "/fleet.json", NULL);
	assert_int_equal(a.status, 401);
	assert_non_null(
		strstr(a.head, "scope=\"run:read run:write\", error=\"invalid_token\"\r\n"));
	assert_non_null(strstr(testweb_get(pool, &a, "error.fix"), "/dashboard/keys"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_clients_are_told),
		cmocka_unit_test_setup(test_a_key_is_shown_once, fresh),
		cmocka_unit_test_setup(test_use_is_noted, fresh),
		cmocka_unit_test_setup(test_scopes_for_every_action, fresh),
		cmocka_unit_test_setup(test_refusals, fresh),
		cmocka_unit_test_setup(test_a_wrong_crc_asks_nobody, fresh),
		cmocka_unit_test_setup(test_no_token_in_an_address, fresh),
		cmocka_unit_test_setup(test_who_makes_keys, fresh),
		cmocka_unit_test_setup(test_the_challenge, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
