/*
 * Claude Code's stream: every event of a conversation as the rows and facts it means, however its
 * bytes are cut; errors of the model's host told apart; and what a hostile box may write in its
 * place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent_claude.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "trace.h"

extern const struct agent agent_claude;

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct stage {
	struct agent_reader *reader;
	struct trace trace;
	struct pool *pool;
};

static void stage_begin(struct stage *s)
{
	s->reader = agent_claude.open(0);
	s->pool = pool_new();
	trace_init(&s->trace, 1, 1, 0);
}

static void cleanup_stage(struct stage *s)
{
	agent_claude.close(s->reader);
	cleanup_trace(&s->trace);
	pool_free(s->pool);
}

static void feed(struct stage *s, const char *text, int64_t now_ms)
{
	claude_feed(s->reader, text, strlen(text), now_ms, &s->trace);
}

static const struct agent_facts *facts(const struct stage *s)
{
	return agent_claude.facts(s->reader);
}

/* The rows as "kind ref text data", one a line; they are valid JSON, or this fails. */
static const char *rows(struct stage *s)
{
	CLEANUP(json) struct json_object *list = NULL;
	CLEANUP(buf) struct buf out = BUF_INIT(16u << 20);
	const char *text = pool_printf(s->pool, "[%s]", s->trace.rows.data);
	struct err err;

	if (!json_parse(text, strlen(text), &list, &err))
		fail_msg("%s in %.300s", err.msg, text);
	for (size_t i = 0; i < json_count(list); i++) {
		struct json_object *row = json_at(list, i);
		const char *kind = "", *ref = "-", *said = "";
		int64_t seq = 0;

		assert_int_equal(json_count(row), 5);
		assert_true(json_as_i64(json_at(row, 0), &seq));
		assert_int_equal(seq, s->trace.last_seq + 1 + (int64_t)i);
		assert_true(json_as_text(json_at(row, 1), &kind));
		(void)json_as_text(json_at(row, 2), &ref);
		assert_true(json_as_text(json_at(row, 3), &said));
		(void)buf_addf(&out, "%s %s %s %s\n", kind, ref, said,
			json_text(json_at(row, 4), s->pool));
	}
	trace_committed(&s->trace);
	return pool_memdup(s->pool, out.data, out.len);
}

static const char *fixture(struct pool *pool, size_t *n)
{
	CLEANUP(file) FILE *f = fopen("tests/fixtures/claude/conversation.ndjson", "r");
	CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);
	size_t k;

	assert_non_null(f);
	do {
		char *to = buf_room(&b, 4096);

		assert_non_null(to);
		k = fread(to, 1, 4096, f);
		buf_grew(&b, k);
	} while (k);
	*n = b.len;
	return pool_memdup(pool, b.data, b.len);
}

static const char conversation[] =
	"system - Claude Code 9.9.1, model model-a {\"version\":\"9.9.1\",\"model\":\"model-a\"}\n"
	"thinking - look first {}\n"
	"say - I will look. {}\n"
	"tool toolu_1 Bash: ls -la … {\"tool\":\"Bash\",\"input\":{\"command\":\"ls -la\\nwc -l "
	"*\",\"description\":\"list\"}}\n"
	"result toolu_1 a.txt\nb.txt {\"is_error\":false,\"duration_ms\":0,\"truncated\":false}\n"
	"tool toolu_2 Agent: search the docs {\"tool\":\"Agent\",\"input\":{\"description\":"
	"\"search the docs\",\"prompt\":\"go\"}}\n"
	"result toolu_2 launched\n[image] {\"is_error\":false,\"duration_ms\":0,\"truncated\":"
	"false}\n"
	"usage - 1065 tokens in, 220 out, $0.0200 {\"input_tokens\":1010,\"output_tokens\":220,"
	"\"cache_read_tokens\":50,\"cache_write_tokens\":5,\"cost_usd\":0.02000000,\"model\":"
	"\"model-a\"}\n"
	"tool toolu_3 Grep: needle {\"tool\":\"Grep\",\"input\":{\"pattern\":\"needle\"},"
	"\"parent\":\"toolu_2\"}\n"
	"result toolu_3 Exit code 2\nno such file {\"is_error\":true,\"exit_code\":2,"
	"\"duration_ms\":0,\"truncated\":false,\"parent\":\"toolu_2\"}\n"
	"system toolu_2 task completed: found it {\"kind\":\"task\"}\n"
	"error - the model's host answered 529 (overloaded_error): try 1 of 10 in 503 ms "
	"{\"kind\":\"api_retry\",\"status\":529,\"attempt\":1,\"max\":10,\"retry_ms\":503}\n"
	"error - no whole answer of the model's host: try 2 of 10 in 1003 ms "
	"{\"kind\":\"api_retry\",\"status\":0,\"attempt\":2,\"max\":10,\"retry_ms\":1003}\n"
	"system - event weather  {\"event\":\"{\\\"type\\\":\\\"weather\\\",\\\"sky\\\":"
	"\\\"blue\\\"}\"}\n"
	"say - All done. {}\n"
	"usage - 5 tokens in, 7 out, $0.0100 {\"input_tokens\":5,\"output_tokens\":7,"
	"\"cache_read_tokens\":0,\"cache_write_tokens\":0,\"cost_usd\":0.01000000,\"model\":"
	"\"model-a\"}\n";

