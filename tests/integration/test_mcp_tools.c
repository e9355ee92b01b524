/*
 * Tools by MCP: what the list says of each, that each one's real result is what its output schema
 * says, and that a call is the action and nothing else: validation, waits, Idempotency-Key, audit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "mcp_door.h"
#include "pool.h"
#include "schema.h"
#include "testdb.h"
#include "testweb.h"
#include "text.h"

static struct pool *pool;
static char called[512]; /* the tools that a result was checked of, with spaces around */

static int make_pool(void **state)
{
	*state = pool = pool_new();
	return 0;
}

static struct answer ask(const char *body, const char *header)
{
	const char *const headers[] = {HOST, BEARER, JSON, header, NULL};

	return testweb_ask(pool, "POST", "/mcp", headers, body, strlen(body));
}

static struct answer call_with(
	const char *tool, const char *arguments, const char *meta, const char *header)
{
	return ask(
		pool_printf(pool,
			"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{"
			"\"name\":\"%s\",\"arguments\":{%s}%s}}",
			tool, arguments, meta),
		header);
}

static const char *get(const struct answer *a, const char *path)
{
	return testweb_get(pool, a, path);
}

/* Calls it and checks the result against the tool's own schema. */
static struct answer call(const char *tool, const char *arguments)
{
	struct answer a = call_with(tool, arguments, "", "MCP-Protocol-Version: 2025-11-25");
	CLEANUP(json) struct json_object *root = NULL, *shown = NULL;
	struct json_object *result;
	const char *wrong;
	struct err err;

	assert_int_equal(a.status, 200);
	assert_true(json_parse(a.body, a.body_n, &root, &err));
	result = json_get(root, "result");
	if (strcmp(get(&a, "result.isError"), "false") != 0)
		fail_msg("%s: %s", tool, a.body);
	shown = mcp_tool_json(action_find_tool(tool));
	wrong = schema_wrong(
		pool, json_get(shown, "outputSchema"), json_get(result, "structuredContent"));
	if (wrong)
		fail_msg("%s: %s in %s", tool, wrong, a.body);
	assert_true(strlen(get(&a, "result.content.0.text")) > 0);
	if (!strstr(called, pool_printf(pool, " %s ", tool)))
		(void)snprintf(
			called + strlen(called), sizeof(called) - strlen(called), " %s ", tool);
	return a;
}

static const char *delegate(void)
{
	static int n;
	/* the same task again would be the same run */
	struct answer a = call(
		"delegate", pool_printf(pool, "\"task\":\"echo hello %d\",\"wait_ms\":0", ++n));

	return get(&a, "result.structuredContent.session");
}

/* All there are: each costs every model its attention, so another one needs its argument in
 * docs/decisions, and its name here. */
static const char *const all_tools[] = {"delegate", "monitor", "pool_status", "status", "watch",
	"resume", "teardown", "create_sandbox", "run", "get_process_logs", "destroy_sandbox",
	"list_files", "read_file", "search_files", "diff", "get_files"};

static void test_list(void **state)
{
	struct answer a = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "X-N: 1");
	struct answer again =
		ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "X-N: 1");
	size_t n = 0;

	(void)state;
	assert_string_equal(a.body, again.body);
	for (size_t i = 0; actions[i]; i++) {
		const struct tool *t = &actions[i]->tool;

		if (!t->title)
			continue;
		assert_true(n < sizeof(all_tools) / sizeof(all_tools[0]));
		assert_string_equal(actions[i]->name, all_tools[n]);
		assert_string_equal(
			get(&a, pool_printf(pool, "result.tools.%zu.name", n)), actions[i]->name);
		assert_string_equal(
			get(&a, pool_printf(pool, "result.tools.%zu.title", n)), t->title);
		assert_string_equal(
			get(&a, pool_printf(pool, "result.tools.%zu.inputSchema.type", n)),
			"object");
		assert_string_equal(
			get(&a, pool_printf(pool, "result.tools.%zu.outputSchema.type", n)),
			"object");
		assert_string_equal(
			get(&a, pool_printf(pool, "result.tools.%zu.annotations.readOnlyHint", n)),
			t->hints & TOOL_READ_ONLY ? "true" : "false");
		assert_int_equal(strspn(actions[i]->name, "abcdefghijklmnopqrstuvwxyz_"),
			strlen(actions[i]->name));
		assert_true(strlen(actions[i]->name) <= 30);
		assert_true(strlen(t->description) >= 80 && strlen(t->description) <= 1000);
		/* what only reads changes nothing, what changes something says so */
		assert_int_equal(!(t->hints & TOOL_READ_ONLY),
			actions[i]->mutates || !strcmp(actions[i]->name, "get_files"));
		assert_non_null(t->output);
		n++;
	}
	assert_int_equal(n, sizeof(all_tools) / sizeof(all_tools[0]));
	assert_string_equal(get(&a, pool_printf(pool, "result.tools.%zu.name", n)), "");
	assert_string_equal(
		get(&a, "result.tools.0.inputSchema.properties.wait_ms.default"), "50000");
	/* the fixtures of the conformance suite are not here */
	assert_null(strstr(a.body, "\"test_"));
}

