/*
 * What a patch changes, counted as it passes in any pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "patch_count.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *what, *patch;
	int files, added, removed;
} cases[] = {
	{"nothing", "", 0, 0, 0},
	{"a changed file",
		"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f()\n"
		" one\n-two\n+2\n three\n",
		1, 1, 1},
	{"a new and a removed one",
		"diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n"
		"@@ -0,0 +1,2 @@\n+a\n+b\ndiff --git a/o b/o\ndeleted file mode 100644\n"
		"index 1..0\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
		"\\ No newline at end of file\n",
		2, 2, 1},
	{"lines that look like headers",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,4 @@\n--- a/y\n+++ b/y\n"
		"+diff --git a/z b/z\n+@@ -1,9 +1,9 @@\n diff --git a/q b/q\n",
		1, 3, 1},
	{"a binary file",
		"diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 7\nOcmZQz@+-\n\n"
		"literal 0\nHcmV?d00001\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 "
		"@@\n-a\n+b\n",
		2, 1, 1},
	{"a mode alone", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", 1, 0, 0},
	{"two hunks, and an empty line of context",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n\n-b\n@@ -9,1 +8,2 @@\n "
		"z\n+y\n",
		1, 1, 1},
	{"numbers that no file has",
		"diff --git a/x b/x\n@@ -1,99999999999999999999 +1,5 @@\n+a\n-b\n", 1, 1, 1},
};

static void check(size_t i, size_t step, const char *patch, size_t n)
{
	struct patch_count c = {0};

	for (size_t at = 0; at < n; at += step)
		patch_count_add(&c, patch + at, n - at < step ? n - at : step);
	if (c.files != cases[i].files || c.added != cases[i].added || c.removed != cases[i].removed)
		fail_msg("%s, by %zu: %ld files +%ld -%ld", cases[i].what, step, (long)c.files,
			(long)c.added, (long)c.removed);
}

static void test_counts(void **state)
{
	static const size_t steps[] = {1, 2, 3, 7, 64, 100000};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t k = 0; k < COUNT(steps); k++)
			check(i, steps[k], cases[i].patch, strlen(cases[i].patch));
}

/* A line is longer than what is looked at of it, and ends nowhere. */
static void test_long_lines(void **state)
{
	struct patch_count c = {0};
	char x[1000];

	(void)state;
	memset(x, 'x', sizeof(x));
	patch_count_add(&c, "diff --git ", 11);
	for (int i = 0; i < 1000; i++)
		patch_count_add(&c, x, sizeof(x));
	patch_count_add(&c, "\n@@ -0,0 +1 @@\n+", 16);
	for (int i = 0; i < 1000; i++)
		patch_count_add(&c, x, sizeof(x));
	assert_int_equal(c.added, 0);
	patch_count_add(&c, "\n", 1);
	assert_int_equal(c.files, 1);
	assert_int_equal(c.added, 1);
	assert_int_equal(c.removed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
