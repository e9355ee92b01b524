/*
 * The gate's way to the model: the real program between a scripted endpoint and this test, which
 * plays the shim. What passes, what does not, what every call leaves in the rows, and where the key
 * is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "gatesite.h"
#include "json.h"
#include "pool.h"
#include "testdb.h"
#include "text.h"

#define KEY "sk-ant-the-real-key-of-this-site"

static struct pool *pool;
static const char *dir;
static pid_t endpoint;
static uint32_t next_stream;

static int setup(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	pool = pool_new();
	dir = gatesite_dir(pool);
	const char *const settings[] = {pool_printf(pool, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d/",
						gatesite_model(pool, dir, KEY, &endpoint)),
		"ANTHROPIC_API_KEY=" KEY, "ASB_MODEL_STALL_MS=1000", "ASB_LOG_LEVEL=debug", NULL};

	gatesite_start_logged(pool, dir, settings);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)kill(endpoint, SIGKILL);
	(void)waitpid(endpoint, NULL, 0);
	gatesite_stop(dir);
	pool_free(pool);
	return 0;
}

/* A message whose conversation has this script. */
static const char *message(const char *script, bool stream)
{
	CLEANUP(buf) struct buf b = BUF_INIT(65536), text = BUF_INIT(65536);

	(void)buf_addf(&text, "go MODEL-SCRIPT: %s", script);
	(void)buf_addf(&b,
		"{\"model\":\"claude-x\",\"stream\":%s,\"messages\":[{\"role\":\"user\","
		"\"content\":",
		stream ? "true" : "false");
	json_add_quoted(&b, text.data, text.len);
	(void)buf_adds(&b, "}]}");
	return pool_memdup(pool, b.data, b.len);
}

static const char *post(const char *path, const char *headers, const char *body)
{
	return pool_printf(pool,
		"POST /model%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
		"%sContent-Length: %zu\r\n\r\n%s",
		path, headers, strlen(body), body);
}

/* One call on a connection of its own. */
static const char *call(const char *request, bool *whole)
{
	struct gate_peer p;
	const char *answer;

	gate_peer_open(&p, dir, GATE_UID);
	answer = gate_peer_ask(&p, pool, GATE_STREAM(++next_stream), request, whole);
	gate_peer_close(&p);
	return answer;
}

static const char *last_row(void)
{
	return testdb_text("SELECT concat_ws('|', path, coalesce(model, '-'), status, "
			   "coalesce(error, '-'), coalesce(input_tokens, -1), "
			   "coalesce(output_tokens, -1), coalesce(cache_read_tokens, -1), "
			   "coalesce(cache_write_tokens, -1), (turn_id IS NOT NULL)::text) "
			   "FROM model_calls ORDER BY id DESC LIMIT 1");
}

static void contains(const char *text, const char *want)
{
	if (!strstr(text, want))
		fail_msg("no '%s' in: %.2000s", want, text);
}

static void a_stream_passes_and_is_metered(void **state)
{
	const char *a, *log;
	bool whole;

	(void)state;
	a = call(post("/v1/messages?beta=true",
			 "X-Api-Key: attackers\r\nAuthorization: Bearer attackers\r\nCookie: "
			 "c=attackers"
			 "\r\nProxy-Authorization: attackers\r\nAnthropic-Version: 2023-06-01\r\n"
			 "X-Evil: attackers\r\nX-Stainless-Retry-Count: 0\r\n",
			 message("[{\"think\":\"hm\",\"say\":\"hello "
				 "there\",\"usage\":{\"input_tokens\":11,"
				 "\"output_tokens\":22,\"cache_read_input_tokens\":33,"
				 "\"cache_creation_input_tokens\":44}}]",
				 true)),
		&whole);
	assert_true(whole);
	contains(a, "HTTP/1.1 200");
	contains(a, "Transfer-Encoding: chunked");
	contains(a, "text/event-stream");
	contains(a, "request-id: req_");
	contains(a, "anthropic-ratelimit-requests-remaining: 99");
	contains(a, "event: message_start\n");
	contains(a, "event: message_stop\n");
	assert_string_equal(a + strlen(a) - 7, "\r\n0\r\n\r\n");
	assert_string_equal(last_row(), "/v1/messages|claude-x|200|-|11|22|33|44|true");
	log = gatesite_file(pool, dir, "requests");
	contains(log, "\"key\":\"right\"");
	contains(log, "\"query\":\"beta=true\"");
	contains(log, "anthropic-version");
	contains(log, "x-stainless-retry-count");
	assert_null(strstr(log, "authorization"));
	assert_null(strstr(log, "cookie"));
	assert_null(strstr(log, "x-evil"));
	assert_string_equal(
		testdb_text("SELECT concat_ws('|', route, target, allowed, reason) FROM "
			    "egress ORDER BY id DESC LIMIT 1"),
		"model|model/v1/messages|t|allowed");
}