static void test_runs(void **state)
{
	const char *run = delegate(), *of = pool_printf(pool, "\"session\":\"%s\"", run);
	struct answer a;

	(void)state;
	testdb_exec(
		"INSERT INTO trace (account_id, run_id, seq, turn, kind, text, data) SELECT "
		"account_id, id, 1, 1, 'say', 'hi', '{\"a\":[1.5]}' FROM runs WHERE name = '%s'",
		run);
	a = call("watch", of);
	assert_string_equal(get(&a, "result.structuredContent.trace.0.text"), "hi");
	testdb_exec("UPDATE boxes SET state = 'ready' WHERE id = (SELECT box_id FROM runs WHERE "
		    "name = '%s')",
		run);
	testdb_exec("UPDATE turns SET state = 'asked', usage = "
		    "'{\"input_tokens\":5,\"cost_usd\":0.25}' "
		    "WHERE run_id = (SELECT id FROM runs WHERE name = '%s')",
		run);
	testdb_exec("INSERT INTO questions (account_id, run_id, turn_id, box_ref, text)"
		    " SELECT account_id, run_id, id, 'q1', 'Which one?' FROM turns"
		    " WHERE run_id = (SELECT id FROM runs WHERE name = '%s')",
		run);
	testdb_exec("DELETE FROM jobs WHERE run_id = (SELECT id FROM runs WHERE name = '%s')", run);
	a = call("watch", of);
	assert_non_null(strstr(get(&a, "result.content.0.text"), "Which one?"));
	assert_true(text_has_prefix(get(&a, "result.content.0.text"), "run:waiting"));
	assert_string_equal(get(&a, "result.content.1.type"), "resource_link");
	a = call("resume", pool_printf(pool, "%s,\"message\":\"red\",\"wait_ms\":0", of));
	assert_string_equal(get(&a, "result.structuredContent.session"), run);
	a = call_with("resume", pool_printf(pool, "%s,\"message\":\"blue\",\"wait_ms\":0", of), "",
		"X-N: 1");
	assert_string_equal(get(&a, "result.isError"), "true");
	assert_true(text_has_prefix(get(&a, "result.content.0.text"), "error:conflict "));
	assert_non_null(strstr(get(&a, "result.content.0.text"), "\"answer\":\"red\""));
	(void)call("status", pool_printf(pool, "%s,\"wait_ms\":0", of));
	(void)call("monitor", "");
	(void)call("teardown", of);
	(void)call("teardown", of);
	testdb_exec(
		"INSERT INTO boxes (name, state, runtime, image, image_key, class, memory_bytes,"
		" cpus, disk_bytes, deadline_at, expires_at, pooled_at) VALUES ('box-ahead',"
		" 'pooled', 'qemu', 'base', 'k', 's', 1, 1, 1, now(), now(), now())");
	(void)call("pool_status", "");
}

