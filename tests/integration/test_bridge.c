/*
 * asb mcp against a scripted site: lines in, lines out; both eras' headers, streams, calls side by
 * side, cancelled ones, a site that is away. What this machine adds is test_bridge_local.c's.
 */
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

#include "bridgerig.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"

static void test_headers(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL, *second = NULL, *third = NULL;

	bridgerig_begin(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/"
			 "discover\",\"params\":{\"_meta\":"
			 "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
	json_free(bridgerig_parsed(r, &raw));
	bridgerig_has(raw, "\"id\":0");
	bridgerig_has(raw, "MCP-Protocol-Version: 2026-07-28");
	bridgerig_has(raw, "Mcp-Method: server/discover");
	assert_null(strstr(raw, "Idempotency-Key"));
	bridgerig_put(r,
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"resources/"
		"read\",\"params\":{\"uri\":"
		"\"run\\u00e9\\r\\nX: y\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
		"\"2026-07-28\"}}}");
	json_free(bridgerig_parsed(r, &second));
	bridgerig_has(second, "Mcp-Name: =?base64?");
	assert_null(strstr(second, "\\r\\nX: y"));
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"tools/"
			 "call\",\"params\":{\"name\":\"t\"}}");
	json_free(bridgerig_parsed(r, &third));
	bridgerig_has(third, "\"id\":-1");
	bridgerig_has(third, "Idempotency-Key: mcp-");
	assert_null(strstr(third, "Mcp-Method"));
}

static void test_stream(void **state)
{
	struct bridgerig *r = *state;

	bridgerig_begin(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-never\"}");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"say-stream\"}");
	bridgerig_expect(r, "notifications/progress");
	bridgerig_expect(r, "\"id\":2");
	/* nothing of the stream comes after its answer, and the first call still waits */
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
	bridgerig_expect(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
}

static void test_cancelled(void **state)
{
	struct bridgerig *r = *state;

	bridgerig_begin(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"say-cut\"}");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
			 "cancelled\",\"params\":{\"requestId\":"
			 "\"1\"}}");
	/* 1 is not "1": this one is answered */
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-refused\"}");
	bridgerig_expect(r, "\"id\":1");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"plain\"}");
	bridgerig_expect(r, "\"id\":2");
}

static void test_refused(void **state)
{
	struct bridgerig *r = *state;
	CLEANUP(free) char *raw = NULL;

	bridgerig_begin(r);
	/* what the site says to whoever sends headers, but for the one that asb sends itself */
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-forbidden\"}");
	bridgerig_expect(r, "\"error\":{\"code\":-32001,\"message\":\"a larger scope\"},\"id\":1");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-refused\"}");
	raw = bridgerig_next(r);
	assert_non_null(raw);
	bridgerig_has(raw, "\"id\":1,\"error\":");
	bridgerig_has(raw, "`asb login` stores another");
	bridgerig_has(raw, "\"code\":\"unauthenticated\"");
	assert_null(strstr(raw, "header"));
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"say-html\"}");
	bridgerig_expect(r, "the site answered 413");
	bridgerig_put(r, "nonsense");
	bridgerig_expect(r, "\"id\":null,\"error\":{\"code\":-32700");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"plain\"}");
	bridgerig_expect(r, "\"id\":3");
}

static void test_away(void **state)
{
	struct bridgerig *r = *state;

	/* nobody listens yet: asked again until somebody does */
	bridgerig_start(r, 60000);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"plain\"}");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	bridgerig_expect(r, "\"id\":2");
	bridgerig_site(r);
	bridgerig_expect(r, "\"id\":1");
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
		bridgerig_put(r, line);
		bridgerig_expect(r, "the site does not answer. Start it");
	}
}

/* A call that the site held for longer than it may be away is asked again as any other. */
static void test_late(void **state)
{
	struct bridgerig *r = *state;

	bridgerig_site(r);
	bridgerig_start(r, 1000);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-later\"}");
	bridgerig_expect(r, "\"result\":{\"saw\":");
}

static void test_eof(void **state)
{
	struct bridgerig *r = *state;

	bridgerig_begin(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-never\"}");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	bridgerig_expect(r, "\"id\":2");
	(void)close(r->in);
	r->in = -1;
	assert_true(bridgerig_ended(r));
}

static void test_signal(void **state)
{
	struct bridgerig *r = *state;

	bridgerig_begin(r);
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"say-never\"}");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	bridgerig_expect(r, "\"id\":2");
	assert_int_equal(write(r->signals, "x", 1), 1);
	assert_true(bridgerig_ended(r));
}

static void test_too_long(void **state)
{
	struct bridgerig *r = *state;
	size_t n = 10u << 20;
	CLEANUP(free) char *line = mem_alloc(n + 1);

	bridgerig_begin(r);
	memset(line, 'x', n);
	line[n] = '\0';
	bridgerig_put(r, line);
	bridgerig_expect(r, "no more than 8 MiB");
	bridgerig_put(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	bridgerig_expect(r, "\"id\":2");
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
		cmocka_unit_test_setup_teardown(test_eof, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_signal, bridgerig_setup, bridgerig_teardown),
		cmocka_unit_test_setup_teardown(test_too_long, bridgerig_setup, bridgerig_teardown),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