static void a_conversation(void **state)
{
	static const size_t cuts[] = {1, 7, 100, 4096, 1u << 20};

	(void)state;
	for (size_t i = 0; i < COUNT(cuts); i++) {
		CLEANUP(stage) struct stage s;
		const char *text;
		size_t n;

		stage_begin(&s);
		text = fixture(s.pool, &n);
		for (size_t at = 0; at < n; at += cuts[i])
			claude_feed(s.reader, text + at, n - at < cuts[i] ? n - at : cuts[i], 1000,
				&s.trace);
		assert_string_equal(rows(&s), conversation);
		assert_int_equal(facts(&s)->begun, 2);
		assert_int_equal(facts(&s)->ended, 2);
		assert_false(facts(&s)->working);
		assert_int_equal(facts(&s)->background, 0);
		assert_false(facts(&s)->failed);
		assert_string_equal(facts(&s)->word, "completed");
	}
}

/* A runner dies anywhere, within a line too; what was committed is replayed, the rest comes again.
 */
static void a_new_runner_goes_on(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	size_t n;
	const char *text = fixture(pool, &n);

	(void)state;
	for (size_t cut = 0; cut <= n; cut += 61) {
		CLEANUP(stage) struct stage first;
		CLEANUP(stage) struct stage second;
		const char *before, *after;

		stage_begin(&first);
		stage_begin(&second);
		claude_feed(first.reader, text, cut, 1000, &first.trace);
		before = rows(&first);
		agent_claude.replay(second.reader, text, cut, 1000);
		second.trace.last_seq = first.trace.last_seq;
		assert_memory_equal(facts(&first), facts(&second), sizeof(struct agent_facts));
		claude_feed(second.reader, text + cut, n - cut, 1000, &second.trace);
		after = rows(&second);
		assert_string_equal(pool_printf(pool, "%s%s", before, after), conversation);
	}
}

static void calls_have_durations(void **state)
{
	CLEANUP(stage) struct stage s;
	const char *text;

	(void)state;
	stage_begin(&s);
	feed(&s,
		"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"a\","
		"\"name\":\"Bash\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\",\"name\":"
		"\"Bash\","
		"\"input\":{}}]}}\n",
		5000);
	assert_true(facts(&s)->working);
	feed(&s,
		"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_"
		"id\":"
		"\"b\",\"content\":\"x\"}]}}\n",
		5250);
	feed(&s,
		"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_"
		"id\":"
		"\"a\",\"content\":\"x\"},{\"type\":\"tool_result\",\"tool_use_id\":\"never\","
		"\"content\":\"x\"}]}}\n",
		9000);
	text = rows(&s);
	assert_non_null(strstr(text, "result b x {\"is_error\":false,\"duration_ms\":250,"));
	assert_non_null(strstr(text, "result a x {\"is_error\":false,\"duration_ms\":4000,"));
	assert_non_null(strstr(text, "result never x {\"is_error\":false,\"truncated\":false}"));
}

