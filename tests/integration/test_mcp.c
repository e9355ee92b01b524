/*
 * The MCP door: each row of the order of checks beside a request that passes it, in both eras;
 * hostile bodies; ids as they came; notifications.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "language.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"
#include "text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define V "MCP-Protocol-Version: 2026-07-28"
#define META_OF(version)                                                    \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version \
	"\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define META META_OF("2026-07-28")
#define RPC(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"

/* With the bearer and as JSON; extra: more headers, or NULL. */
static struct answer ask(struct pool *pool, const char *body, const char *const *extra)
{
	const char *headers[12] = {HOST, BEARER, JSON};
	size_t n = 3;

	for (; extra && *extra; extra++)
		headers[n++] = *extra;
	return testweb_ask(pool, "POST", "/mcp", headers, body, strlen(body));
}

#define H(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_door(void **state)
{
	static const char list[] = RPC("1", "tools/list", "");
	static const struct {
		const char *method, *url, *headers[5];
		int status;
		const char *in_head;
	} rows[] = {
		{"POST", "/mcp", {HOST, BEARER, JSON}, 200, "Content-Type: application/json\r\n"},
		{"POST", "/mcp/", {HOST, BEARER, JSON}, 200, "Content-Type: application/json\r\n"},
		{"POST", "/mcp", {HOST, BEARER, "Content-Type: application/json; charset=utf-8"},
			200, "no-store"},
		{"POST", "/mcp", {HOST, BEARER, JSON, "Origin: " TESTWEB_URL}, 200, "no-store"},
		/* 1: whose host, whose page */
		{"POST", "/mcp", {"Host: evil.example", BEARER, JSON}, 403, ""},
		{"POST", "/mcp", {HOST, BEARER, JSON, "Origin: http://evil.example"}, 403, ""},
		/* two, as nginx from 1.23 on hands them on */
		{"POST", "/mcp",
			{HOST, BEARER, JSON, "Origin: " TESTWEB_URL ", http://evil.example"}, 403,
			""},
		{"POST", "/mcp", {HOST, BEARER, JSON, "Origin: http://evil.example, " TESTWEB_URL},
			403, ""},
		{"POST", "/mcp", {HOST, BEARER, JSON, "Origin: null"}, 403, ""},
		{"GET", "/mcp", {HOST, "Origin: http://evil.example"}, 403, ""},
		/* 2: who asks, before the method */
		{"POST", "/mcp", {HOST, JSON}, 401, "WWW-Authenticate: Bearer "},
		{"GET", "/mcp", {HOST}, 401, "WWW-Authenticate: Bearer "},
		{"DELETE", "/mcp", {HOST}, 401, "WWW-Authenticate: Bearer "},
		{"POST", "/mcp", {HOST, JSON, "Authorization: Bearer ghp_0123456789"}, 401,
			"WWW-Authenticate: Bearer "},
		/* 3: the method */
		{"GET", "/mcp", {HOST, BEARER}, 405, "Allow: POST\r\n"},
		{"DELETE", "/mcp", {HOST, BEARER}, 405, "Allow: POST\r\n"},
		{"PUT", "/mcp", {HOST, BEARER, JSON}, 405, "Allow: POST\r\n"},
		/* 4: the content type */
		{"POST", "/mcp", {HOST, BEARER, "Content-Type: text/plain"}, 415, ""},
		{"POST", "/mcp", {HOST, BEARER}, 415, ""},
	};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = testweb_ask(
			pool, rows[i].method, rows[i].url, rows[i].headers, list, sizeof(list) - 1);

		if (a.status != rows[i].status || !strstr(a.head, rows[i].in_head))
			fail_msg("row %zu: %d %s%s", i, a.status, a.head, a.body);
		assert_string_equal(testweb_get(pool, &a, "jsonrpc"), "2.0");
		if (a.status == 200)
			continue;
		assert_string_equal(testweb_get(pool, &a, "id"), "");
		assert_string_not_equal(testweb_get(pool, &a, "error.data.message"), "");
		assert_string_not_equal(testweb_get(pool, &a, "error.data.request_id"), "");
	}
}