static void test_sandboxes(void **state)
{
	struct answer a = call("create_sandbox", "\"language\":\"bash\",\"wait_ms\":0");
	const char *box = get(&a, "result.structuredContent.sandbox_id"),
		   *of = pool_printf(pool, "\"sandbox_id\":\"%s\",\"wait_ms\":0", box);

	(void)state;
	testdb_exec("UPDATE boxes SET state = 'ready', ready_at = now(), seal = '{\"tried\":1}' "
		    "WHERE name = '%s'",
		box);
	a = call("run", pool_printf(pool, "%s,\"code\":\"echo 1\"", of));
	testdb_exec(
		"INSERT INTO log_chunk (account_id, log_id, seq, stream, first_line, nlines, "
		"src_off, src_len, body) SELECT account_id, log_id, 1, 1, 0, 1, 0, 6, 'hello\n' "
		"FROM execs WHERE name = '%s'",
		get(&a, "result.structuredContent.process_id"));
	a = call(
		"get_process_logs", pool_printf(pool, "\"sandbox_id\":\"%s\",\"process_id\":\"%s\"",
					    box, get(&a, "result.structuredContent.process_id")));
	assert_non_null(strstr(get(&a, "result.content.0.text"), "hello"));
	(void)call("list_files", of);
	(void)call("read_file", pool_printf(pool, "%s,\"path\":\"a\"", of));
	(void)call("search_files", pool_printf(pool, "%s,\"text\":\"a\"", of));
	(void)call("diff", of);
	(void)call("get_files", of);
	(void)call("destroy_sandbox", of);
}

/* Looks that are done, with what a worker puts into them. */
static void test_looks(void **state)
{
	static const struct {
		const char *tool, *op, *result;
	} rows[] = {
		{"list_files", "list",
			"{\"path\":\"/workspace\",\"entries\":[{\"path\":\"a\",\"kind\":\"file\","
			"\"size\":3,\"mode\":\"644\",\"modified_at\":\"2026-01-02T03:04:05.678Z\"},"
			"{\"path\":\"b\",\"kind\":\"symlink\",\"target\":\"a\"}],\"total\":5,"
			"\"next_offset\":2,\"skipped\":0,\"truncated\":false}"},
		{"read_file", "read",
			"{\"path\":\"/workspace/a\",\"size\":3,\"modified_at\":\"2026-01-02T03:04:"
			"05.678Z\",\"offset\":0,\"bytes\":3,\"binary\":false,\"encoding\":\"text\","
			"\"content\":\"abc\",\"changed\":false}"},
		{"read_file", "read",
			"{\"path\":\"/workspace/a\",\"size\":3,\"offset\":0,\"bytes\":3,\"binary\":"
			"true,\"content\":null,\"changed\":false}"},
		{"search_files", "search",
			"{\"path\":\"/"
			"workspace\",\"matches\":[{\"path\":\"a\",\"line\":1,\"column\":2,"
			"\"text\":\"abc\"}],\"files\":2,\"binary\":1,\"skipped\":0,\"truncated\":"
			"false}"},
		{"diff", "diff",
			"{\"path\":\"/"
			"workspace\",\"changes\":[{\"path\":\"a\",\"change\":\"added\","
			"\"in_patch\":true}],\"patch\":\"+a\",\"patch_complete\":true,"
			"\"truncated\":"
			"false,\"skipped\":0}"},
		{"get_files", "get",
			"{\"path\":\"/workspace\",\"blob\":\"blob-1\",\"size\":3,\"sha256\":\"00\","
			"\"files\":1,\"changed\":0,\"skipped\":0}"},
	};
	static const struct mcp_call as = {MCP_LEGACY, "2025-11-25", "1", "", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(json) struct json_object *root = NULL, *shown = NULL;
		struct mcp_call c = as;
		const char *text, *wrong;
		struct err err;

		c.tool = rows[i].tool;
		text = mcp_result(pool, &c, 200,
			pool_printf(pool,
				"{\"look\":\"look-1\",\"op\":\"%s\",\"state\":\"done\",\"sandbox_"
				"id\":"
				"\"box-1\",\"session\":null,%s",
				rows[i].op, rows[i].result + 1));
		assert_true(json_parse(text, strlen(text), &root, &err));
		shown = mcp_tool_json(action_find_tool(rows[i].tool));
		wrong = schema_wrong(pool, json_get(shown, "outputSchema"),
			json_get(json_get(root, "result"), "structuredContent"));
		if (wrong)
			fail_msg("%s: %s", rows[i].tool, wrong);
		assert_non_null(strstr(text, "look:done op="));
	}
}

