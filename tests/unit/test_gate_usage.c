/*
 * What a model's answer is seen to have cost: whatever pieces it comes in, and whatever else is in
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "gate_usage.h"

#define START                                                                                     \
	"event: message_start\n"                                                                  \
	"data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\","   \
	"\"model\":\"claude-opus-5-5\",\"content\":[],\"stop_reason\":null,\"usage\":"            \
	"{\"input_tokens\":12,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":400," \
	"\"output_tokens\":1,\"server_tool_use\":{\"output_tokens\":99}}}}\n\n"
#define TEXT                                                                                      \
	"event: content_block_delta\n"                                                            \
	"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\"," \
	"\"text\":\"data: {\\\"usage\\\":{\\\"output_tokens\\\":777}}\\n\\n\"}}\n\n"
#define DELTA                                                                         \
	"event: message_delta\n"                                                      \
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," \
	"\"usage\":{\"output_tokens\":345}}\n\n"
#define STOP "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

struct usage_case {
	const char *name;
	bool is_stream;
	const char *text, *model, *error;
	int64_t counts[USAGE__COUNT];
	bool stopped;
};

#define NONE                   \
	{                      \
		-1, -1, -1, -1 \
	}

static const struct usage_case cases[] = {
	{"a stream", true, START TEXT DELTA STOP, "claude-opus-5-5", "", {12, 345, 400, 3}, true},
	{"a stream cut short", true, START TEXT, "claude-opus-5-5", "", {12, 1, 400, 3}, false},
	{"with CR and comments", true,
		": hello\r\n\r\ndata:{\"type\":\"message_start\",\"message\":{\"model\":\"m\","
		"\"usage\":{\"input_tokens\":1}}}\r\n\r\nid: 4\r\nretry: 5\r\n\r\n"
		"data: {\"type\":\"message_stop\"}\r\n\r\n",
		"m", "", {1, -1, -1, -1}, true},
	{"data over two lines, type last", true,
		"data: {\"usage\":{\"output_tokens\":\ndata: "
		"6},\ndata:\"type\":\"message_delta\"}\n\n",
		"", "", {-1, 6, -1, -1}, false},
	{"counts that do not grow", true,
		START DELTA
		"data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":0}}\n\n",
		"claude-opus-5-5", "", {12, 345, 400, 3}, false},
	{"an error event", true,
		START "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
		      "\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		"claude-opus-5-5", "overloaded_error", {12, 1, 400, 3}, false},
	{"an event that has not ended", true, "data: {\"type\":\"message_stop\"}\n", "", "", NONE,
		false},
	{"half an event", true,
		"data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}\n\n", "", "",
		NONE, false},
	{"usage of a kind that has none", true,
		"data: {\"type\":\"ping\",\"usage\":{\"output_tokens\":5},\"model\":\"x\"}\n\n", "",
		"", NONE, false},
	{"other fields of the line", true,
		"datax: {\"type\":\"message_stop\"}\n\nevent: {\"type\":\"message_stop\"}\n\n", "",
		"", NONE, false},
	{"a JSON answer", false,
		" {\"model\":\"claude-x\",\"content\":[{\"type\":\"tool_use\",\"input\":{\"usage\":"
		"{\"output_tokens\":9},\"type\":\"error\"}}],\"usage\":{\"output_tokens\":20,"
		"\"input_tokens\":100},\"type\":\"message\"}\n",
		"claude-x", "", {100, 20, -1, -1}, false},
	{"a JSON error", false,
		"{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}"
		","
		"\"request_id\":\"req_1\"}",
		"", "rate_limit_error", NONE, false},
	{"an error without a type of its own", false, "{\"error\":{},\"type\":\"error\"}", "",
		"error", NONE, false},
	{"not whole", false, "{\"type\":\"message\",\"usage\":{\"input_tokens\":1}", "", "", NONE,
		false},
	{"not JSON", false, "<html>}}]]\"\\\"type\\\":\\\"message\\\"", "", "", NONE, false},
	{"numbers that are none", false,
		"{\"type\":\"message\",\"usage\":{\"input_tokens\":-1,\"output_tokens\":1e9,"
		"\"cache_read_input_tokens\":99999999999999999999,"
		"\"cache_creation_input_tokens\":\"7\"}}",
		"", "", NONE, false},
	{"names with escapes and control characters", false,
		"{\"type\":\"message\",\"model\":\"a\\u001b[31m\",\"us\\u0061ge\":{\"input_"
		"tokens\":1}}",
		"", "", NONE, false},
	{"a name in an array is not a name", false,
		"{\"type\":\"message\",\"message\":[\"usage\",{\"usage\":{\"input_tokens\":1}}],"
		"\"usage\":[{\"output_tokens\":4}]}",
		"", "", NONE, false},
	{"members beside deep ones", false,
		"{\"a\":[[[[[[[[[[{\"b\":{\"usage\":{}}}]]]]]]]]]],\"type\":\"message\",\"c\":{"
		"\"d\":"
		"{\"e\":{\"f\":{\"g\":{\"h\":{\"i\":1}}}}}},\"usage\":{\"input_tokens\":2}}",
		"", "", {2, -1, -1, -1}, false},
};

static void check(const struct usage_case *c, const struct usage *u, size_t at)
{
	bool same = !strcmp(u->model, c->model) && !strcmp(u->error, c->error) &&
		    u->stopped == c->stopped;

	for (int i = 0; i < USAGE__COUNT; i++)
		same &= u->counts[i] == c->counts[i];
	if (!same)
		fail_msg("%s, split at %zu: model '%s' error '%s' stopped %d counts %lld %lld %lld "
			 "%lld",
			c->name, at, u->model, u->error, u->stopped, (long long)u->counts[0],
			(long long)u->counts[1], (long long)u->counts[2], (long long)u->counts[3]);
}

static void pieces_do_not_matter(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct usage_case *c = &cases[i];
		size_t n = strlen(c->text);
		struct usage u;

		for (size_t at = 0; at <= n; at++) {
			usage_init(&u, c->is_stream);
			usage_feed(&u, c->text, at);
			usage_feed(&u, c->text + at, n - at);
			usage_end(&u);
			check(c, &u, at);
		}
		usage_init(&u, c->is_stream);
		for (size_t at = 0; at < n; at++)
			usage_feed(&u, c->text + at, 1);
		usage_end(&u);
		check(c, &u, 1);
	}
}

/* Long ones, and bytes without sense: it neither breaks nor believes, and reads on afterwards. */
static void hostile_answers_are_survived(void **state)
{
	static const char bits[] = "{}[]\",:\\\n\r \001\377typeusagmod0129-.";
	struct usage u;
	char text[512];

	(void)state;
	srandom(7);
	for (int round = 0; round < 3000; round++) {
		usage_init(&u, round % 2);
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = bits[(size_t)random() % (sizeof(bits) - 1)];
		usage_feed(&u, text, sizeof(text));
		usage_end(&u);
		assert_string_equal(u.model, "");
	}
	usage_init(&u, true);
	usage_feed(&u, "data: {\"type\":\"", 15);
	for (int i = 0; i < 100000; i++)
		usage_feed(&u, "message_stop\\\"[{", 16);
	usage_feed(&u, "\"}\n\n" STOP, 4 + strlen(STOP));
	assert_true(u.stopped);
	usage_init(&u, true);
	usage_feed(&u, "data: ", 6);
	for (int i = 0; i < 100000; i++)
		usage_feed(&u, "{\"a\":[", 6);
	usage_feed(&u, "\n\n" START, 2 + strlen(START));
	assert_string_equal(u.model, "claude-opus-5-5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_do_not_matter),
		cmocka_unit_test(hostile_answers_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