/* A session's cookie is for the pages: no page may speak MCP for whoever is signed in. */
static void test_session(void **state)
{
	static const char list[] = RPC("1", "tools/list", "");
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *cookie, *csrf;
	struct answer a;

	(void)state;
	testweb_sign_in(pool, &cookie, &csrf);
	a = testweb_ask(pool, "POST", "/mcp",
		H(HOST, JSON, cookie, csrf, "Sec-Fetch-Site: same-origin"), list, sizeof(list) - 1);
	assert_int_equal(a.status, 401);
	a = testweb_ask(pool, "GET", "/fleet.json", H(HOST, cookie), NULL, 0);
	assert_int_equal(a.status, 200);
}

/* Bodies that are no message; the last one of each kind is one. */
static void test_body(void **state)
{
	static const struct {
		const char *body;
		int status;
		const char *code;
	} rows[] = {
		{"", 400, "-32700"},
		{"hello", 400, "-32700"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", 400, "-32700"},
		{"{'jsonrpc':'2.0','id':1,'method':'ping'}", 400, "-32700"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", 400, "-32700"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}",
			400, "-32700"},
		{"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}", 400,
			"-32700"},
		{"[]", 400, "-32600"},
		{"[" RPC("1", "ping", "") "]", 400, "-32600"},
		{"7", 400, "-32600"},
		{"null", 400, "-32600"},
		{"{}", 400, "-32600"},
		{"{\"id\":1,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"\\u0069d\":1,\"method\":\"ping\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", 400, "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":3}}", 400,
			"-32602"},
		{RPC("1", "ping", "\"_meta\":{\"progressToken\":1.5}"), 400, "-32602"},
		{RPC("1", "no/such", ""), 200, "-32601"},
		{RPC("1", "server/discover", ""), 200, "-32601"},
		{RPC("1", "tools/call", "\"name\":\"no_such\""), 200, "-32602"},
		{RPC("1", "tools/call", "\"name\":\"fleet\""), 200, "-32602"},
		{RPC("1", "tools/call", ""), 200, "-32602"},
		{RPC("1", "tools/call", "\"name\":\"monitor\",\"arguments\":[]"), 200, "-32602"},
		{RPC("1", "tools/list", "\"cursor\":\"x\""), 200, "-32602"},
		{RPC("1", "prompts/get", "\"name\":\"no_such\""), 200, "-32602"},
		{RPC("1", "prompts/get", "\"name\":\"run_safely\""), 200, "-32602"},
		{RPC("1", "resources/read", "\"uri\":\"asb://nothing\""), 200, "-32602"},
		{RPC("1", "resources/read", "\"uri\":\"asb://runs/run-nosuchnosuchnosu\""), 200,
			"-32602"},
		{RPC("1", "resources/read", "\"uri\":\"asb://runs/../log\""), 200, "-32602"},
		{RPC("1", "resources/read", "\"uri\":\"file:///etc/passwd\""), 200, "-32602"},
		/* null is what some clients write for what they leave out */
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}", 200, ""},
		{RPC("1", "tools/list", "\"cursor\":null,\"_meta\":null"), 200, ""},
		{RPC("1", "tools/call", "\"name\":\"pool_status\",\"arguments\":null"), 200, ""},
		{RPC("1", "prompts/get",
			 "\"name\":\"delegate_task\",\"arguments\":{\"task\":\"t\",\"repo\":null}"),
			200, ""},
		{RPC("1", "prompts/get", "\"name\":\"run_safely\",\"arguments\":{\"code\":null}"),
			200, "-32602"},
		{RPC("1", "ping", ""), 200, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 200, ""},
		{RPC("1", "ping", "\"_meta\":{\"progressToken\":0}"), 200, ""},
		{RPC("1", "tools/call", "\"name\":\"monitor\""), 200, ""},
		{RPC("1", "resources/read", "\"uri\":\"asb://capabilities\""), 200, ""},
	};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = ask(pool, rows[i].body, NULL);

		if (a.status != rows[i].status ||
			strcmp(testweb_get(pool, &a, "error.code"), rows[i].code) != 0)
			fail_msg("row %zu %s: %d %s", i, rows[i].body, a.status, a.body);
		assert_int_equal(!*rows[i].code, strstr(a.body, "\"result\":") != NULL);
	}
}