/* Each tool of the list had its result looked at. */
static void test_all_were_called(void **state)
{
	(void)state;
	for (size_t i = 0; actions[i]; i++)
		if (actions[i]->tool.title &&
			!strstr(called, pool_printf(pool, " %s ", actions[i]->name)))
			fail_msg("%s: no result of it was checked", actions[i]->name);
}

/* Wrong arguments are a result that a model can mend, not an error of the protocol. */
static void test_wrong_arguments(void **state)
{
	static const struct {
		const char *tool, *arguments, *message;
	} rows[] = {
		{"delegate", "", "error:invalid task: is missing"},
		{"delegate", "\"task\":5", "error:invalid task: must be text"},
		{"delegate", "\"task\":\"x\",\"agent\":\"nobody\"", "error:invalid agent: "},
		{"delegate", "\"task\":\"x\",\"nothing\":1",
			"error:invalid nothing: unknown field"},
		{"delegate", "\"task\":\"x\",\"wait_ms\":\"5\"", "error:invalid wait_ms: "},
		{"watch", "\"session\":\"run-nosuchnosuchnosu\"", "error:not_found "},
		{"run", "\"sandbox_id\":\"box-none\",\"code\":\"1\"", "error:not_found "},
	};
	int64_t before = testdb_i64("SELECT count(*) FROM boxes");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = call_with(rows[i].tool, rows[i].arguments, "", "X-N: 1");

		assert_int_equal(a.status, 200);
		assert_string_equal(get(&a, "result.isError"), "true");
		assert_string_equal(get(&a, "result.structuredContent"), "");
		if (!text_has_prefix(get(&a, "result.content.0.text"), rows[i].message))
			fail_msg("%s: %s", rows[i].message, a.body);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM boxes"), before);
}

