/*
 * asb mcp against a scripted site: lines in, lines out; both eras' headers, streams, calls side by
 * side, cancelled ones, a site that is away, what this machine adds.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "bridge.h"
#include "bridgerig.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"

#define HAS(raw, text)                                      \
	do {                                                \
		if (!strstr(raw, text))                     \
			fail_msg("no %s in %s", text, raw); \
	} while (0)

static void begin(struct bridgerig *r)
{
	bridgerig_site(r);
	bridgerig_start(r, 20000);
}

static void put(struct bridgerig *r, const char *line)
{
	bridgerig_put(r, line);
}

/* The next line, parsed; *raw: its text. */
static struct json_object *next(struct bridgerig *r, char **raw)
{
	char *line = bridgerig_next(r);
	struct json_object *o = NULL;
	struct err err;

	assert_non_null(line);
	if (!json_parse(line, strlen(line), &o, &err))
		fail_msg("%s: %s", err.msg, line);
	*raw = line;
	return o;
}

static void expect(struct bridgerig *r, const char *text)
{
	CLEANUP(free) char *raw = NULL;
	CLEANUP(json) struct json_object *o = next(r, &raw);

	HAS(raw, text);
}

static void test_headers(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL, *second = NULL, *third = NULL;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/discover\",\"params\":{\"_meta\":"
	       "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
	json_free(next(r, &raw));
	HAS(raw, "\"id\":0");
	HAS(raw, "MCP-Protocol-Version: 2026-07-28");
	HAS(raw, "Mcp-Method: server/discover");
	assert_null(strstr(raw, "Idempotency-Key"));
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"resources/"
	       "read\",\"params\":{\"uri\":"
	       "\"run\\u00e9\\r\\nX: y\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
	       "\"2026-07-28\"}}}");
	json_free(next(r, &second));
	HAS(second, "Mcp-Name: =?base64?");
	assert_null(strstr(second, "\\r\\nX: y"));
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"tools/"
	       "call\",\"params\":{\"name\":\"t\"}}");
	json_free(next(r, &third));
	HAS(third, "\"id\":-1");
	HAS(third, "Idempotency-Key: mcp-");
	assert_null(strstr(third, "Mcp-Method"));
}

static void test_stream(void **state)
{
	struct bridgerig *r = *state;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-never\"}");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"say-stream\"}");
	expect(r, "notifications/progress");
	expect(r, "\"id\":2");
	/* nothing of the stream comes after its answer, and the first call still waits */
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
}

static void test_cancelled(void **state)
{
	struct bridgerig *r = *state;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"say-cut\"}");
	put(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	       "cancelled\",\"params\":{\"requestId\":"
	       "\"1\"}}");
	/* 1 is not "1": this one is answered */
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-refused\"}");
	expect(r, "\"id\":1");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"plain\"}");
	expect(r, "\"id\":2");
}

static void test_refused(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;

	begin(r);
	/* what the site says to whoever sends headers, but for the one that asb sends itself */
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-forbidden\"}");
	expect(r, "\"error\":{\"code\":-32001,\"message\":\"a larger scope\"},\"id\":1");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-refused\"}");
	raw = bridgerig_next(r);
	assert_non_null(raw);
	HAS(raw, "\"id\":1,\"error\":");
	HAS(raw, "`asb login` stores another");
	HAS(raw, "\"code\":\"unauthenticated\"");
	assert_null(strstr(raw, "header"));
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"say-html\"}");
	expect(r, "the site answered 413");
	put(r, "nonsense");
	expect(r, "\"id\":null,\"error\":{\"code\":-32700");
	put(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"plain\"}");
	expect(r, "\"id\":3");
}

static void test_away(void **state)
{
	struct bridgerig *r = *state;

	/* nobody listens yet: asked again until somebody does */
	bridgerig_start(r, 60000);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"plain\"}");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	expect(r, "\"id\":2");
	bridgerig_site(r);
	expect(r, "\"id\":1");
}

