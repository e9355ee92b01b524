/*
 * Who gets a stream of asb-live and who does not, and that whose access was taken back keeps
 * neither a stream nor a wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "livesite.h"
#include "mcp_result.h"
#include "testdb.h"
#include "token.h"

static struct livesite site;
static int64_t account;

static int start(void **state)
{
	(void)state;
	account = testdb_i64("SELECT id FROM accounts WHERE name = 'operator'");
	livesite_start(&site, 15000, RESCAN_NEVER);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	livesite_stop(&site);
	return 0;
}

static void expect_error(const char *url, const char *const *headers, int status, const char *code)
{
	struct fcgiclient c;

	fcgiclient_open(&c, site.socket, "GET", url, headers, NULL, 0);
	assert_true(fcgiclient_finish(&c, LIVE_MS));
	if (fcgiclient_status(&c) != status || !strstr(fcgiclient_body(&c), code))
		fail_msg("%s: %s", url, c.out.data);
	assert_string_equal(fcgiclient_header(&c, "Content-Type"), "application/json");
	assert_non_null(strstr(fcgiclient_body(&c), "\"request_id\":"));
	fcgiclient_close(&c);
}

static void test_refuses(void **state)
{
	static const char bearer[] = "Authorization: Bearer " LIVESITE_TOKEN;
	static const char *const good[] = {"Host: 127.0.0.1", bearer, NULL};
	static const char *const nobody[] = {"Host: 127.0.0.1", NULL};
	static const char *const wrong[] = {"Host: 127.0.0.1", "Authorization: Bearer x", NULL};
	static const char *const foreign[] = {"Host: evil.example", bearer, NULL};
	static const char *const origin[] = {
		"Host: 127.0.0.1", "Origin: http://evil.example", bearer, NULL};
	static const char *const odd_id[] = {"Host: 127.0.0.1", "Last-Event-ID: 1.2", bearer, NULL};
	struct fcgiclient c;

	(void)state;
	testdb_exec("INSERT INTO accounts (name) VALUES ('stranger')");
	(void)livesite_run(
		"run-foreign", testdb_i64("SELECT id FROM accounts WHERE name = 'stranger'"));
	(void)livesite_run("run-own", account);
	livesite_watch(&site, &c, "/watch.sse?session=run-own", NULL); /* the control */
	fcgiclient_close(&c);
	expect_error("/watch.sse?session=run-foreign", good, 404, "\"not_found\"");
	expect_error("/watch.sse?session=run-unknown", good, 404, "\"not_found\"");
	expect_error("/events.sse?run=run-foreign", good, 404, "\"not_found\"");
	expect_error("/other.sse", good, 404, "\"not_found\"");
	expect_error("/watch.sse?session=run-own", nobody, 401, "\"unauthenticated\"");
	expect_error("/watch.sse?session=run-own", wrong, 401, "\"unauthenticated\"");
	assert_int_equal(testdb_i64("SELECT failures FROM throttle"), 1);
	expect_error("/watch.sse?session=run-own", foreign, 403, "\"host\"");
	expect_error("/watch.sse?session=run-own", origin, 403, "\"origin\"");
	expect_error("/watch.sse", good, 422, "session");
	expect_error("/watch.sse?session=run-own&nonsense=1", good, 422, "nonsense");
	expect_error("/watch.sse?session=run-own&after=1.x.2", good, 422, "after");
	expect_error("/watch.sse?session=run-own", odd_id, 422, "after");
}

static void test_revoked_session_ends(void **state)
{
	static const char token[] = "some-session-token-of-43-characters-or-so--";
	unsigned char hash[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];
	static const char *const headers[] = {"Host: 127.0.0.1",
		"Cookie: asb_dev=some-session-token-of-43-characters-or-so--", NULL};
	struct fcgiclient c;
	struct fcgi_event e = {0};

	(void)state;
	(void)livesite_run("run-session", account);
	sha256(token, strlen(token), hash);
	hex_encode(hash, sizeof(hash), hex);
	testdb_exec("INSERT INTO sessions (account_id, user_id, token_sha256, expires_at)"
		    " SELECT %lld, min(id), '\\x%s', now() + interval '1 d' FROM users",
		(long long)account, hex);
	fcgiclient_open(&c, site.socket, "GET", "/watch.sse?session=run-session", headers, NULL, 0);
	livesite_next(&c, &e, "hello");
	(void)fcgiclient_finish(&c, 1500);
	assert_false(c.eof); /* it outlives a check while the session is good */
	testdb_exec("DELETE FROM sessions");
	assert_true(fcgiclient_finish(&c, LIVE_MS));
	fcgiclient_close(&c);
	expect_error("/watch.sse?session=run-session", headers, 401, "\"unauthenticated\"");
	fcgi_event_done(&e);
}