/* An id comes back byte for byte, in a result and in an error. */
static void test_id(void **state)
{
	static const char *const ids[] = {"0", "-7", "9007199254740993", "\"\"", "\"a b\"",
		"\"\\u0041\\/\\n\\\"\"", "\"\xc3\xa9\"", "-0", "9223372036854775807"};
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(buf) struct buf b = BUF_INIT(4096);
	struct answer a;

	(void)state;
	for (size_t i = 0; i < COUNT(ids); i++) {
		static const char *const methods[] = {"ping", "no/such", "tools/call"};

		for (size_t k = 0; k < COUNT(methods); k++) {
			a = ask(pool,
				pool_printf(pool,
					"{\"params\":{\"id\":5,\"name\":\"monitor\"},\"id\" : %s ,"
					"\"jsonrpc\":\"2.0\",\"method\":\"%s\"}",
					ids[i], methods[k]),
				NULL);
			assert_int_equal(a.status, 200);
			assert_true(text_has_prefix(a.body,
				pool_printf(pool, "{\"jsonrpc\":\"2.0\",\"id\":%s,", ids[i])));
		}
	}
	for (int i = 0; i < 300; i++)
		(void)buf_addc(&b, 'x');
	a = ask(pool, pool_printf(pool, RPC("\"%s\"", "ping", ""), b.data), NULL);
	assert_int_equal(a.status, 400);
	assert_string_equal(testweb_get(pool, &a, "error.code"), "-32600");
	assert_string_equal(testweb_get(pool, &a, "id"), "");
}

/* Objects in one another, and a body of more than 8 MiB. */
static void test_deep_and_large(void **state)
{
	static const struct {
		int depth, status;
	} rows[] = {{28, 200}, {31, 400}, {100000, 400}};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		CLEANUP(buf) struct buf b = BUF_INIT(2 << 20);
		struct answer a;

		(void)buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":"
				   "{\"x\":");
		for (int k = 0; k < rows[i].depth; k++)
			(void)buf_addc(&b, '[');
		for (int k = 0; k < rows[i].depth; k++)
			(void)buf_addc(&b, ']');
		(void)buf_adds(&b, "}}");
		a = ask(pool, b.data, NULL);
		assert_int_equal(a.status, rows[i].status);
	}
	for (size_t extra = 0; extra < 2; extra++) {
		size_t n = (8u << 20) + extra;
		char *body = pool_alloc(pool, n + 1);
		struct answer a;

		memset(body, ' ', n);
		memcpy(body, RPC("1", "ping", ""), strlen(RPC("1", "ping", "")));
		a = ask(pool, body, NULL);
		assert_int_equal(a.status, extra ? 413 : 200);
	}
}

/* Nothing is answered to what asks nothing. */
static void test_notifications(void **state)
{
	static const char *const bodies[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		"cancelled\",\"params\":{\"requestId\":"
		"99}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/no_such\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":1,\"message\":\"m\"}}",
	};
	static const char note[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				   "\"params\":{" META ",\"requestId\":1}}";
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		struct answer a = ask(pool, bodies[i], NULL);

		assert_int_equal(a.status, 202);
		assert_int_equal(a.body_n, 0);
		assert_null(strstr(a.head, "Content-Type:"));
	}
	assert_int_equal(ask(pool, bodies[0], H("MCP-Protocol-Version: 1999-01-01")).status, 400);
	/* of the newest revision as well, whose headers count here too */
	assert_int_equal(ask(pool, note, H(V, "Mcp-Method: notifications/cancelled")).status, 202);
	assert_int_equal(ask(pool, note, H(V, "Mcp-Method: tools/list")).status, 400);
}

