/*
 * The small parts of lib/base that everything stands on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <sys/wait.h>

#include <cmocka.h>
#include <errno.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "encode.h"
#include "err.h"
#include "loop.h"
#include "pool.h"
#include "random.h"
#include "text.h"

static void errors_carry_code_chain_and_advice(void **state)
{
	struct err err;

	(void)state;
	assert_false(err_set(&err, ERR_NOT_FOUND, "no run %s", "run-x"));
	assert_false(err_wrap(&err, "resume"));
	assert_false(err_advise(&err, "gone", "delegate again"));
	assert_string_equal(err.msg, "resume: no run run-x");
	assert_string_equal(err.reason, "gone");
	assert_string_equal(err.fix, "delegate again");
	errno = ENOENT;
	assert_false(err_errno(&err, ERR_INTERNAL, "open"));
	assert_string_equal(err.msg, "open: No such file or directory");
	assert_string_equal(err.fix, "");
	for (int i = 0; i < ERR_CODE__COUNT; i++) {
		assert_non_null(err_info((enum err_code)i)->name);
		assert_true(i == ERR_NONE || err_info((enum err_code)i)->fix[0] != '\0');
	}
	assert_false(err_info(ERR_INTERNAL)->visible);
}

static void buffers_keep_their_maximum(void **state)
{
	CLEANUP(buf) struct buf b = BUF_INIT(8);

	(void)state;
	assert_true(buf_adds(&b, "12345"));
	assert_false(buf_adds(&b, "6789"));
	assert_true(b.failed);
	assert_string_equal(b.data, "12345");
	buf_shift(&b, 2);
	assert_string_equal(b.data, "345");
	assert_true(buf_addf(&b, "%d", 42));
	assert_string_equal(b.data, "34542");
	/* the room that was taken is larger than the maximum; what is too long leaves no trace */
	assert_false(buf_addf(&b, "%d", 6789));
	assert_true(b.failed);
	assert_string_equal(b.data, "34542");
	assert_true(buf_addf(&b, "%d", 678));
	assert_string_equal(b.data, "34542678");
	buf_reset(&b);
	assert_false(b.failed);
	assert_string_equal(b.data, "");
}

/* Around each size at which memory is taken anew. */
static void buffers_are_printed_into(void **state)
{
	CLEANUP(buf) struct buf want = BUF_INIT(1000);

	(void)state;
	for (int n = 0; n < 200; n++) {
		CLEANUP(buf) struct buf b = BUF_INIT(1000);

		assert_true(buf_addf(&b, "%s", want.data));
		assert_true(buf_addf(&b, "%s", want.data));
		assert_int_equal(b.len, 2 * n);
		assert_memory_equal(b.data, want.data, n);
		assert_string_equal(b.data + n, want.data);
		assert_true(buf_addc(&want, (char)('a' + n % 26)));
	}
}

static int deferred;

static void defer_count(void *arg)
{
	deferred = deferred * 10 + *(int *)arg;
}

static void pools_run_what_was_deferred_newest_first(void **state)
{
	struct pool *pool = pool_new();
	int one = 1, two = 2;

	(void)state;
	pool_defer(pool, defer_count, &one);
	assert_string_equal(pool_printf(pool, "%s-%d", "a", 7), "a-7");
	pool_defer(pool, defer_count, &two);
	pool_free(pool);
	assert_int_equal(deferred, 21);
}

static void numbers_take_the_whole_string(void **state)
{
	int64_t v = -7;

	(void)state;
	assert_true(text_to_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v));
	assert_true(v == INT64_MIN);
	assert_true(text_to_i64("12", 0, 12, &v));
	assert_false(text_to_i64("13", 0, 12, &v));
	assert_int_equal(v, 12);
	static const char *const bad[] = {
		"", "-", "+1", " 1", "1 ", "1x", "0x1", "99999999999999999999"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(text_to_i64(bad[i], INT64_MIN, INT64_MAX, &v));
}

