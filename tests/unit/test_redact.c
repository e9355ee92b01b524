/*
 * redact.c: known values and shapes are masked, plain text is not, and where the input is cut
 * makes no difference: every text goes through whole, byte by byte, and in two pieces at every cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "redact.h"

#define A36 "abcdefghijklmnopqrstuvwxyz0123456789"

static const struct {
	const char *in, *out;
} cases[] = {
	{"nothing here\n", "nothing here\n"},
	{"x hunter2hunter2 y", "x [redacted] y"},
	{"hunter2hunter2hunter2hunter2", "[redacted][redacted]"},
	{"hunter2hunter", "hunter2hunter"},
	{"a longer-secret-that-has-a-tail b", "a [redacted tail] b"},
	{"two\nlines-of-secret\n", "[redacted]\n"},
	{"token ghp_" A36 "\n", "token [redacted 6789]\n"},
	{"ghp_short\n", "ghp_short\n"},
	{"task-abcdefghijklmnopqrstuvwxyz", "task-abcdefghijklmnopqrstuvwxyz"},
	{"key=sk-ant-" A36 ";", "key=[redacted 6789];"},
	{"AKIAIOSFODNN7EXAMPLE", "[redacted MPLE]"},
	{"Authorization: Bearer " A36, "Authorization: Bearer [redacted 6789]"},
	{"https://x-access-token:s3cr3tpw@host/x", "https://x-access-token:[redacted]@host/x"},
	{"Bearer of bad news", "Bearer of bad news"},
	{"glpat-1234567890abcdefghij glpat-", "[redacted ghij] glpat-"},
	{"", ""},
};

static struct redactor *make(void)
{
	struct redactor *r = redactor_new();

	redactor_add(r, "hunter2hunter2");
	redactor_add(r, "short");
	redactor_add(r, "longer-secret-that-has-a-tail");
	redactor_add(r, "two\nlines-of-secret");
	return r;
}

static void check(struct redactor *r, const struct buf *out, size_t i)
{
	assert_int_equal(redact_held(r), 0);
	if (strcmp(out->data, cases[i].out))
		fail_msg("%s -> %s, not %s", cases[i].in, out->data, cases[i].out);
}

static void test_every_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].in);

		for (size_t cut = 0; cut <= n; cut++) {
			CLEANUP(redactor) struct redactor *r = make();
			CLEANUP(buf) struct buf out = BUF_INIT(10000);

			redact(r, cases[i].in, cut, &out);
			redact(r, cases[i].in + cut, n - cut, &out);
			redact_end(r, &out);
			check(r, &out, i);
		}
	}
}

static void test_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(redactor) struct redactor *r = make();
		CLEANUP(buf) struct buf out = BUF_INIT(10000);

		for (const char *s = cases[i].in; *s; s++)
			redact(r, s, 1, &out);
		redact_end(r, &out);
		check(r, &out, i);
	}
}

/* A run without end is masked without being held: memory stays bounded. */
static void test_long_run(void **state)
{
	CLEANUP(redactor) struct redactor *r = make();
	CLEANUP(buf) struct buf out = BUF_INIT(10000);

	(void)state;
	redact(r, "ghp_", 4, &out);
	for (int i = 0; i < 100000; i++) {
		redact(r, "a", 1, &out);
		assert_true(redact_held(r) < 5000);
	}
	redact(r, " end", 4, &out);
	redact_end(r, &out);
	assert_string_equal(out.data, "[redacted aaaa] end");
}

static void test_plain_is_not_held(void **state)
{
	CLEANUP(redactor) struct redactor *r = make();
	CLEANUP(buf) struct buf out = BUF_INIT(10000);

	(void)state;
	redact(r, "a line\n", 7, &out);
	assert_int_equal(redact_held(r), 0);
	redact(r, "gh", 2, &out);
	assert_int_equal(redact_held(r), 2);
	redact(r, "i\n", 2, &out);
	assert_int_equal(redact_held(r), 0);
	assert_string_equal(out.data, "a line\nghi\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_plain_is_not_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