/* The order of checks of a request that names its revision; numbers as in docs/mcp.md. */
#define LIST(meta) RPC("1", "tools/list", meta)
#define CALL(name) RPC("1", "tools/call", META ",\"name\":\"" name "\"")
static const struct {
	const char *body, *headers[4];
	int status;
	const char *code;
} modern[] = {
	{LIST(META), {V, "Mcp-Method: tools/list"}, 200, ""},
	{LIST(META), {"mcp-protocol-version:  2026-07-28 ", "MCP-METHOD: \ttools/list \t"}, 200,
		""},
	{LIST(META ",\"x\":1"), {V, "Mcp-Method: tools/list"}, 200, ""},
	/* 7: what each request must say */
	{LIST(""), {V, "Mcp-Method: tools/list"}, 400, "-32602"},
	{LIST(""), {"MCP-Protocol-Version: 2099-01-01"}, 400, "-32602"},
	{LIST("\"_meta\":{}"), {V, "Mcp-Method: tools/list"}, 400, "-32602"},
	{LIST("\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"),
		{V, "Mcp-Method: tools/list"}, 400, "-32602"},
	{LIST("\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7,"
	      "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
		{V, "Mcp-Method: tools/list"}, 400, "-32602"},
	/* 8: what the headers repeat */
	{LIST(META), {"Mcp-Method: tools/list"}, 400, "-32020"},
	{LIST(META), {V}, 400, "-32020"},
	{LIST(META), {"MCP-Protocol-Version: 2025-11-25", "Mcp-Method: tools/list"}, 400, "-32020"},
	{LIST(META), {V, "Mcp-Method: tools/call"}, 400, "-32020"},
	{LIST(META), {V, "Mcp-Method: TOOLS/LIST"}, 400, "-32020"},
	{CALL("monitor"), {V, "Mcp-Method: tools/call"}, 400, "-32020"},
	{CALL("monitor"), {V, "Mcp-Method: tools/call", "Mcp-Name: watch"}, 400, "-32020"},
	{CALL("monitor"), {V, "Mcp-Method: tools/call", "Mcp-Name: Monitor"}, 400, "-32020"},
	{CALL("monitor"), {V, "Mcp-Method: tools/call", "Mcp-Name: =?base64?!!!?="}, 400, "-32020"},
	{CALL("monitor"), {V, "Mcp-Method: tools/call", "Mcp-Name: monitor"}, 200, ""},
	{CALL("monitor"), {V, "Mcp-Method: tools/call", "Mcp-Name: =?base64?bW9uaXRvcg==?="}, 200,
		""},
	/* a mismatch is found before an unknown version and an unknown method */
	{LIST(META_OF("1999-01-01")), {V, "Mcp-Method: tools/list"}, 400, "-32020"},
	{RPC("1", "no/such", META), {V, "Mcp-Method: tools/list"}, 400, "-32020"},
	/* 9: the version */
	{LIST(META_OF("1999-01-01")),
		{"MCP-Protocol-Version: 1999-01-01", "Mcp-Method: tools/list"}, 400, "-32022"},
	{LIST(META_OF("2025-11-25")),
		{"MCP-Protocol-Version: 2025-11-25", "Mcp-Method: tools/list"}, 400, "-32022"},
	/* 10: the method */
	{RPC("1", "no/such", META), {V, "Mcp-Method: no/such"}, 404, "-32601"},
	{RPC("1", "initialize", META), {V, "Mcp-Method: initialize"}, 404, "-32601"},
	{RPC("1", "ping", META), {V, "Mcp-Method: ping"}, 404, "-32601"},
	{RPC("1", "logging/setLevel", META), {V, "Mcp-Method: logging/setLevel"}, 404, "-32601"},
	{RPC("1", "resources/subscribe", META), {V, "Mcp-Method: resources/subscribe"}, 404,
		"-32601"},
	{RPC("1", "resources/unsubscribe", META), {V, "Mcp-Method: resources/unsubscribe"}, 404,
		"-32601"},
	/* nothing changes that could be listened for */
	{RPC("1", "subscriptions/listen", META), {V, "Mcp-Method: subscriptions/listen"}, 404,
		"-32601"},
	{RPC("1", "tasks/list", META), {V, "Mcp-Method: tasks/list"}, 404, "-32601"},
	{RPC("1", "tasks/result", META), {V, "Mcp-Method: tasks/result"}, 404, "-32601"},
	/* 13: the rest is in the body */
	{CALL("no_such"), {V, "Mcp-Method: tools/call", "Mcp-Name: no_such"}, 200, "-32602"},
};

static void test_modern(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	for (size_t i = 0; i < COUNT(modern); i++) {
		a = ask(pool, modern[i].body, modern[i].headers);
		if (a.status != modern[i].status ||
			strcmp(testweb_get(pool, &a, "error.code"), modern[i].code) != 0)
			fail_msg("row %zu %s: %d %s", i, modern[i].body, a.status, a.body);
		assert_string_equal(testweb_get(pool, &a, "id"), "1");
		assert_string_equal(testweb_get(pool, &a, "result.resultType"),
			*modern[i].code ? "" : "complete");
	}
	a = ask(pool, LIST(META_OF("1999-01-01")),
		H("MCP-Protocol-Version: 1999-01-01", "Mcp-Method: tools/list"));
	assert_string_equal(testweb_get(pool, &a, "error.data.supported.0"), "2026-07-28");
	assert_string_equal(testweb_get(pool, &a, "error.data.requested"), "1999-01-01");
}

/* Names of languages, in words that nothing prints from their table. */
static void test_prompt_names_languages(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a = ask(pool, RPC("1", "prompts/list", ""), H(NULL));
	const char *says = testweb_get(pool, &a, "result.prompts.0.arguments.1.description");
	size_t n = 0;

	(void)state;
	for (const char *const *name = language_names; *name; name++) {
		assert_non_null(strstr(says, *name));
		n += strlen(*name);
	}
	/* and no others: commas, "or" and the full stop */
	assert_int_equal(strlen(says), n + strlen(", , ,  or ."));
}

static void test_discover(void **state)
{
	static const char *const cached[] = {"server/discover", "tools/list", "resources/list",
		"resources/templates/list", "prompts/list"};
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < COUNT(cached); i++) {
		const char *method = pool_printf(pool, "Mcp-Method: %s", cached[i]);
		struct answer a =
			ask(pool, pool_printf(pool, RPC("1", "%s", META), cached[i]), H(V, method));

		assert_int_equal(a.status, 200);
		assert_string_equal(testweb_get(pool, &a, "result.cacheScope"), "private");
		assert_true(strtol(testweb_get(pool, &a, "result.ttlMs"), NULL, 10) > 0);
		assert_non_null(strstr(a.body,
			"\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":"
			"\"agent-sandbox\""));
		if (i)
			continue;
		assert_string_equal(
			testweb_get(pool, &a, "result.supportedVersions.0"), "2026-07-28");
		/* no list changes and nothing is subscribed to: no client holds a stream for it */
		assert_string_equal(testweb_get(pool, &a, "result.capabilities.tools"), "{ }");
		assert_string_equal(testweb_get(pool, &a, "result.capabilities.resources"), "{ }");
		assert_string_equal(testweb_get(pool, &a, "result.capabilities.prompts"), "{ }");
		assert_non_null(strstr(
			testweb_get(pool, &a, "result.instructions"), "never delegate twice"));
	}
}

