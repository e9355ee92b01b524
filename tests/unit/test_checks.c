/*
 * What test runners print, read back as numbers: outputs as the real programs wrote them
 * (shortened), in any pieces, and outputs that only look like it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "checks.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* json: what comes out; NULL: nothing is known of it. */
static const struct {
	const char *what, *output, *json;
} cases[] = {
	{"nothing", "", NULL},
	{"a program that tests nothing", "hello\n# pass 1\nok then\n3 passed the gate\n", NULL},
	{"a TAP plan without a result", "1..3\n", NULL},
	{"TAP",
		"1..4\nok 1 - first\nnot ok 2 - second\n#   Failed test 'second'\n#   at t.t line "
		"1.\n"
		"ok 3 # skip no net\n# Subtest: sub\n    1..1\n    not ok 1 - inner\nnot ok 4 - "
		"sub # TO"
		"DO later\n",
		"{\"framework\":\"tap\",\"passed\":1,\"failed\":1,\"skipped\":2,\"failures\":["
		"{\"name\":\"second\",\"message\":\"Failed test 'second'\"},"
		"{\"name\":\"inner\",\"message\":\"\"}]}"},
	{"TAP: a plan not kept, CRLF", "TAP version 13\r\n1..3\r\nok 1\r\nok 2\r\n",
		"{\"framework\":\"tap\",\"passed\":2,\"failed\":1,\"skipped\":0,\"failures\":["
		"{\"name\":\"plan\",\"message\":\"more tests were planned than ran\"}]}"},
	{"TAP: bailed out, no name, no last newline",
		"1..2\nnot ok\n  ---\n  message: 'x is null'\n  ...\nBail out! no database",
		"{\"framework\":\"tap\",\"passed\":0,\"failed\":3,\"skipped\":0,\"failures\":["
		"{\"name\":\"(no name)\",\"message\":\"x is null\"},"
		"{\"name\":\"Bail out!\",\"message\":\"no database\"},"
		"{\"name\":\"plan\",\"message\":\"more tests were planned than ran\"}]}"},
	{"node:test as TAP",
		"TAP version 13\n# Subtest: good\nok 1 - good\n  ---\n  duration_ms: 9.9\n  ...\n"
		"# Subtest: bad \\# one\nnot ok 2 - bad \\# one\n  ---\n  duration_ms: 2.0\n"
		"  failureType: 'testCodeFailure'\n  error: |-\n    Expected values to be strictly "
		"equal:\n    \n    1 !== 2\n  code: 'ERR_ASSERTION'\n  stack: |-\n    not ok 9 - "
		"fooled\n  ...\nok 3 - skippy # SKIP\nok 4 - todo one # TO"
		"DO\n"
		"# Subtest: suite\n    # Subtest: inner\n    not ok 1 - inner\n      ---\n"
		"      error: 'boom'\n      ...\n    1..1\nnot ok 5 - suite\n  ---\n"
		"  error: '1 subtest failed'\n  ...\n1..5\n# tests 5\n# suites 1\n# pass 1\n"
		"# fail 2\n# cancelled 1\n# skipped 1\n# todo 1\n# duration_ms 805.9\n",
		"{\"framework\":\"node:test\",\"passed\":1,\"failed\":3,\"skipped\":2,\"failures\":"
		"["
		"{\"name\":\"bad # one\",\"message\":\"Expected values to be strictly equal:\"},"
		"{\"name\":\"inner\",\"message\":\"boom\"}]}"},
	{"node:test as spec",
		"\u2714 good (2.47ms)\n\u2716 bad (6.78ms)\n  AssertionError: x\n\n\uFE63 skippy "
		"(0.3ms) # SKIP\n\u2139 tests 3\n\u2139 suites 0\n\u2139 pass 1\n\u2139 fail "
		"1\n\u2139 cancelled 0\n\u2139 skipped 1\n\u2139 todo 0\n\n\u2716 failing "
		"tests:\n\ntest at a.test.js:3:1\n\u2716 bad (one) (6.78ms)\n  AssertionError "
		"[ERR_ASSERTION]: 1 !== 2\n      at x\n",
		"{\"framework\":\"node:test\",\"passed\":1,\"failed\":1,\"skipped\":1,\"failures\":"
		"["
		"{\"name\":\"bad (one)\",\"message\":\"AssertionError [ERR_ASSERTION]: 1 !== "
		"2\"}]}"},
	{"pytest, coloured",
		"\x1b[1m===== test session starts =====\x1b[0m\ncollected 5 items\n\n"
		"test_a.py .Fsx\n\n=== FAILURES ===\nE  assert 1 == 2\n=== short test summary info "
		"===\n\x1b[31mFAILED\x1b[0m test_a.py::\x1b[1mtest_b\x1b[0m - assert 1 == 2\n"
		"ERROR test_c.py - ImportError: no\n"
		"\x1b[31m== \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m, 1 skipped, 1 "
		"xfailed, 3 warnings, 1 error\x1b[31m in 0.12s\x1b[0m\x1b[31m ==\x1b[0m\n",
		"{\"framework\":\"pytest\",\"passed\":2,\"failed\":2,\"skipped\":2,\"failures\":["
		"{\"name\":\"test_a.py::test_b\",\"message\":\"assert 1 == 2\"},"
		"{\"name\":\"test_c.py\",\"message\":\"ImportError: no\"}]}"},
	{"pytest -q", "..\n2 passed in 0.01s\n",
		"{\"framework\":\"pytest\",\"passed\":2,\"failed\":0,\"skipped\":0,\"failures\":[]"
		"}"},
	{"go",
		"{\"Action\":\"start\",\"Package\":\"p\"}\n"
		"{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n"
		"{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\"=== RUN  "
		" "
		"TestA\\n\"}\n"
		"{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\"    "
		"a_test.go:5: got 1\\n\"}\n"
		"{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestA\",\"Elapsed\":0}\n"
		"{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestB\",\"Elapsed\":0}\n"
		"{\"Action\":\"skip\",\"Package\":\"p\",\"Test\":\"TestC\",\"Elapsed\":0}\n"
		"not json\n{\"Action\":\"fail\",\"Package\":\"p\",\"Elapsed\":0.1}\n"
		"{\"Action\":\"output\",\"Package\":\"q\",\"Output\":\"FAIL\\tq [build "
		"failed]\\n\"}\n"
		"{\"Action\":\"fail\",\"Package\":\"q\",\"Elapsed\":0}\n",
		"{\"framework\":\"go\",\"passed\":1,\"failed\":2,\"skipped\":1,\"failures\":["
		"{\"name\":\"TestA\",\"message\":\"a_test.go:5: got 1\"},"
		"{\"name\":\"q\",\"message\":\"FAIL\\tq [build failed]\"}]}"},
	{"JUnit",
		"running <b>now</b> 1 < 2 'quoted\n<?xml version=\"1.0\"?>\n<testsuites>\n"
		"<testcase name=\"good\" time=\"0.02\" classname=\"test\"/>\n"
		"<testcase name='a &gt; \"b\"' classname=\"m.C\"><failure type=\"x\" "
		"message=\"1 &lt; 0 > -1\">\ntrace</failure></testcase>\n"
		"<testcase name=\"e\"><error><![CDATA[<testcase> in ]] text]]></error></testcase>\n"
		"<testcase name=\"s\"><skipped message=\"true\"/></testcase>\n"
		"<!-- <testcase name=\"not\"/> -->\n</testsuites>\n",
		"{\"framework\":\"junit\",\"passed\":1,\"failed\":2,\"skipped\":1,\"failures\":["
		"{\"name\":\"m.C.a > \\\"b\\\"\",\"message\":\"1 < 0 > -1\"},"
		"{\"name\":\"e\",\"message\":\"<testcase> in  text\"}]}"},
};

