/*
 * Two texts as hunks: as `diff -u` has them, and applied to the first they give the second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "textdiff.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *a, *b, *hunks;
} cases[] = {
	{"", "", ""},
	{"a\n", "a\n", ""},
	{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
	{"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
	{"a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
	{"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
	{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
		"@@ -7,3 +7,4 @@\n 7\n 8\n 9\n+10\n"},
	{"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n",
		"@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n"},
	{"x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
		"@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n"},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(buf) struct buf out = BUF_INIT(4096);

		assert_true(textdiff(
			cases[i].a, strlen(cases[i].a), cases[i].b, strlen(cases[i].b), &out));
		assert_string_equal(out.data, cases[i].hunks);
	}
}

static const char *line_after(const char *s)
{
	const char *end = strchr(s, '\n');

	assert_non_null(end);
	return end + 1;
}

/* Applies hunks to a text whose lines all end. */
static void apply(const char *a, const char *hunks, struct buf *out)
{
	size_t at = 1;

	while (*hunks) {
		unsigned long from = strtoul(hunks + 4, NULL, 10);

		/* of nothing, the line before it is named */
		if (strtoul(strchr(hunks, ',') + 1, NULL, 10) == 0)
			from++;
		for (; at < from; at++) {
			(void)buf_add(out, a, (size_t)(line_after(a) - a));
			a = line_after(a);
		}
		hunks = line_after(hunks);
		for (; *hunks && *hunks != '@'; hunks = line_after(hunks)) {
			if (*hunks != '-')
				(void)buf_add(
					out, hunks + 1, (size_t)(line_after(hunks) - hunks) - 1);
			if (*hunks == '+')
				continue;
			assert_memory_equal(a, hunks + 1, (size_t)(line_after(a) - a));
			a = line_after(a);
			at++;
		}
	}
	(void)buf_adds(out, a);
}

/* Texts of few different lines, more and more unlike each other, past the limit of edits too. */
static void test_applies(void **state)
{
	unsigned seed = 12345;

	(void)state;
	for (int round = 0; round < 200; round++) {
		CLEANUP(buf) struct buf a = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf out = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf got = BUF_INIT(1 << 20);
		unsigned lines = round < 190 ? 40 : 3000;

		for (unsigned i = 0; i < lines; i++) {
			seed = seed * 1103515245 + 12345;
			if (seed >> 16 & 7)
				(void)buf_addf(&a, "%u\n", seed >> 20 & 15);
			seed = seed * 1103515245 + 12345;
			if ((seed >> 16) % 200 < (unsigned)round)
				(void)buf_addf(&b, "%u\n", seed >> 20 & 15);
			else
				(void)buf_addf(&b, "%s", a.len ? strrchr(a.data, '\n') + 1 : "");
		}
		assert_true(textdiff(a.data, a.len, b.data, b.len, &out));
		apply(a.data, out.data, &got);
		assert_string_equal(got.data, b.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_applies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
