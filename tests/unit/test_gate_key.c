/*
 * The model's key is covered in what comes down, whatever the key is and wherever an answer is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "gate.h"

/* What a box is shown of the answer, which comes in pieces of this size. */
static void shown(const char *key, const char *answer, size_t piece, struct buf *all)
{
	struct model_call m = {.key = key, .key_n = strlen(key)};
	CLEANUP(buf) struct buf out = BUF_INIT(4096);

	buf_init(&m.held, MODEL_KEY_MAX);
	for (size_t at = 0, n; answer[at]; at += n) {
		n = strnlen(answer + at, piece);
		buf_reset(&out);
		model_call_body(&m, answer + at, n, &out);
		assert_true(buf_add(all, out.data, out.len));
	}
	buf_reset(&out);
	assert_null(model_call_end(&m, &out));
	assert_true(buf_add(all, out.data, out.len));
	buf_done(&m.held);
}

static void test_key_is_covered(void **state)
{
	static const struct {
		const char *key, *answer, *want;
	} rows[] = {
		{"sk-ant", "no key: sk-ant! sk-an", "no key: ******! sk-an"},
		{"sk-ant", "sk-antsk-ant", "************"},
		{"aa", "aaaaa.", "****a."},
		/* one that its own cover looks like */
		{"*", "2 * 3 ** 4", "2 * 3 ** 4"},
		{"***", "a **** b", "a **** b"},
	};

	(void)state;
	(void)alarm(20); /* bounds a failure alone */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 20; piece++) {
			CLEANUP(buf) struct buf all = BUF_INIT(4096);

			shown(rows[i].key, rows[i].answer, piece, &all);
			assert_string_equal(all.data, rows[i].want);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_key_is_covered)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
