/*
 * The frame decoder and writers: every rule broken once, every split of good bytes, and that no
 * memory is taken ahead of bytes.
 */
#include "wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>

static void feed(struct wire_decoder *d, const void *p, size_t n)
{
	memcpy(wire_decoder_room(d, n), p, n);
	wire_decoder_grew(d, n);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(wire_type_name(WIRE_HELLO), "HELLO");
	assert_string_equal(wire_type_name(WIRE_BYE), "BYE");
	assert_string_equal(wire_type_name(0), "?");
	assert_string_equal(wire_type_name(WIRE_TYPE__COUNT), "?");
	assert_string_equal(wire_type_name(~0u), "?");
	for (unsigned t = 1; t < WIRE_TYPE__COUNT; t++)
		assert_non_null(wire_type_name(t));
}

static void test_round_trip_at_every_split(void **state)
{
	struct buf out = BUF_INIT(1 << 20);

	(void)state;
	assert_true(wire_add(&out, WIRE_PING, 7, "abc", 3));
	assert_true(wire_add(&out, WIRE_EOF, 0xffffffffu, NULL, 0));
	assert_true(wire_add_output(&out, WIRE_STDERR, 9, UINT64_C(0x1122334455667788), "xy", 2));
	assert_true(wire_add_output(&out, WIRE_STDOUT, 9, 1, NULL, 0));
	assert_true(wire_add_credit(&out, 5, UINT64_C(1) << 40));
	for (size_t split = 0; split <= out.len; split++) {
		struct wire_decoder d;
		struct wire_frame f[6] = {0};
		struct err err = {0};
		uint64_t v = 0;
		size_t n = 0;
		bool got = true;

		wire_decoder_init(&d);
		feed(&d, out.data, split);
		while (got) {
			assert_true(wire_decode(&d, &f[n], &got, &err));
			n += got;
		}
		feed(&d, out.data + split, out.len - split);
		for (got = true; got;) {
			assert_true(wire_decode(&d, &f[n], &got, &err));
			if (got && n == 0) {
				assert_int_equal(f[0].length, 3);
				assert_memory_equal(f[0].payload, "abc", 3);
			}
			if (got && n == 2) {
				assert_true(wire_u64(&f[2], &v));
				assert_true(v == UINT64_C(0x1122334455667788));
				assert_memory_equal(f[2].payload + WIRE_OFFSET, "xy", 2);
			}
			n += got;
		}
		assert_int_equal(n, 5);
		assert_int_equal(f[0].type, WIRE_PING);
		assert_int_equal(f[1].type, WIRE_EOF);
		assert_true(f[1].stream == 0xffffffffu);
		assert_int_equal(f[1].length, 0);
		assert_int_equal(f[3].length, WIRE_OFFSET);
		assert_int_equal(f[4].type, WIRE_CREDIT);
		wire_decoder_done(&d);
	}
	buf_done(&out);
}

static void test_broken_rules(void **state)
{
	static const struct {
		unsigned char head[WIRE_HEADER];
		const char *says; /* NULL: it is fine so far */
	} rows[] = {
		{{1, 0, 1, 0, WIRE_PING}, "payload too long"},
		{{0xff, 0xff, 0xff, 0xff, WIRE_PING}, "payload too long"},
		{{0, 0, 0, 0x80, WIRE_PING}, "payload too long"},
		{{0, 0, 1, 0, WIRE_PING}, NULL},
		{{0, 0, 0, 0, 0}, "no such type"},
		{{0, 0, 0, 0, WIRE_TYPE__COUNT}, "no such type"},
		{{0, 0, 0, 0, 0xff}, "no such type"},
		{{0, 0, 0, 0, WIRE_BYE, 1}, "flags are set"},
		{{0, 0, 0, 0, WIRE_BYE, 0, 1}, "flags are set"},
		{{0, 0, 0, 0, WIRE_BYE, 0, 0, 1}, "flags are set"},
		{{0, 0, 0, 0, WIRE_BYE}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_decoder d;
		struct wire_frame f;
		struct err err = {0};
		bool got;

		wire_decoder_init(&d);
		/* nothing is said before the header is whole */
		feed(&d, rows[i].head, WIRE_HEADER - 1);
		assert_true(wire_decode(&d, &f, &got, &err));
		assert_false(got);
		feed(&d, rows[i].head + WIRE_HEADER - 1, 1);
		if (rows[i].says) {
			assert_false(wire_decode(&d, &f, &got, &err));
			assert_false(got);
			assert_int_equal(err.code, ERR_UPSTREAM);
			assert_string_equal(err.reason, "protocol");
			assert_non_null(strstr(err.msg, rows[i].says));
		} else {
			assert_true(wire_decode(&d, &f, &got, &err));
		}
		/* a length field costs nothing until bytes come */
		assert_true(d.in.cap <= 256);
		wire_decoder_done(&d);
	}
}

static void test_writers_refuse(void **state)
{
	static char big[WIRE_PAYLOAD_MAX + 1];
	struct buf out = BUF_INIT(2 * WIRE_PAYLOAD_MAX), tiny = BUF_INIT(WIRE_HEADER + 7);
	struct wire_frame f = {.length = 7, .payload = (const unsigned char *)big};
	uint64_t v = 3;

	(void)state;
	assert_false(wire_add(&out, WIRE_DATA, 1, big, WIRE_PAYLOAD_MAX + 1));
	assert_true(wire_add(&out, WIRE_DATA, 1, big, WIRE_PAYLOAD_MAX));
	assert_false(wire_add_output(&out, WIRE_STDOUT, 1, 0, big, WIRE_PAYLOAD_MAX - 7));
	assert_false(wire_add_output(&out, WIRE_STDOUT, 1, 0, big, SIZE_MAX));
	assert_int_equal(out.len, WIRE_HEADER + WIRE_PAYLOAD_MAX);
	assert_false(wire_add_credit(&tiny, 1, 1));
	assert_true(tiny.failed);
	assert_int_equal(tiny.len, 0);
	assert_false(wire_u64(&f, &v));
	assert_true(v == 3);
	buf_done(&out);
	buf_done(&tiny);
}

static sigjmp_buf aborted;

static void on_abort(int signo)
{
	siglongjmp(aborted, signo);
}

static void test_reading_without_decoding_aborts(void **state)
{
	struct wire_decoder d;
	void (*before)(int) = signal(SIGABRT, on_abort);

	(void)state;
	wire_decoder_init(&d);
	feed(&d, "x", 1);
	if (sigsetjmp(aborted, 1) == 0) {
		(void)wire_decoder_room(&d, 1u << 30);
		fail_msg("room for more than a decoder may hold");
	}
	(void)signal(SIGABRT, before);
	assert_int_equal(d.in.len, 1);
	wire_decoder_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_round_trip_at_every_split),
		cmocka_unit_test(test_broken_rules),
		cmocka_unit_test(test_writers_refuse),
		cmocka_unit_test(test_reading_without_decoding_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