static void whole_answers_are_metered(void **state)
{
	const char *a;

	(void)state;
	a = call(post("/v1/messages", "",
			 message("[{\"say\":\"x\",\"usage\":{\"input_tokens\":7}}]", false)),
		NULL);
	contains(a, "\"role\":\"assistant\"");
	assert_string_equal(last_row(), "/v1/messages|claude-x|200|-|7|20|0|0|true");
	a = call(post("/v1/messages/count_tokens", "", message("[]", false)), NULL);
	contains(a, "\"input_tokens\":");
	assert_string_equal(last_row(), "/v1/messages/count_tokens|-|200|-|-1|-1|-1|-1|true");
	/* chunks and gzip: `{"messages":[]}`, compressed */
	static const char gzip[] = "POST /model/v1/messages HTTP/1.1\r\nContent-Encoding: gzip\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	CLEANUP(buf) struct buf b = BUF_INIT(4096);
	struct gate_peer p;
	struct wire_frame f;

	command_run((const char *const[]){"/bin/bash", "-c",
		pool_printf(pool, "printf '{\"messages\":[]}' | gzip -n > %s/body.gz", dir), NULL});
	{
		CLEANUP(file) FILE *in = fopen(pool_printf(pool, "%s/body.gz", dir), "re");
		char body[256];
		size_t n = fread(body, 1, sizeof(body), in);

		(void)buf_addf(&b, "%s%zx\r\n", gzip, n);
		(void)buf_add(&b, body, n);
		(void)buf_adds(&b, "\r\n0\r\n\r\n");
	}
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, GATE_STREAM(900), "{\"route\":\"/\"}");
	assert_true(gate_peer_next(&p, &f));
	gate_peer_send(&p, WIRE_DATA, GATE_STREAM(900), b.data, b.len);
	contains(gate_peer_answer(&p, pool, GATE_STREAM(900), NULL), "\"text\":\"ok\"");
	gate_peer_close(&p);
	contains(gatesite_file(pool, dir, "requests"), "\"encoding\":\"gzip\",\"chunked\":true");
}