/* The handshake gives back what was asked for where that is served, never the modern version. */
static void test_initialize(void **state)
{
	static const char *const rows[][2] = {
		{"2024-11-05", "2024-11-05"},
		{"2025-03-26", "2025-03-26"},
		{"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"},
		{"2026-07-28", "2025-11-25"},
		{"1999-01-01", "2025-11-25"},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct answer a;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		/* a proxy adds the modern header to it */
		a = ask(pool,
			pool_printf(pool,
				RPC("0", "initialize",
					"\"protocolVersion\":\"%s\",\"capabilities\":{},"
					"\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}"),
				rows[i][0]),
			H("Mcp-Method: initialize"));
		assert_int_equal(a.status, 200);
		assert_string_equal(testweb_get(pool, &a, "result.protocolVersion"), rows[i][1]);
		assert_string_equal(
			testweb_get(pool, &a, "result.serverInfo.name"), "agent-sandbox");
		assert_string_equal(testweb_get(pool, &a, "result.resultType"), "");
		assert_string_equal(testweb_get(pool, &a, "result.capabilities.tools"), "{ }");
		assert_string_equal(testweb_get(pool, &a, "result.capabilities.logging"), "");
		assert_non_null(strstr(
			testweb_get(pool, &a, "result.instructions"), "never delegate twice"));
		assert_null(strstr(a.head, "Mcp-Session-Id"));
		a = ask(pool, RPC("1", "ping", ""),
			H(pool_printf(pool, "MCP-Protocol-Version: %s", rows[i][1])));
		assert_int_equal(a.status, 200);
		assert_string_equal(testweb_get(pool, &a, "result"), "{ }");
	}
	assert_int_equal(
		ask(pool, RPC("1", "ping", ""), H("MCP-Protocol-Version: 1999-01-01")).status, 400);
	assert_int_equal(ask(pool, RPC("1", "ping", ""), H("MCP-Protocol-Version: x")).status, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_door),
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_deep_and_large),
		cmocka_unit_test(test_notifications),
		cmocka_unit_test(test_modern),
		cmocka_unit_test(test_prompt_names_languages),
		cmocka_unit_test(test_discover),
		cmocka_unit_test(test_initialize),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