static const char *read_in(struct pool *pool, const char *output, size_t step)
{
	struct checks *c = checks_new();
	size_t n = strlen(output);
	const char *json;

	for (size_t at = 0; at < n; at += step)
		checks_feed(c, output + at, n - at < step ? n - at : step);
	json = checks_json(c, pool);
	checks_free(c);
	return json;
}

static void test_formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t step = 1; step < 5000; step = step * 3 + 1) {
			CLEANUP(pool) struct pool *pool = pool_new();
			const char *json = read_in(pool, cases[i].output, step);

			if (!json != !cases[i].json || (json && strcmp(json, cases[i].json)))
				fail_msg("%s in pieces of %zu:\n%s\nwanted\n%s", cases[i].what,
					step, json ? json : "nothing", cases[i].json);
		}
}

/* Endless lines, endless failures, NULs and half characters: bounded, and JSON all the same. */
static void test_bounds(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *o = NULL;
	struct checks *c = checks_new();
	char line[1000];
	const char *json, *name;
	struct err err = {0};
	int64_t failed;

	(void)state;
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 1000; i++)
		checks_feed(c, line, sizeof(line));
	checks_feed(c, "\n1..5000\n", 9);
	for (int i = 0; i < 5000; i++) {
		char result[400];
		int n = snprintf(result, sizeof(result),
			"not ok %d - \x1b]0;t\x07%0250d\xc3\n# why \xff\x01%c\n", i + 1, i, 0);

		checks_feed(c, result, (size_t)n);
	}
	json = checks_json(c, pool);
	checks_free(c);
	assert_non_null(json);
	assert_true(strlen(json) < CHECKS_FAILURES_MAX * 1000);
	assert_true(json_parse(json, strlen(json), &o, &err));
	assert_true(json_get_i64(o, "failed", &failed));
	assert_int_equal(failed, 5000);
	assert_int_equal(json_count(json_get(o, "failures")), CHECKS_FAILURES_MAX);
	assert_true(json_get_text(json_at(json_get(o, "failures"), 0), "name", &name));
	assert_true(strlen(name) <= CHECKS_NAME_MAX + 3);
	assert_null(strchr(name, 27));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
