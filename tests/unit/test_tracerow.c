/*
 * Rows of a trace on a terminal: what tools put out is shortened and nothing of it can steer the
 * terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "tracerow.h"

static void rows(void **state)
{
	static const struct {
		const char *row, *text;
	} cases[] = {
		{"{\"kind\":\"say\",\"ts\":\"2026-01-02T03:04:05.678Z\",\"text\":\"a\\nb\","
		 "\"data\":{}}",
			"03:04:05 say      a\n03:04:05 say      b\n"},
		{"{\"kind\":\"tool\",\"ref\":\"t\",\"text\":\"Bash: "
		 "ls\",\"data\":{\"parent\":\"p\"}}",
			" tool       | Bash: ls\n"},
		{"{\"kind\":\"result\",\"ref\":\"t\",\"text\":\"ok\",\"data\":{\"is_error\":false,"
		 "\"duration_ms\":1260}}",
			" result   (1.2 s) ok\n"},
		{"{\"kind\":\"result\",\"ref\":\"t\",\"text\":\"Exit code "
		 "2\",\"data\":{\"is_error\":true,"
		 "\"exit_code\":2,\"duration_ms\":30}}",
			" result   (exit 2, 0.0 s) Exit code 2\n"},
		{"{\"kind\":\"result\",\"ref\":\"t\",\"text\":\"no\",\"data\":{\"is_error\":true}}",
			" result   (failed) no\n"},
		{"{\"kind\":\"result\",\"text\":\"exit 0\",\"data\":{\"exit_code\":0,\"ms\":7}}",
			" result   exit 0\n"},
		{"{\"kind\":\"result\",\"ref\":\"t\",\"text\":"
		 "\"1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n\"}",
			" result   1\n result   2\n result   3\n result   4\n result   5\n result  "
			" 6\n"
			" result   7\n result   8\n result   ... 2 lines more\n"},
		{"{\"kind\":\"say\",\"text\":\"\\u001b[2Jgone\"}", " say      gone\n"},
		{"{}", "          \n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json) struct json_object *row = NULL;
		CLEANUP(free) char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);
		struct err err;

		assert_non_null(out);
		assert_true(json_parse(cases[i].row, strlen(cases[i].row), &row, &err));
		tracerow_print(out, row);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