static void ends_are_told_apart(void **state)
{
	static const struct {
		const char *event;
		bool failed;
		int64_t status;
		const char *word, *message, *row;
	} cases[] = {
		{"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
		 "\"terminal_reason\":\"hook_stopped\",\"result\":\"\"}",
			false, 0, "hook_stopped", "success", NULL},
		{"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
		 "\"terminal_reason\":\"api_error\",\"api_error_status\":401,\"result\":\"API "
		 "Error: "
		 "401\"}",
			true, 401, "api_error", "API Error: 401",
			"error - API Error: 401 {\"kind\":\"agent_error\",\"status\":401}"},
		{"{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,"
		 "\"terminal_reason\":\"max_turns\",\"api_error_status\":null}",
			true, 0, "max_turns", "error_max_turns", "error - error_max_turns "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(stage) struct stage s;
		const char *text;

		stage_begin(&s);
		feed(&s, cases[i].event, 0);
		assert_int_equal(facts(&s)->ended, 0);
		feed(&s, "\n", 0);
		assert_int_equal(facts(&s)->ended, 1);
		assert_int_equal(facts(&s)->failed, cases[i].failed);
		assert_int_equal(facts(&s)->status, cases[i].status);
		assert_string_equal(facts(&s)->word, cases[i].word);
		assert_string_equal(facts(&s)->message, cases[i].message);
		text = rows(&s);
		if (cases[i].row && !strstr(text, cases[i].row))
			fail_msg("%s", text);
		if (!cases[i].row)
			assert_null(strstr(text, "error"));
	}
}

/* The agent says it in the model's place and again at the end: one row. */
static void an_api_error_is_one_row(void **state)
{
	CLEANUP(stage) struct stage s;
	const char *text;

	(void)state;
	stage_begin(&s);
	feed(&s,
		"{\"type\":\"assistant\",\"message\":{\"model\":\"<synthetic>\",\"content\":[{"
		"\"type\":"
		"\"text\",\"text\":\"API Error: 500\"}]},\"error\":\"server_error\","
		"\"is_api_error_message\":true,\"api_error_status\":500}\n"
		"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_"
		"status\":500,"
		"\"terminal_reason\":\"api_error\",\"result\":\"API Error: "
		"500\",\"total_cost_usd\":0}\n",
		0);
	text = rows(&s);
	assert_int_equal(
		strncmp(text, "error - API Error: 500 {\"kind\":\"api_error\",\"status\":500}\n",
			56),
		0);
	assert_null(strstr(text + 10, "error -"));
	assert_null(strstr(text, "say"));
	assert_int_equal(facts(&s)->status, 500);
}

/* A version that does not say what came since the last result: the total's growth. */
static void cost_is_a_difference(void **state)
{
	CLEANUP(stage) struct stage s;
	const char *text;

	(void)state;
	stage_begin(&s);
	agent_claude.close(s.reader);
	s.reader = agent_claude.open(0.5);
	feed(&s,
		"{\"type\":\"result\",\"total_cost_usd\":0.75,\"usage\":{\"input_tokens\":3,"
		"\"output_tokens\":4,\"cache_read_input_tokens\":5,"
		"\"cache_creation_input_tokens\":6}}\n"
		"{\"type\":\"result\",\"total_cost_usd\":1,\"usage\":{\"input_tokens\":-3,"
		"\"output_tokens\":4e3}}\n"
		"{\"type\":\"result\",\"total_cost_usd\":1e300,\"usage\":[]}\n",
		0);
	text = rows(&s);
	assert_non_null(
		strstr(text, "\"input_tokens\":3,\"output_tokens\":4,\"cache_read_tokens\":5,"
			     "\"cache_write_tokens\":6,\"cost_usd\":0.25000000}"));
	assert_non_null(
		strstr(text, "\"input_tokens\":0,\"output_tokens\":0,\"cache_read_tokens\":0,"
			     "\"cache_write_tokens\":0,\"cost_usd\":0.25000000}"));
	assert_non_null(strstr(text, "\"cost_usd\":0.00000000}"));
}

static void hostile_lines(void **state)
{
	static const char *const lines[] = {
		"{",
		"[1,2]",
		"\"x\"",
		"null",
		"{\"type\":5}",
		"{\"type\":\"assistant\"}",
		"{\"type\":\"assistant\",\"message\":[]}",
		"{\"type\":\"assistant\",\"message\":{\"content\":{\"a\":1}}}",
		"{\"type\":\"assistant\",\"message\":{\"content\":[null,7,{\"type\":\"tool_use\"}]}"
		"}",
		"{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}",
		"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
		"\"content\":{}}]}}",
		"{\"type\":\"result\",\"usage\":7,\"model_usage_since_last_result\":[1]}",
		"{\"type\":\"result\",\"type\":\"result\"}",
		"{\"type\":\"system\",\"subtype\":\"init\",\"model\":7}",
		"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"x\","
		"\"name\":\"Bash\",\"input\":{\"n\":1e300,\"s\":\"\\ud800 \\ud83d\\ude00 "
		"\\udc00 \\\\u0000\",\"z\":\"a\\u0000b\"}"
		"}]}}",
		"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
		"\"\\u001b[31mred\\u202e\"}]}}",
		"{\"type\":\"user\",\"n\":1e999999}",
		"\xff\xfe not utf-8",
	};
	CLEANUP(stage) struct stage s;
	const char *text;

	(void)state;
	stage_begin(&s);
	for (size_t i = 0; i < COUNT(lines); i++) {
		feed(&s, lines[i], 0);
		feed(&s, "\n", 0);
	}
	claude_feed(s.reader, "\0\0\n", 3, 0, &s.trace);
	text = rows(&s);
	assert_non_null(strstr(text, "system - not an event {\"event\":\"{\"}"));
	assert_non_null(strstr(text, "\"n\":\"1e300\""));
	assert_non_null(strstr(text, "\"z\":\"a\xef\xbf\xbd"
				     "b\""));
	assert_non_null(
		strstr(text, "\"s\":\"\xef\xbf\xbd \xf0\x9f\x98\x80 \xef\xbf\xbd \\\\u0000\""));
	assert_non_null(strstr(text, "say - red {}"));
	/* what comes after it is read as ever */
	feed(&s,
		"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
		"\"on\"}]}}\n",
		0);
	assert_string_equal(rows(&s), "say - on {}\n");
}

static void large_events(void **state)
{
	CLEANUP(stage) struct stage s;
	size_t size = CLAUDE_LINE_MAX + (1u << 20);
	CLEANUP(free) char *blob = mem_alloc(size + 1);
	const char *text;

	(void)state;
	stage_begin(&s);
	memset(blob, 'x', size);
	feed(&s,
		"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"w\","
		"\"name\":\"Write\",\"input\":{\"file_path\":\"/workspace/a\",\"content\":\"",
		0);
	claude_feed(s.reader, blob, 2u << 20, 0, &s.trace);
	feed(&s, "\"}}]}}\n", 0);
	text = rows(&s);
	assert_int_equal(strncmp(text, "tool w Write: /workspace/a {\"tool\":\"Write\",", 43), 0);
	assert_non_null(strstr(text, " bytes more]\""));
	assert_true(strlen(text) < 20000);
	feed(&s,
		"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_"
		"id\":"
		"\"w\",\"content\":\"",
		0);
	claude_feed(s.reader, blob, 1u << 20, 0, &s.trace);
	feed(&s, "\"}]}}\n", 0);
	text = rows(&s);
	assert_non_null(strstr(text, "\"truncated\":true"));
	assert_true(strlen(text) < 4096 + 200);
	/* longer than a line may be */
	claude_feed(s.reader, blob, size, 0, &s.trace);
	feed(&s, "\n{\"type\":\"result\"}\n", 0);
	text = rows(&s);
	assert_int_equal(strncmp(text, "error - an event of 9437184 bytes is left out", 45), 0);
	assert_int_equal(facts(&s)->ended, 1);
}

/* A flood of large rows is one statement's worth at the most, and still whole JSON. */
static void a_flood_fits_a_flush(void **state)
{
	CLEANUP(stage) struct stage s;

	(void)state;
	stage_begin(&s);
	for (int i = 0; i < 2000; i++)
		feed(&s,
			"{\"type\":\"weather\",\"pad\":"
			"\"0123456789012345678901234567890123456789\"}\n",
			0);
	assert_int_equal(s.trace.pending, 200);
	(void)rows(&s);
	for (int i = 0; i < 3000; i++) {
		char line[4096];

		(void)snprintf(line, sizeof(line),
			"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\","
			"\"text\":"
			"\"%03500d\"}]}}\n",
			i);
		feed(&s, line, 0);
	}
	assert_in_range(s.trace.pending, 1000, 2999);
	(void)rows(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conversation),
		cmocka_unit_test(a_new_runner_goes_on),
		cmocka_unit_test(calls_have_durations),
		cmocka_unit_test(ends_are_told_apart),
		cmocka_unit_test(an_api_error_is_one_row),
		cmocka_unit_test(cost_is_a_difference),
		cmocka_unit_test(hostile_lines),
		cmocka_unit_test(large_events),
		cmocka_unit_test(a_flood_fits_a_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