/* A wait goes to asb-live with the call, so long as a client would sit it out. */
static void test_waits(void **state)
{
	static const struct {
		const char *arguments, *meta, *wait;
	} rows[] = {
		{"", "", "wait_ms=50000&"},
		{",\"wait_ms\":700", "", "wait_ms=700&"},
		{",\"wait_ms\":600000", "", "wait_ms=50000&"},
		{"", ",\"_meta\":{\"progressToken\":0}", "wait_ms=50000&"},
		{",\"wait_ms\":600000", ",\"_meta\":{\"progressToken\":\"t\"}", "wait_ms=110000&"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = call_with("delegate",
			pool_printf(pool, "\"task\":\"t%zu\"%s", i, rows[i].arguments),
			rows[i].meta, "X-N: 1");
		struct mcp_call c;
		const char *mcp;
		struct err err;

		assert_non_null(a.internal);
		assert_true(text_has_prefix(a.internal, "/internal/wait?run=run-"));
		assert_non_null(strstr(a.internal, rows[i].wait));
		assert_string_equal(a.body, "");
		mcp = strstr(a.internal, "&mcp=");
		assert_non_null(mcp);
		assert_true(mcp_call_parse(pool, mcp + 5, &c, &err));
		assert_string_equal(c.id, "\"x\"");
		assert_string_equal(c.tool, "delegate");
		assert_int_equal(!c.token, !*rows[i].meta);
	}
}

/* The same key again: the same answer, in the envelope of the one who asks. */
static void test_idempotency(void **state)
{
	static const char key[] = "Idempotency-Key: mcp-1";
	const char *arguments = "\"task\":\"once\",\"wait_ms\":0";
	struct answer first = call_with("delegate", arguments, "", key), again, other;

	(void)state;
	again = call_with("delegate", arguments, ",\"_meta\":{\"progressToken\":7}", key);
	assert_string_equal(get(&again, "result.structuredContent.session"),
		get(&first, "result.structuredContent.session"));
	assert_non_null(strstr(again.head, "Idempotent-Replayed: true"));
	other = call_with("delegate", "\"task\":\"twice\",\"wait_ms\":0", "", key);
	assert_string_equal(get(&other, "result.isError"), "true");
	assert_int_equal(
		testdb_i64("SELECT count(*) FROM runs WHERE task IN ('once', 'twice')"), 1);
	/* of a wait: another request's id and token */
	first = call_with("delegate", "\"task\":\"waits\"", "", "Idempotency-Key: mcp-2");
	again = call_with("delegate", "\"task\":\"waits\"", ",\"_meta\":{\"progressToken\":7}",
		"Idempotency-Key: mcp-2");
	assert_non_null(again.internal);
	assert_string_not_equal(first.internal, again.internal);
	assert_int_equal(strstr(first.internal, "&mcp=") - first.internal,
		strstr(again.internal, "&mcp=") - again.internal);
	assert_null(strstr(strstr(again.internal, "&mcp=") + 1, "&mcp="));
	assert_int_equal(testdb_i64("SELECT count(*) FROM audit WHERE path = '/mcp' AND action = "
				    "'delegate' AND subject IS NOT NULL") > 0,
		1);
}

static void test_completion(void **state)
{
	static const char complete[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\",\"params\":{"
		"\"ref\":{\"type\":\"ref/%s\",\"%s\":\"%s\"},\"argument\":{\"name\":\"%s\","
		"\"value\":\"%s\"}}}";
	const char *run = delegate();
	struct answer a;

	(void)state;
	(void)call("delegate", "\"task\":\"r\",\"repos\":[{\"repo\":\"acme/widgets\"},{\"repo\":"
			       "\"acme/other\"}],\"wait_ms\":0");
	a = ask(pool_printf(pool, complete, "resource", "uri", "asb://runs/{session}", "session",
			pool_printf(pool, "%.12s", run)),
		"X-N: 1");
	assert_string_equal(get(&a, "result.completion.values.0"), run);
	assert_string_equal(get(&a, "result.completion.total"), "1");
	a = ask(pool_printf(pool, complete, "prompt", "name", "run_safely", "language", "py"),
		"X-N: 1");
	assert_string_equal(get(&a, "result.completion.values.0"), "python");
	a = ask(pool_printf(pool, complete, "prompt", "name", "delegate_task", "repo", "acme/w"),
		"X-N: 1");
	assert_string_equal(get(&a, "result.completion.values.0"), "acme/widgets");
	assert_string_equal(get(&a, "result.completion.total"), "1");
	testdb_exec("INSERT INTO boxes (account_id, name, image, class, memory_bytes, cpus, "
		    "disk_bytes, deadline_at, expires_at, purpose, language, egress, state) SELECT "
		    "id, 'box-many' || n, 'base', 's', 1, 1, 1, now(), now(), 'sandbox', 'python', "
		    "'sealed', 'ready' FROM accounts, generate_series(1, 120) n WHERE name = "
		    "'operator'");
	a = ask(pool_printf(
			pool, complete, "prompt", "name", "run_safely", "sandbox_id", "box-many11"),
		"X-N: 1");
	assert_string_equal(get(&a, "result.completion.total"), "11");
	assert_string_equal(get(&a, "result.completion.hasMore"), "false");
	a = ask(pool_printf(
			pool, complete, "prompt", "name", "run_safely", "sandbox_id", "box-many"),
		"X-N: 1");
	assert_string_equal(get(&a, "result.completion.total"), "120");
	assert_string_equal(get(&a, "result.completion.hasMore"), "true");
	assert_string_not_equal(get(&a, "result.completion.values.99"), "");
	assert_string_equal(get(&a, "result.completion.values.100"), "");
	a = ask(pool_printf(pool, complete, "prompt", "name", "delegate_task", "task", ""),
		"X-N: 1");
	assert_string_equal(get(&a, "result.completion.total"), "0");
	a = ask(pool_printf(pool, complete, "prompt", "name", "none", "task", ""), "X-N: 1");
	assert_string_equal(get(&a, "error.code"), "-32602");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_pool, testweb_drop_pool)
	const struct CMUnitTest tests[] = {
		TEST(test_list),
		TEST(test_runs),
		TEST(test_sandboxes),
		TEST(test_looks),
		TEST(test_all_were_called),
		TEST(test_wrong_arguments),
		TEST(test_waits),
		TEST(test_idempotency),
		TEST(test_completion),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