static void test_gone(void **state)
{
	static const char *const methods[] = {"say-busy", "say-cut"};
	struct bridgerig *r = *state;

	bridgerig_site(r);
	bridgerig_start(r, 300);
	for (size_t i = 0; i < 2; i++) {
		char line[128];

		(void)snprintf(line, sizeof(line),
			"{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\"}", i, methods[i]);
		put(r, line);
		expect(r, "the site does not answer. Start it");
	}
}

/* A call that the site held for longer than it may be away is asked again as any other. */
static void test_late(void **state)
{
	struct bridgerig *r = *state;

	bridgerig_site(r);
	bridgerig_start(r, 1000);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-later\"}");
	expect(r, "\"result\":{\"saw\":");
}

static void test_tools(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *tools, *source;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	o = next(r, &raw);
	tools = json_get(json_get(o, "result"), "tools");
	assert_int_equal(json_count(tools), 3);
#define PROPERTIES(i) json_get(json_get(json_at(tools, i), "inputSchema"), "properties")
	source = json_get(PROPERTIES(0), "source");
	assert_non_null(source);
	assert_null(json_get(PROPERTIES(0), "sync_from"));
	assert_null(json_key_at(PROPERTIES(1), 0));
	assert_non_null(json_get(PROPERTIES(2), "sync_from"));
}

/* A directory with a file in it, which is given to the bridge as its workspace. */
static void make_tree(char dir[64])
{
	char path[96];
	FILE *f;

	(void)snprintf(dir, 64, "/tmp/test_bridge.XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/planted-word", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	(void)fputs("hello\n", f);
	(void)fclose(f);
}

static void remove_tree(const char *dir)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/planted-word", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void test_local(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;
	char dir[64];

	make_tree(dir);
	(void)setenv("WORKSPACE_DIR", dir, 1);
	begin(r);
	(void)unsetenv("WORKSPACE_DIR");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":\"local\"}}}");
	json_free(next(r, &raw));
	remove_tree(dir);
	HAS(raw, "\\\"upload\\\":\\\"blob-x\\\"");
	HAS(raw, "\\\"dir\\\":\\\"test_bridge.");
	HAS(raw, "\\\"task\\\":\\\"t\\\"");
	assert_null(strstr(raw, "source"));
}

static void test_roots(void **state)
{
	struct bridgerig *r = *state;
	char dir[64], line[256];

	make_tree(dir);
	(void)unsetenv("WORKSPACE_DIR");
	(void)unsetenv("CLAUDE_PROJECT_DIR");
	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	       "\"capabilities\":"
	       "{\"roots\":{}}}}");
	expect(r, "\"id\":0");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":\"local\"}}}");
	expect(r, "\"id\":\"asb-roots\",\"method\":\"roots/list\"");
	(void)snprintf(line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":\"asb-roots\",\"result\":{\"roots\":[{\"uri\":"
		"\"file://%s\"}]}}",
		dir);
	put(r, line);
	expect(r, "\\\"dir\\\":\\\"test_bridge.");
	remove_tree(dir);
}

/* Which tree is open: the first of these that is a directory. */
static void test_workspace(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct bridge b = {.root = "/root-of-client"};
	const char *home = getenv("HOME") ? pool_strdup(pool, getenv("HOME")) : NULL;
	char here[PATH_MAX], dir[64];

	(void)state;
	make_tree(dir);
	assert_non_null(getcwd(here, sizeof(here)));
	(void)setenv("WORKSPACE_DIR", "/tmp", 1);
	(void)setenv("CLAUDE_PROJECT_DIR", dir, 1);
	assert_string_equal(bridge_workspace(&b, pool), "/tmp");
	(void)setenv("WORKSPACE_DIR", "/tmp/nothing-is-here", 1);
	assert_string_equal(bridge_workspace(&b, pool), dir);
	(void)setenv("CLAUDE_PROJECT_DIR", "", 1);
	assert_string_equal(bridge_workspace(&b, pool), "/root-of-client");
	b.root = NULL;
	/* where a client starts servers that are of no project */
	assert_int_equal(chdir("/"), 0);
	assert_null(bridge_workspace(&b, pool));
	assert_int_equal(chdir(dir), 0);
	assert_string_equal(bridge_workspace(&b, pool), dir);
	(void)setenv("HOME", dir, 1);
	assert_null(bridge_workspace(&b, pool));
	(void)setenv("HOME", home ? home : "/", 1);
	assert_int_equal(chdir(here), 0);
	(void)unsetenv("WORKSPACE_DIR");
	(void)unsetenv("CLAUDE_PROJECT_DIR");
	remove_tree(dir);
}

