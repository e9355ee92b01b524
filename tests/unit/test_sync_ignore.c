/*
 * The patterns of .agentsandboxignore: a table of what each leaves out, the same table put to git,
 * and lines that mean nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "pool.h"
#include "sync_ignore.h"
#include "text.h"

static const struct {
	const char *patterns;
	const char *path; /* a slash at its end: a folder */
	int line;	  /* 0: kept */
} cases[] = {
	{"", "a", 0},
	{"# a\n\n  \n", "# a", 0},
	{"a", "a", 1},
	{"a", "x/a", 1},
	{"a", "ab", 0},
	{"a", "A", 0},
	{"x\na", "b/a/", 2},
	{"/a", "a", 1},
	{"/a", "x/a", 0},
	{"a/b", "a/b", 1},
	{"a/b", "x/a/b", 0},
	{"a/", "a", 0},
	{"a/", "a/", 1},
	{"a/", "x/a/", 1},
	{"/a/b/", "a/b/", 1},
	{"*.o", "x/y.o", 1},
	{"*.o", ".o", 1},
	{"*.o", "y.oo", 0},
	{"a*b*c", "aXbbXc", 1},
	{"a*b*c", "aXcXb", 0},
	{"a**c", "axxc", 1},
	{"/*/x", "a/x", 1},
	{"/*/x", "a/b/x", 0},
	{"a?c", "abc", 1},
	{"a?c", "ac", 0},
	{"x/?", "x/y/z", 0},
	{"[a-c]x", "bx", 1},
	{"[a-c]x", "dx", 0},
	{"[!a-c]x", "dx", 1},
	{"[^a-c]x", "ax", 0},
	{"[]x]", "]", 1},
	{"[!]x]", "]", 0},
	{"[a-]", "-", 1},
	{"[\\]]", "]", 1},
	{"**/a", "a", 1},
	{"**/a", "x/y/a", 1},
	{"**/a/b", "x/a/b", 1},
	{"a/**", "a/x/y", 1},
	{"a/**", "a/", 0},
	{"a/**/b", "a/b", 1},
	{"a/**/b", "a/x/y/b", 1},
	{"a/**/b", "x/a/b", 0},
	{"a/**/b/**/c", "a/b/x/b/y/c", 1},
	{"a/**/b/**/c", "a/b/x/y", 0},
	{"**", "a/b", 1},
	{"**/", "a", 0},
	{"**/", "a/", 1},
	{"*.log\n!keep.log", "keep.log", 0},
	{"*.log\n!keep.log", "b.log", 1},
	{"!a\na", "a", 2},
	{"\\!a", "!a", 1},
	{"\\#a", "#a", 1},
	{"a\\*", "a*", 1},
	{"a\\*", "ab", 0},
	{"a  ", "a", 1},
	{"a\\ ", "a ", 1},
	{"a b", "a b", 1},
	{"a\r\nb\r\n", "b", 2},
	{"\xef\xbb\xbf"
	 "a",
		"a", 1},
	{"\xc3\xa4*", "\xc3\xa4x", 1},
	{"*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
	{"**/a/**/a/**/a/**/b", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", 0},
};

/* Without the slash that says folder. */
static const char *bare(struct pool *pool, const char *path, bool *is_folder)
{
	size_t n = strlen(path);

	*is_folder = path[n - 1] == '/';
	return pool_memdup(pool, path, n - *is_folder);
}

static void test_patterns(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ignore *ignore;
		struct err err;
		bool is_folder;
		const char *path = bare(pool, cases[i].path, &is_folder);

		if (!ignore_parse(pool, cases[i].patterns, &ignore, &err))
			fail_msg("%s: %s", cases[i].patterns, err.msg);
		if (ignore_line(ignore, path, is_folder) != cases[i].line)
			fail_msg("%s on %s: line %d", cases[i].patterns, cases[i].path,
				ignore_line(ignore, path, is_folder));
	}
}

static void run(const char *dir, const char *const *argv, int *code)
{
	static const char *const env[] = {
		"PATH=/usr/bin:/bin", "GIT_CONFIG_GLOBAL=/dev/null", NULL};
	struct child c = {.argv = argv, .env = env, .cwd = dir};
	struct err err;
	int status;

	assert_true(child_start(&c, &err));
	assert_true(child_wait(&c, 30000, &status, &err));
	*code = status >> 8;
}
#define RUN(dir, code, ...) run(dir, (const char *const[]){"/usr/bin/env", __VA_ARGS__, NULL}, code)

/* The line for the path or for the first folder above it that one leaves out. */
static int walk_line(struct pool *pool, const char *patterns, const char *path, bool is_folder)
{
	struct ignore *ignore;
	struct err err;

	assert_true(ignore_parse(pool, patterns, &ignore, &err));
	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		int line = ignore_line(ignore, pool_memdup(pool, path, slash - path), true);

		if (line)
			return line;
	}
	return ignore_line(ignore, path, is_folder);
}

/* What is said of a .gitignore with these lines: git's own word, so that "like git" is no claim. */
static void test_like_git(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	char dir[] = "/tmp/asb-ignore.XXXXXX";
	int code;

	(void)state;
	assert_non_null(mkdtemp(dir));
	RUN(dir, &code, "git", "init", "-q", ".");
	assert_int_equal(code, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *file = pool_printf(pool, "%s/.git/info/exclude", dir);
		CLEANUP(file) FILE *f = fopen(file, "we");
		bool is_folder;
		const char *path = bare(pool, cases[i].path, &is_folder);

		assert_non_null(f);
		(void)fputs(cases[i].patterns, f);
		assert_int_equal(fflush(f), 0);
		if (is_folder)
			RUN(dir, &code, "mkdir", "-p", path);
		/* 0: left out; 1: not */
		RUN(dir, &code, "git", "check-ignore", "-q", "--no-index", "--", path);
		if (code != (walk_line(pool, cases[i].patterns, path, is_folder) == 0))
			fail_msg("%s on %s: git says %d", cases[i].patterns, cases[i].path, code);
		if (is_folder)
			RUN(dir, &code, "rm", "-r", path);
	}
	RUN("/", &code, "rm", "-rf", dir);
}

static const struct {
	const char *patterns, *says;
} faults[] = {
	{"a\n[b", "line 2"},
	{"[a/b]", "not closed"},
	{"[[:alpha:]]", "named class"},
	{"a\\", "nothing to escape"},
	{"a\\/b", "nothing to escape"},
	{"a//b", "empty part"},
	{"//b", "empty part"},
	{"a//", "empty part"},
	{"/", "names nothing"},
	{"!", "names nothing"},
	{"\xff", "UTF-8"},
};

static void test_faults(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct ignore *ignore;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (ignore_parse(pool, faults[i].patterns, &ignore, &err))
			fail_msg("%s was taken", faults[i].patterns);
		assert_int_equal(err.code, ERR_INVALID);
		if (!strstr(err.msg, faults[i].says))
			fail_msg("%s: %s", faults[i].patterns, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_like_git),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
