/*
 * M03: bearers that are for another address, another's, or of another kind: 401 at /mcp, with where
 * to get one; and what was sent is in no row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "oauthclient.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

static int done(void **state)
{
	(void)state;
	testweb_done();
	return 0;
}

static struct answer list_as(const char *token)
{
	return testweb_mcp(oauth_pool,
		&(struct testweb_mcp){
			.bearer = pool_printf(oauth_pool, "Authorization: Bearer %s", token),
			.method = "tools/list",
			.params = ""});
}

static void refused(const char *token)
{
	struct answer a = list_as(token);

	if (a.status != 401 || !strstr(a.head, "WWW-Authenticate: Bearer ") ||
		!strstr(a.head, "resource_metadata=") || strstr(a.body, token))
		fail_msg("%.8s...: %d %s%s", token, a.status, a.head, a.body);
}

/* Of a client that was connected: its access token, for /mcp. */
static const char *access_token(const char **refresh)
{
	struct answer a = oauth_exchange_well(oauth_code_of(oauth_query("")));

	assert_int_equal(a.status, 200);
	*refresh = testweb_get(oauth_pool, &a, "refresh_token");
	return testweb_get(oauth_pool, &a, "access_token");
}

static void test_another_audience(void **state)
{
	const char *refresh, *token = access_token(&refresh);

	(void)state;
	assert_int_equal(list_as(token).status, 200);
	testdb_exec("UPDATE oauth_grants SET resource = 'https://other.example/mcp'");
	refused(token);
	testdb_exec("UPDATE oauth_grants SET resource = '" TESTWEB_URL "'");
	refused(token);
	testdb_exec("UPDATE oauth_grants SET resource = '" TESTWEB_URL "/mcp'");
	assert_int_equal(list_as(token).status, 200);
}

static void test_another_kind(void **state)
{
	static const char *const foreign[] = {"ghp_0123456789abcdefghijklmnopqrstuvwxyz",
		"github_pat_11AAAAAAA0aaaaaaaaaaaaaaaa", "gho_0123456789abcdefghij",
		"sk-ant-api03-0123456789", "eyJhbGciOiJub25lIn0.eyJhdWQiOiJ4In0.e30",
		"asb_key_000000000000000000000000000000000000"};
	const char *refresh, *token = access_token(&refresh), *end;

	(void)state;
	testdb_exec("TRUNCATE throttle");
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		refused(foreign[i]);
		assert_int_equal(
			testdb_i64("SELECT count(*) FROM audit a WHERE a::text LIKE '%%%s%%'",
				foreign[i]),
			0);
	}
	refused(refresh);
	end = pool_printf(oauth_pool, "%.*s", (int)strlen(token) - 1, token);
	refused(end);
	testdb_exec("TRUNCATE throttle");
	assert_int_equal(list_as(token).status, 200);
	/* and not when its hour is over */
	testdb_exec("UPDATE oauth_tokens SET expires_at = now() WHERE kind = 'access'");
	refused(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_another_audience, oauthclient_fresh, oauthclient_over),
		cmocka_unit_test_setup_teardown(
			test_another_kind, oauthclient_fresh, oauthclient_over),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