/* A key that is revoked keeps no stream, and another's goes on. */
static void test_revoked_key_ends(void **state)
{
	const char *headers[] = {"Host: 127.0.0.1", NULL, NULL};
	char keys[2][TOKEN_SIZE], bearers[2][100], url[100];
	unsigned char hash[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];
	struct fcgiclient c[2];
	struct fcgi_event e = {0};

	(void)state;
	(void)livesite_run("run-key", account);
	for (int i = 0; i < 2; i++) {
		token_make(TOKEN_KEY, keys[i]);
		sha256(keys[i], strlen(keys[i]), hash);
		hex_encode(hash, sizeof(hash), hex);
		testdb_exec("INSERT INTO api_keys (account_id, user_id, name, title, prefix, "
			    "key_sha256, scopes, created_by) SELECT %lld, min(id), 'key-%d', 't', "
			    "'p', '\\x%s', 'run:read', 'x' FROM users",
			(long long)account, i, hex);
		(void)snprintf(
			bearers[i], sizeof(bearers[i]), "Authorization: Bearer %.55s", keys[i]);
		headers[1] = bearers[i];
		fcgiclient_open(
			&c[i], site.socket, "GET", "/watch.sse?session=run-key", headers, NULL, 0);
		livesite_next(&c[i], &e, "hello");
	}
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM api_keys WHERE last_used_at IS NOT NULL"), 2);
	testdb_exec("UPDATE api_keys SET revoked_at = now() WHERE name = 'key-0'");
	assert_true(fcgiclient_finish(&c[0], LIVE_MS));
	(void)fcgiclient_finish(&c[1], 1500);
	assert_false(c[1].eof);
	fcgiclient_close(&c[0]);
	fcgiclient_close(&c[1]);
	headers[1] = bearers[0];
	expect_error("/watch.sse?session=run-key", headers, 401, "\"token\"");
	headers[1] = bearers[1];
	expect_error("/watch.sse?session=run-none", headers, 404, "\"not_found\"");
	/* not even the right one, in the address */
	(void)snprintf(url, sizeof(url), "/events.sse?k=%s", keys[1]);
	expect_error(url, headers, 400, "\"token_in_url\"");
	fcgi_event_done(&e);
}

/* --- waits --- */

enum kind { SESSION, KEY, OAUTH, KINDS };

/* A caller of the kind, number n of it: the header line that it sends. */
static void caller_make(enum kind kind, int n, char header[128])
{
	unsigned char hash[SHA256_SIZE];
	char token[TOKEN_SIZE], hex[2 * SHA256_SIZE + 1];

	if (kind == SESSION)
		(void)snprintf(
			token, sizeof(token), "some-session-token-of-43-characters-or-so-%d", n);
	else
		token_make(kind == KEY ? TOKEN_KEY : TOKEN_OAUTH, token);
	(void)snprintf(header, 128, "%s%s",
		kind == SESSION ? "Cookie: asb_dev=" : "Authorization: Bearer ", token);
	sha256(token, strlen(token), hash);
	hex_encode(hash, sizeof(hash), hex);
	if (kind == SESSION)
		testdb_exec("INSERT INTO sessions (account_id, user_id, token_sha256, expires_at) "
			    "SELECT %lld, min(id), '\\x%s', now() + interval '1 d' FROM users",
			(long long)account, hex);
	else if (kind == KEY)
		testdb_exec("INSERT INTO api_keys (account_id, user_id, name, title, prefix, "
			    "key_sha256, scopes, created_by) SELECT %lld, min(id), 'key-w%d', 't', "
			    "'p', '\\x%s', 'run:read', 'x' FROM users",
			(long long)account, n, hex);
	else
		testdb_exec("WITH g AS (INSERT INTO oauth_grants (account_id, user_id, name, "
			    "client_id, title, redirect_uri, scopes, resource) SELECT %lld, "
			    "min(id), 'grant-w%d', 'c', 't', 'r', 'run:read', "
			    "'http://127.0.0.1:8380/mcp' FROM users RETURNING id) "
			    "INSERT INTO oauth_tokens (account_id, grant_id, kind, token_sha256, "
			    "scopes, expires_at) SELECT %lld, id, 'access', '\\x%s', 'run:read', "
			    "now() + interval '1 h' FROM g",
			(long long)account, n, (long long)account, hex);
}

static void caller_revoke(enum kind kind)
{
	static const char *const how[KINDS] = {
		[SESSION] = "DELETE FROM sessions WHERE id = (SELECT min(id) FROM sessions)",
		[KEY] = "UPDATE api_keys SET revoked_at = now() WHERE name = 'key-w0'",
		[OAUTH] = "UPDATE oauth_grants SET revoked_at = now() WHERE name = 'grant-w0'",
	};

	testdb_exec("%s", how[kind]);
}