/* None is known: the person is asked, by the model. */
static void test_no_workspace(void **state)
{
	struct bridgerig *r = *state;
	char here[PATH_MAX];

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir("/"), 0);
	begin(r);
	assert_int_equal(chdir(here), 0);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":\"local\"}}}");
	expect(r, "\"reason\":\"no_workspace\"");
}

static void test_sync_refused(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;
	CLEANUP(json) struct json_object *answer = NULL;
	struct json_object *result;
	char dir[64], line[512];
	const char *text;
	bool flag = false;

	make_tree(dir);
	begin(r);
	/* a directory that nobody enabled, whatever else this machine has enabled */
	(void)snprintf(line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"create_sandbox\",\"arguments\":{\"language\":\"bash\",\"sync_from\":\"%s\"}}}",
		dir);
	put(r, line);
	/* one form of errors, whoever says no: test_mcp_result.c has the site's */
	answer = next(r, &raw);
	result = json_get(answer, "result");
	assert_true(json_get_bool(result, "isError", &flag) && flag);
	assert_true(json_get_text(json_at(json_get(result, "content"), 0), "text", &text));
	(void)snprintf(line, sizeof(line),
		"error:forbidden %s is no directory that syncing was enabled for, nor one below "
		"it\n"
		"context: {\"reason\":\"sync_not_enabled\"}\na person enables it: `asb init` in "
		"the "
		"project's directory, at a terminal",
		dir);
	assert_string_equal(text, line);
	assert_true(
		json_get_text(json_get(json_get(result, "_meta"), MCP_ERROR_KEY), "code", &text));
	assert_string_equal(text, "forbidden");
	remove_tree(dir);
}

/* null is what a client fills in that was not told anything: the site's to pass over. */
static void test_null_additions(void **state)
{
	struct bridgerig *r = *state;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":null}}}");
	expect(r, "\\\"source\\\":null");
}

/* What the site does not know is judged here. */
static void test_wrong_additions(void **state)
{
	static const char *const wrong[][2] = {
		{"\"name\":\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":\"remote\"}",
			"error:invalid source: must be local"},
		{"\"name\":\"create_sandbox\",\"arguments\":{\"language\":\"bash\",\"sync_from\":"
		 "5}",
			"error:invalid sync_from: must be text"},
	};
	struct bridgerig *r = *state;

	begin(r);
	for (size_t i = 0; i < 2; i++) {
		char line[256];

		(void)snprintf(line, sizeof(line),
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{%s}}",
			wrong[i][0]);
		put(r, line);
		expect(r, wrong[i][1]);
	}
}

static void test_eof(void **state)
{
	struct bridgerig *r = *state;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-never\"}");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	expect(r, "\"id\":2");
	(void)close(r->in);
	r->in = -1;
	assert_true(bridgerig_ended(r));
}

static void test_signal(void **state)
{
	struct bridgerig *r = *state;

	begin(r);
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-never\"}");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	expect(r, "\"id\":2");
	assert_int_equal(write(r->signals, "x", 1), 1);
	assert_true(bridgerig_ended(r));
}

static void test_too_long(void **state)
{
	struct bridgerig *r = *state;
	size_t n = 10u << 20;
	CLEANUP(free) char *line = mem_alloc(n + 1);

	begin(r);
	memset(line, 'x', n);
	line[n] = '\0';
	put(r, line);
	expect(r, "no more than 8 MiB");
	put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	expect(r, "\"id\":2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_headers, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_stream, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_cancelled, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_refused, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_away, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_gone, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_late, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_tools, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_local, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_roots, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test(test_workspace),
		cmocka_unit_test_setup_teardown(
			test_no_workspace, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_sync_refused, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_null_additions, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_wrong_additions, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_eof, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_signal, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_too_long, bridgerig_setup, bridgerig_teardown),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