static void errors_pass_as_they_are_but_for_the_key(void **state)
{
	static const struct {
		const char *script;
		const char *wants[3];
		const char *row;
	} rows[] = {
		{"[{\"error\":401,\"message\":\"no such key: {key}!\"}]",
			{"HTTP/1.1 401", "authentication_error",
				"no such key: ********************************!"},
			"/v1/messages|-|401|authentication_error|-1|-1|-1|-1|true"},
		{"[{\"error\":429,\"retry_after\":7}]",
			{"HTTP/1.1 429", "retry-after: 7", "rate_limit_error"},
			"/v1/messages|-|429|rate_limit_error|-1|-1|-1|-1|true"},
		{"[{\"error\":529}]", {"HTTP/1.1 529", "overloaded_error", "request_id"},
			"/v1/messages|-|529|overloaded_error|-1|-1|-1|-1|true"},
		{"[{\"error\":500}]", {"HTTP/1.1 500", "api_error", "request-id"},
			"/v1/messages|-|500|api_error|-1|-1|-1|-1|true"},
		{"[{\"sse_error\":\"overloaded_error\",\"say\":\"a long sentence\"}]",
			{"HTTP/1.1 200", "event: error", "\r\n0\r\n\r\n"},
			"/v1/messages|claude-x|200|overloaded_error|100|1|0|0|true"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool whole;
		const char *a =
			call(post("/v1/messages", "", message(rows[i].script, true)), &whole);

		assert_true(whole);
		for (size_t k = 0; k < 3; k++)
			contains(a, rows[i].wants[k]);
		assert_null(strstr(a, KEY));
		assert_string_equal(last_row(), rows[i].row);
	}
}

static void what_breaks_is_seen_to_be_broken(void **state)
{
	static const struct {
		const char *how, *row;
	} rows[] = {
		{"\"drop\":\"mid\"", "/v1/messages|claude-x|200|dropped|100|1|0|0|true"},
		{"\"drop\":\"clean\"", "/v1/messages|claude-x|200|dropped|100|1|0|0|true"},
		{"\"stall\":\"mid\"", "/v1/messages|claude-x|200|stalled|100|1|0|0|true"},
	};
	const char *a;
	bool whole;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a = call(post("/v1/messages", "",
				 message(pool_printf(pool, "[{\"say\":\"some words to say\",%s}]",
						 rows[i].how),
					 true)),
			&whole);
		contains(a, "event: message_start");
		assert_null(strstr(a, "message_stop"));
		assert_false(whole);
		assert_null(strstr(a, "\r\n0\r\n\r\n"));
		assert_string_equal(last_row(), rows[i].row);
	}
	a = call(post("/v1/messages", "", message("[{\"drop\":\"start\"}]", true)), &whole);
	assert_true(whole);
	contains(a, "HTTP/1.1 502");
	contains(a, "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",");
	assert_string_equal(last_row(), "/v1/messages|-|0|dropped|-1|-1|-1|-1|true");
}

static void what_is_not_served_is_said_as_the_api_says_it(void **state)
{
	static const struct {
		const char *request, *wants[3];
	} rows[] = {
		{"GET /model/v1/models HTTP/1.1\r\n\r\n",
			{"HTTP/1.1 403", "application/json",
				"{\"type\":\"error\",\"error\":{\"type\":\"permission_error\","
				"\"message\":"}},
		{"POST /model/v1/files HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
			{"HTTP/1.1 403", "permission_error", "only messages"}},
		{"POST /model/v1/messages?beta=false HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
			{"HTTP/1.1 403", "permission_error", "only messages"}},
		{"HEAD /model/v1/messages HTTP/1.1\r\n\r\n",
			{"HTTP/1.1 403", "model_path", "Content-Length: "}},
		{"HEAD /model/ HTTP/1.1\r\n\r\n", {"HTTP/1.1 200", "local", "Content-Length: 0"}},
		{"POST /model/v1/messages HTTP/1.1\r\nContent-Length: 33554433\r\n\r\n",
			{"HTTP/1.1 413", "request_too_large", "too large"}},
		{"POST /model/v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
			{"HTTP/1.1 400", "invalid_request_error", "chunk"}},
	};
	int64_t before = testdb_i64("SELECT count(*) FROM model_calls WHERE status <> 0");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *a = call(rows[i].request, NULL);

		for (size_t k = 0; k < 3; k++)
			contains(a, rows[i].wants[k]);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM model_calls WHERE status <> 0"), before);
}

static void only_a_turn_under_way_may_call(void **state)
{
	static const char *const states[] = {"asked", "done", "failed", "stopped", "queued"};
	const char *a, *request = post("/v1/messages", "", message("[{\"say\":\"x\"}]", true));
	int64_t before;

	(void)state;
	contains(call(request, NULL), "HTTP/1.1 200");
	before = testdb_i64("SELECT count(*) FROM model_calls");
	testdb_exec("ALTER TABLE turns DISABLE TRIGGER USER");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		testdb_exec("UPDATE turns SET state = '%s'", states[i]);
		a = call(request, NULL);
		contains(a, "HTTP/1.1 403");
		contains(a, "permission_error");
		contains(a, "no turn under way");
	}
	/* an ask beside the drive is no turn of it */
	testdb_exec("UPDATE turns SET state = 'running', lane = 'ask'");
	contains(call(request, NULL), "HTTP/1.1 403");
	assert_int_equal(testdb_i64("SELECT count(*) FROM model_calls"), before);
	assert_int_equal(testdb_i64("SELECT count(*) FROM egress WHERE NOT allowed AND reason = "
				    "'no_turn'"),
		6);
	testdb_exec("UPDATE turns SET lane = 'drive'");
	contains(call(request, NULL), "HTTP/1.1 200");
}

