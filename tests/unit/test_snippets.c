/*
 * The table of client snippets: each JSON one is parsed and holds what was filled in, whatever
 * characters that has; the help of `asb config` names every row. TOML and YAML are parsed by
 * tests/e2e/clients, which asks the program itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "snippets.h"
#include "verbs.h"

static const struct snippet_values values = {
	.program = "/opt/a \"b\"\\c/asb",
	.url = "https://sandbox.example.org",
	.token_file = "/srv/p/t\xc3\xb6ken",
};

static void test_json(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct snippet *s = snippets; s->name; s++) {
		CLEANUP(buf) struct buf text = BUF_INIT(65536);
		CLEANUP(json) struct json_object *o = NULL;
		const char *command, *url, *token, *arg;
		struct json_object *server;
		struct err err;

		snippet_print(s, SNIPPET_STDIO, &values, &text);
		assert_false(text.failed);
		if (s->syntax != SNIPPET_JSON)
			continue;
		n++;
		if (!json_parse(text.data, text.len, &o, &err))
			fail_msg("%s: %s", s->name, err.msg);
		server = json_get(json_get(o, s->root), "agent-sandbox");
		assert_true(json_get_text(server, "command", &command));
		assert_string_equal(command, values.program);
		assert_true(json_as_text(json_at(json_get(server, "args"), 0), &arg));
		assert_string_equal(arg, "mcp");
		assert_true(json_get_text(json_get(server, "env"), "ASB_URL", &url));
		assert_string_equal(url, values.url);
		assert_true(json_get_text(json_get(server, "env"), "ASB_TOKEN_FILE", &token));
		assert_string_equal(token, values.token_file);
	}
	assert_int_equal(n, 8);
}

/* The remote form, and the stdio form of somebody who signed in: no path of a token. */
static void test_remote(void **state)
{
	struct snippet_values signed_in = values;

	(void)state;
	signed_in.token_file = NULL;
	for (const struct snippet *s = snippets; s->name; s++) {
		CLEANUP(buf) struct buf remote = BUF_INIT(65536), stdio = BUF_INIT(65536);
		CLEANUP(json) struct json_object *o = NULL, *p = NULL;
		const char *url, *bearer;
		struct json_object *server;
		struct err err;

		snippet_print(s, SNIPPET_REMOTE, &values, &remote);
		snippet_print(s, SNIPPET_STDIO, &signed_in, &stdio);
		assert_null(strstr(remote.data, "t\xc3\xb6ken"));
		assert_null(strstr(remote.data, "command"));
		assert_null(strstr(stdio.data, "ASB_TOKEN_FILE"));
		if (s->syntax != SNIPPET_JSON)
			continue;
		assert_true(json_parse(remote.data, remote.len, &o, &err));
		assert_true(json_parse(stdio.data, stdio.len, &p, &err));
		server = json_get(json_get(o, s->root), "agent-sandbox");
		assert_true(json_get_text(server, s->url, &url));
		assert_string_equal(url, values.url);
		assert_true(json_get_text(json_get(server, "headers"), "Authorization", &bearer));
		assert_string_equal(bearer, s->bearer);
	}
}

static void test_roots(void **state)
{
	(void)state;
	assert_string_equal(snippet_find("vscode")->root, "servers");
	assert_string_equal(snippet_find("zed")->root, "context_servers");
	assert_string_equal(snippet_find("codex")->root, "mcp_servers");
	assert_string_equal(snippet_find("cursor")->root, "mcpServers");
	assert_null(snippet_find("emacs"));
}

static void test_help(void **state)
{
	const struct verb *v = verb_find("config");

	(void)state;
	for (const struct snippet *s = snippets; s->name; s++) {
		size_t i = 0;

		while (v->flags[0].words[i] && strcmp(v->flags[0].words[i], s->name))
			i++;
		if (!v->flags[0].words[i] || !strstr(v->flags[0].help, s->name))
			fail_msg("asb help config does not name %s", s->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_remote),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