/* c[0]: as JSON; c[1]: as an MCP call. */
static void waits_open(struct fcgiclient c[2], const char *run, const char *header)
{
	static const struct mcp_call call = {
		.version = "2025-11-25", .id = "\"w\"", .tool = "status", .token = NULL};
	const char *const headers[] = {"Host: 127.0.0.1", header, NULL};
	CLEANUP(buf) struct buf b = BUF_INIT(4096);
	char url[600];

	mcp_call_print(&b, &call);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(url, sizeof(url), "/internal/wait?run=%s&wait_ms=50000%s%s", run,
			i ? "&mcp=" : "", i ? b.data : "");
		fcgiclient_open(&c[i], site.socket, "GET", url, headers, NULL, 0);
	}
}

static void ends_with(struct fcgiclient *c, int status, const char *text)
{
	if (!fcgiclient_finish(c, LIVE_MS) || fcgiclient_status(c) != status ||
		!strstr(fcgiclient_body(c), text))
		fail_msg("no %d with %s: %s", status, text, c->out.data);
	fcgiclient_close(c);
}

/* The one whose access is taken back is answered so at once, and nobody else. Nothing is looked at
 * here without being told. */
static void test_revoked_waits_end(void **state)
{
	(void)state;
	testdb_exec("DELETE FROM sessions");
	for (int kind = 0; kind < KINDS; kind++) {
		struct fcgiclient gone[2], stays[2];
		char name[32], headers[2][128];
		int64_t run;

		(void)snprintf(name, sizeof(name), "run-wait%d", kind);
		run = livesite_run(name, account);
		caller_make((enum kind)kind, 0, headers[0]);
		caller_make((enum kind)kind, 1, headers[1]);
		waits_open(gone, name, headers[0]);
		waits_open(stays, name, headers[1]);
		for (int i = 0; i < 2; i++) {
			assert_false(fcgiclient_finish(&gone[i], 200));
			assert_false(fcgiclient_finish(&stays[i], 200));
		}
		caller_revoke((enum kind)kind);
		ends_with(&gone[0], 401, "\"revoked\"");
		ends_with(&gone[1], 200, "error:unauthenticated access was taken back");
		for (int i = 0; i < 2; i++)
			assert_false(fcgiclient_finish(&stays[i], 200));
		testdb_exec("UPDATE turns SET state = 'done' WHERE run_id = %lld", (long long)run);
		ends_with(&stays[0], 200, "\"state\" : \"done\"");
		ends_with(&stays[1], 200, "run:done");
	}
}

/* The same for one whose time is over, which nobody tells: the call of another that comes makes
 * asb-live look, and see when the first one ends. */
static void test_expired_ends(void **state)
{
	static const char *const how[KINDS] = {
		[SESSION] = "UPDATE sessions SET expires_at = now() + interval '1 s'"
			    " WHERE id = (SELECT min(id) FROM sessions)",
		[KEY] = "UPDATE api_keys SET expires_at = now() + interval '1 s'"
			" WHERE name = 'key-w0'",
		[OAUTH] = "UPDATE oauth_tokens SET expires_at = now() + interval '1 s'"
			  " WHERE grant_id = (SELECT id FROM oauth_grants WHERE name = 'grant-w0')",
	};

	(void)state;
	testdb_exec("DELETE FROM sessions; DELETE FROM api_keys; DELETE FROM oauth_tokens;"
		    " DELETE FROM oauth_grants");
	for (int kind = 0; kind < KINDS; kind++) {
		struct fcgiclient over[2], stays[2];
		char name[32], headers[2][128];
		int64_t run;

		(void)snprintf(name, sizeof(name), "run-over%d", kind);
		run = livesite_run(name, account);
		caller_make((enum kind)kind, 0, headers[0]);
		caller_make((enum kind)kind, 1, headers[1]);
		waits_open(over, name, headers[0]);
		assert_false(fcgiclient_finish(&over[0], 500)); /* its first look is over */
		testdb_exec("%s", how[kind]);
		waits_open(stays, name, headers[1]);
		ends_with(&over[0], 401, "\"revoked\"");
		ends_with(&over[1], 200,
			"error:unauthenticated access was taken back, or has expired");
		for (int i = 0; i < 2; i++)
			assert_false(fcgiclient_finish(&stays[i], 200));
		testdb_exec("UPDATE turns SET state = 'done' WHERE run_id = %lld", (long long)run);
		ends_with(&stays[0], 200, "\"state\" : \"done\"");
		ends_with(&stays[1], 200, "run:done");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_revoked_session_ends),
		cmocka_unit_test(test_revoked_key_ends),
		cmocka_unit_test(test_revoked_waits_end),
		cmocka_unit_test(test_expired_ends),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
