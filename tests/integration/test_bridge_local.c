/*
 * What asb mcp adds to a scripted site of this machine: the arguments of two tools, the tree that
 * is open, a directory to sync from.
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

static void test_tools(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *tools, *source;

	bridgerig_begin(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	o = bridgerig_parsed(r, &raw);
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

#define DELEGATE_LOCAL(id)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":" \
	"\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":\"local\"}}}"

static void test_local(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;
	char dir[64];

	make_tree(dir);
	(void)setenv("WORKSPACE_DIR", dir, 1);
	bridgerig_begin(r);
	(void)unsetenv("WORKSPACE_DIR");
	bridgerig_put(r, DELEGATE_LOCAL("1"));
	json_free(bridgerig_parsed(r, &raw));
	remove_tree(dir);
	bridgerig_has(raw, "\\\"upload\\\":\\\"blob-x\\\"");
	bridgerig_has(raw, "\\\"dir\\\":\\\"test_bridge.");
	bridgerig_has(raw, "\\\"task\\\":\\\"t\\\"");
	assert_null(strstr(raw, "source"));
}

/* Started where no project is. */
static void begin_nowhere(struct bridgerig *r)
{
	char here[PATH_MAX];

	(void)unsetenv("WORKSPACE_DIR");
	(void)unsetenv("CLAUDE_PROJECT_DIR");
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir("/"), 0);
	bridgerig_begin(r);
	assert_int_equal(chdir(here), 0);
}

/* The same by a client that has roots, which it is asked for. */
static void begin_with_roots(struct bridgerig *r)
{
	begin_nowhere(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
			 "\"capabilities\":"
			 "{\"roots\":{}}}}");
	bridgerig_expect(r, "\"id\":0");
	bridgerig_put(r, DELEGATE_LOCAL("1"));
	bridgerig_expect(r, "\"id\":\"asb-roots\",\"method\":\"roots/list\"");
}

static void say_root(struct bridgerig *r, const char *dir)
{
	char line[256];

	(void)snprintf(line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":\"asb-roots\",\"result\":{\"roots\":[{\"uri\":"
		"\"file://%s\"}]}}",
		dir);
	bridgerig_put(r, line);
}

static void test_roots(void **state)
{
	struct bridgerig *r = *state;
	char dir[64];

	make_tree(dir);
	begin_with_roots(r);
	say_root(r, dir);
	bridgerig_expect(r, "\\\"dir\\\":\\\"test_bridge.");
	remove_tree(dir);
}

/* A client that is slow to say takes no other directory along than its own: the call fails, and
 * what is said later is for the next. */
static void test_roots_late(void **state)
{
	struct bridgerig *r = *state;
	char dir[64];

	make_tree(dir);
	r->roots_wait_ms = 300;
	begin_with_roots(r);
	bridgerig_expect(r, "\"reason\":\"no_roots\"");
	bridgerig_put(r, DELEGATE_LOCAL("2")); /* it is not asked again */
	bridgerig_expect(r, "\"reason\":\"no_roots\"");
	say_root(r, dir);
	bridgerig_put(r, DELEGATE_LOCAL("3"));
	bridgerig_expect(r, "\\\"dir\\\":\\\"test_bridge.");
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

	begin_nowhere(r);
	bridgerig_put(r, DELEGATE_LOCAL("1"));
	bridgerig_expect(r, "\"reason\":\"no_workspace\"");
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
	bridgerig_begin(r);
	/* a directory that nobody enabled, whatever else this machine has enabled */
	(void)snprintf(line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"create_sandbox\",\"arguments\":{\"language\":\"bash\",\"sync_from\":\"%s\"}}}",
		dir);
	bridgerig_put(r, line);
	/* one form of errors, whoever says no: test_mcp_result.c has the site's */
	answer = bridgerig_parsed(r, &raw);
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

	bridgerig_begin(r);
	bridgerig_put(r,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"delegate\",\"arguments\":{\"task\":\"t\",\"source\":null}}}");
	bridgerig_expect(r, "\\\"source\\\":null");
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

	bridgerig_begin(r);
	for (size_t i = 0; i < 2; i++) {
		char line[256];

		(void)snprintf(line, sizeof(line),
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{%s}}",
			wrong[i][0]);
		bridgerig_put(r, line);
		bridgerig_expect(r, wrong[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tools, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_local, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_roots, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_roots_late, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test(test_workspace),
		cmocka_unit_test_setup_teardown(
			test_no_workspace, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_sync_refused, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_null_additions, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(
			test_wrong_additions, bridgerig_setup, bridgerig_teardown),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