static void utf8_is_checked_and_made_safe(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain\n\ttext", "plain\n\ttext"},
		{"a\x1b[31mred\x1b[0m", "ared"},
		{"a\x1b]8;;http://x\x07link\x1b]8;;\x1b\\b", "alinkb"},
		{"cr\rover", "crover"},
		/* NOLINTNEXTLINE(misc-misleading-bidirectional): it is what is tested */
		{"\xe2\x80\xae"
		 "abc",
			"abc"},
		{"bad\xff"
		 "byte",
			"bad\xef\xbf\xbd"
			"byte"},
		{"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80"},
		{"\xc2\x9b"
		 "31m",
			"31m"},
		{"cut\x1b[", "cut"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(buf) struct buf b = BUF_INIT(256);

		text_add_sane(&b, cases[i].in, strlen(cases[i].in));
		assert_string_equal(b.data, cases[i].out);
	}
	assert_true(text_is_utf8("\xed\x9f\xbf", 3));
	assert_false(text_is_utf8("\xed\xa0\x80", 3)); /* a surrogate */
	assert_false(text_is_utf8("\xc0\xaf", 2));     /* overlong */
	assert_false(text_is_utf8("\xe0\x80\xaf", 3));
	assert_false(text_is_utf8("\xf4\x90\x80\x80", 4));
	assert_false(text_is_utf8("a\0b", 3));
}

static void names_times_and_ids(void **state)
{
	char t[TIME_TEXT_SIZE], id[ID_SIZE], id2[ID_SIZE];

	(void)state;
	assert_true(text_is_name("a.B_c-9"));
	assert_false(text_is_name(".."));
	assert_false(text_is_name("a/b"));
	assert_false(text_is_name(""));
	time_text(1767323045678, t);
	assert_string_equal(t, "2026-01-02T03:04:05.678Z");
	random_id(id, sizeof(id), "run-", 16);
	random_id(id2, sizeof(id2), "run-", 16);
	assert_int_equal(strlen(id), 20);
	assert_string_not_equal(id, id2);
}

static void encodings_go_there_and_back(void **state)
{
	CLEANUP(buf) struct buf b = BUF_INIT(256);
	CLEANUP(buf) struct buf back = BUF_INIT(256);
	char url[] = "a%2Fb+c", bad[] = "%4", nul[] = "%00";
	unsigned char digest[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	(void)state;
	base64_add(&b, "hello", 5);
	assert_string_equal(b.data, "aGVsbG8=");
	assert_true(base64_decode(b.data, b.len, &back));
	assert_string_equal(back.data, "hello");
	assert_true(url_decode(url, true));
	assert_string_equal(url, "a/b c");
	assert_false(url_decode(bad, false));
	assert_false(url_decode(nul, false));
	sha256("abc", 3, digest);
	hex_encode(digest, sizeof(digest), hex);
	assert_string_equal(
		hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void programs_start_wait_and_time_out(void **state)
{
	static const char *const env[] = {"A=b", NULL};
	static const char *const argv[] = {
		"/bin/sh", "-c", "test \"$A\" = b && test -z \"$HOME\" && exit 7", NULL};
	static const char *const slow[] = {"/bin/sleep", "30", NULL};
	static const char *const none[] = {"/no/such/program", NULL};
	struct child c = {.argv = argv, .env = env};
	struct err err;
	int status;

	(void)state;
	assert_true(child_start(&c, &err));
	assert_true(child_wait(&c, 5000, &status, &err));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	c = (struct child){.argv = none};
	assert_false(child_start(&c, &err));
	assert_non_null(strstr(err.msg, "No such file"));
	c = (struct child){.argv = slow};
	assert_true(child_start(&c, &err));
	assert_false(child_wait(&c, 20, &status, &err));
	assert_int_equal(err.code, ERR_TIMEOUT);
}

struct ticks {
	int n;
	struct watch *self, *other;
};

static void tick(struct loop *loop, uint32_t events, void *arg)
{
	struct ticks *t = arg;

	(void)events;
	if (++t->n == 3) {
		watch_remove(t->self);
		watch_remove(t->other);
		loop_stop(loop);
	}
}

static void timers_repeat_and_may_remove_themselves(void **state)
{
	CLEANUP(loop) struct loop *loop = loop_new();
	struct ticks t = {0}, never = {0};

	(void)state;
	t.self = loop_add_timer(loop, 1, 1, tick, &t);
	t.other = loop_add_timer(loop, 10000, 0, tick, &never);
	loop_run(loop);
	assert_int_equal(t.n, 3);
	assert_int_equal(never.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_carry_code_chain_and_advice),
		cmocka_unit_test(buffers_keep_their_maximum),
		cmocka_unit_test(buffers_are_printed_into),
		cmocka_unit_test(pools_run_what_was_deferred_newest_first),
		cmocka_unit_test(numbers_take_the_whole_string),
		cmocka_unit_test(utf8_is_checked_and_made_safe),
		cmocka_unit_test(names_times_and_ids),
		cmocka_unit_test(encodings_go_there_and_back),
		cmocka_unit_test(programs_start_wait_and_time_out),
		cmocka_unit_test(timers_repeat_and_may_remove_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
