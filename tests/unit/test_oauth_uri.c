/*
 * Redirect addresses: which may be registered, and which are the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "oauth_uri.h"

static void test_documents(void **state)
{
	static const char *const good[] = {"https://claude.ai/oauth/claude-code-client-metadata",
		"https://example.com:8443/client.json", "https://example.com/a/b.c/..d/e..",
		"https://example.com/x?y=../z", "https://example.com/.well-known/x/"};
	static const char *const bad[] = {"", "client-abcdefgh", "https://example.com",
		"https://example.com/", "https://example.com?x", "https://example.com/?x",
		"http://example.com/x", "http://127.0.0.1/x", "HTTPS://example.com/x",
		"https://example.com/x#y", "https://example.com/x#", "https://a@example.com/x",
		"https://a:b@example.com/x", "https://example.com/..", "https://example.com/.",
		"https://example.com/a/../b", "https://example.com/a/./b",
		"https://example.com/a/%2e%2e/b", "https://example.com/.%2E/b",
		"https://example.com/%2e?x", "https://example.com//x", "https://example.com:/x",
		"https://example.com:443443/x", "https://[::1]/x", "https://exa mple.com/x",
		"https://example.com/x\\y", "https://example.com\\@evil.example/x"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!oauth_uri_is_document(good[i]))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (oauth_uri_is_document(bad[i]))
			fail_msg("%s is taken", bad[i]);
}

static void test_good(void **state)
{
	static const char *const good[] = {
		"https://claude.ai/api/mcp/auth_callback",
		"https://example.com:8443/cb?x=1",
		"https://example.com",
		"http://127.0.0.1:33418/callback",
		"http://localhost/callback",
		"http://localhost:1/",
		"http://[::1]:8080/cb",
		"cursor://anysphere.cursor-retrieval/oauth/callback",
		"com.example.app:/oauth",
	};
	static const char *const bad[] = {
		"",
		"example.com/cb",
		"/cb",
		"//example.com/cb",
		"javascript:alert(1)",
		"javascript://127.0.0.1/%0aalert(1)",
		"data:text/html,x",
		"data://a/b",
		"file:///etc/passwd",
		"blob:https://x/y",
		"vbscript://x",
		"http://example.com/cb",
		"http://127.0.0.1.evil.example/cb",
		"http://127.0.0.1@evil.example/cb",
		"http://127.0.0.1:80@evil.example/cb",
		"http://localhost:/cb",
		"http://localhost:123456/cb",
		"http://localhost:1x/cb",
		"http://192.168.0.1/cb",
		"HTTPS://example.com/cb",
		"https://",
		"https:///cb",
		"https://user@example.com/cb",
		"https://user:pw@example.com/cb",
		"https://example.com:/cb",
		"https://example.com/cb#fragment",
		"https://example.com/c b",
		"https://example.com/\r\nSet-Cookie: a=b",
		"https://example.com/\"",
		"https://exa\\mple.com/",
		"https://ex\xc3\xa4mple.com/",
		"ws://127.0.0.1/cb",
		"unknown://cb",
	};
	char long_one[OAUTH_URI_MAX + 30];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!oauth_uri_is_good(good[i]))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (oauth_uri_is_good(bad[i]))
			fail_msg("taken: %s", bad[i]);
	memset(long_one, 'a', sizeof(long_one));
	memcpy(long_one, "https://a/", 10);
	long_one[OAUTH_URI_MAX] = '\0';
	assert_true(oauth_uri_is_good(long_one));
	long_one[OAUTH_URI_MAX] = 'a';
	long_one[OAUTH_URI_MAX + 1] = '\0';
	assert_false(oauth_uri_is_good(long_one));
}

static void test_listed(void **state)
{
	static const char list[] = "[\"https://example.com/cb\",\"http://127.0.0.1:1234/callback\","
				   "\"http://localhost/callback\",\"cursor://x/cb\"]";
	static const struct {
		const char *uri;
		bool listed;
	} cases[] = {
		{"https://example.com/cb", true},
		{"https://example.com/cb/", false},
		{"https://example.com/CB", false},
		{"https://example.com/cb?x=1", false},
		{"https://example.com:443/cb", false},
		{"https://example.com.evil.example/cb", false},
		{"https://sub.example.com/cb", false},
		{"http://127.0.0.1:1234/callback", true},
		{"http://127.0.0.1:4321/callback", true},
		{"http://127.0.0.1/callback", true},
		{"http://127.0.0.1:4321/callback/x", false},
		{"http://127.0.0.1:4321/other", false},
		{"http://localhost:55555/callback", true},
		{"http://[::1]:1234/callback", false},
		{"https://localhost/callback", false},
		{"cursor://x/cb", true},
		{"cursor://y/cb", false},
		{"", false},
	};
	CLEANUP(json) struct json_object *o = NULL;
	struct err err;

	(void)state;
	assert_true(json_parse(list, strlen(list), &o, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (oauth_uri_is_listed(o, cases[i].uri) != cases[i].listed)
			fail_msg("%s", cases[i].uri);
	assert_false(oauth_uri_is_listed(NULL, "https://example.com/cb"));
}

static void test_host(void **state)
{
	static const struct {
		const char *uri, *host;
	} cases[] = {
		{"https://example.com:8443/cb", "example.com:8443"},
		{"https://example.com?x", "example.com"},
		{"http://127.0.0.1:1234/callback", "127.0.0.1:1234"},
		{"cursor://x/cb", "cursor"},
		{"com.example.app:/cb", "com.example.app"},
	};
	const char *host;
	char text[100];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		host = oauth_uri_host(cases[i].uri, &n);
		(void)snprintf(text, sizeof(text), "%.*s", (int)n, host);
		assert_string_equal(text, cases[i].host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
