/*
 * sql2c.awk: what it makes of blocks, and what it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <unistd.h>

#include "child.h"
#include "cleanup.h"

/* Runs the script over one file of this text; exit status, and its output in out. */
static int run(const char *text, char *out, size_t size)
{
	char path[] = "/tmp/asb-sql2c.XXXXXX";
	const char *const argv[] = {"/usr/bin/awk", "-f", "sql/sql2c.awk", path, NULL};
	CLEANUP(fd) int in = mkstemp(path);
	CLEANUP(fd) int from = -1;
	struct child_fd to = {.to = 1};
	struct child c = {.argv = argv, .fds = &to, .nfds = 1};
	struct err err = {0};
	int fds[2], status;
	ssize_t n;

	assert_true(in >= 0 && write(in, text, strlen(text)) == (ssize_t)strlen(text));
	assert_int_equal(pipe(fds), 0);
	from = fds[0];
	to.from = fds[1];
	assert_true(child_start(&c, &err));
	(void)close(fds[1]);
	assert_true(child_wait(&c, 10000, &status, &err));
	n = read(from, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	(void)unlink(path);
	return WEXITSTATUS(status);
}

static void test_blocks_become_rows(void **state)
{
	char out[4096];

	(void)state;
	assert_int_equal(run("-- about\n-- name: a_b\n-- retry\nSELECT $2::text, \"x\", "
			     "'\\'\n\tWHERE $1::int;\n"
			     "-- name: c\nSELECT 1;\n",
				 out, sizeof(out)),
		0);
	assert_non_null(strstr(out, "\tQ_A_B,\n\tQ_C,\n\tQ__COUNT"));
	assert_non_null(strstr(out,
		"\"SELECT $2::text, \\\"x\\\", '\\\\'\\n\"\n\t\t\"WHERE $1::int\\n\",\n\t\t2, 1}"));
	assert_non_null(strstr(out, "{\"c\",\n\t\t\"SELECT 1\\n\",\n\t\t0, 0}"));
}

static void test_what_is_refused(void **state)
{
	static const char *const texts[] = {
		"-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;\n",
		"SELECT 1;\n",
		"-- name: A-B\nSELECT 1;\n",
		"-- name: a\n-- name: b\nSELECT 1;\n",
	};
	char out[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(run(texts[i], out, sizeof(out)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_become_rows),
		cmocka_unit_test(test_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