/* The box hangs up in the middle: the upstream is let go, and the row says what was paid. */
static void a_box_that_leaves_pays(void **state)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1 << 16);
	uint32_t stream = GATE_STREAM(950);
	struct gate_peer p;
	struct wire_frame f;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, stream, "{\"route\":\"/\"}");
	assert_true(gate_peer_next(&p, &f));
	gate_peer_say(&p, WIRE_DATA, stream,
		post("/v1/messages", "",
			message("[{\"say\":\"words that take long\",\"pause_ms\":400}]", true)));
	while (!strstr(b.data, "message_start")) {
		assert_true(gate_peer_next(&p, &f));
		(void)buf_add(&b, f.payload, f.length);
	}
	gate_peer_say(&p, WIRE_REFUSE, stream, "{}");
	gate_peer_say(&p, WIRE_PING, 0, "x");
	do
		assert_true(gate_peer_next(&p, &f));
	while (f.type != WIRE_PONG);
	gate_peer_close(&p);
	assert_string_equal(last_row(), "/v1/messages|claude-x|200|box_left|100|1|0|0|true");
	for (int i = 0;
		i < 100 && !strstr(gatesite_file(pool, dir, "requests"), "\"end\":\"left\""); i++)
		(void)usleep(50000);
	contains(gatesite_file(pool, dir, "requests"), "\"end\":\"left\"");
}

/* A chunked body of this many 64 KiB chunks. */
static const char *long_call(uint32_t stream, size_t chunks)
{
	static char chunk[WIRE_PAYLOAD_MAX];
	uint64_t sent, allowed = WIRE_WINDOW;
	struct gate_peer p;
	struct wire_frame f;
	const char *answer, *head = "POST /model/v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked"
				    "\r\n\r\n";
	bool answered = false;

	memset(chunk, ' ', sizeof(chunk));
	memcpy(chunk, "fff0\r\n", 6);
	memcpy(chunk + 6 + 0xfff0, "\r\n", 2);
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_OPEN, stream, "{\"route\":\"/\"}");
	assert_true(gate_peer_next(&p, &f));
	gate_peer_say(&p, WIRE_DATA, stream, head);
	sent = strlen(head);
	for (size_t i = 0; i < chunks && !answered;) {
		if (sent + 6 + 0xfff0 + 2 <= allowed) {
			gate_peer_send(&p, WIRE_DATA, stream, chunk, 6 + 0xfff0 + 2);
			sent += 6 + 0xfff0 + 2;
			i++;
			continue;
		}
		assert_true(gate_peer_next(&p, &f));
		if (f.type == WIRE_CREDIT)
			assert_true(wire_u64(&f, &allowed));
		answered = f.type == WIRE_DATA;
	}
	if (answered)
		answer = pool_memdup(pool, (const char *)f.payload, f.length);
	else
		gate_peer_say(&p, WIRE_DATA, stream, "f\r\n{\"messages\":[]}\r\n0\r\n\r\n");
	if (!answered)
		answer = gate_peer_answer(&p, pool, stream, NULL);
	gate_peer_close(&p);
	return answer;
}

static void bodies_end_at_32_mib(void **state)
{
	(void)state;
	contains(long_call(GATE_STREAM(960), 510), "\"text\":\"ok\"");
	contains(long_call(GATE_STREAM(961), 530), "HTTP/1.1 413");
	contains(last_row(), "bad_request");
}

static void the_key_is_nowhere(void **state)
{
	(void)state;
	contains(gatesite_file(pool, dir, "log"), "route=model");
	assert_null(strstr(gatesite_file(pool, dir, "log"), "the-real-key"));
	assert_int_equal(testdb_i64("SELECT count(*) FROM model_calls m, egress e WHERE "
				    "concat(m::text, e::text) LIKE '%%the-real-key%%'"),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_passes_and_is_metered),
		cmocka_unit_test(whole_answers_are_metered),
		cmocka_unit_test(errors_pass_as_they_are_but_for_the_key),
		cmocka_unit_test(what_breaks_is_seen_to_be_broken),
		cmocka_unit_test(what_is_not_served_is_said_as_the_api_says_it),
		cmocka_unit_test(only_a_turn_under_way_may_call),
		cmocka_unit_test(a_box_that_leaves_pays),
		cmocka_unit_test(bodies_end_at_32_mib),
		cmocka_unit_test(the_key_is_nowhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
