/*
 * Who gets a stream of asb-live and who does not, and that a session that is over keeps none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "encode.h"
#include "livesite.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_revoked_session_ends),
		cmocka_unit_test(test_revoked_key_ends),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
