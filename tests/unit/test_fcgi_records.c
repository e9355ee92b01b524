/*
 * live_records.c: content of every size comes out of the records whole and in order, no record is
 * longer than it may be, and none is an empty STDOUT before the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "live_records.h"

#define TOP (1 << 20)

/* Takes the records apart into content; returns how many there were. */
static int take_apart(const struct buf *b, int id, struct buf *content)
{
	int n = 0;

	for (size_t at = 0; at < b->len; n++) {
		const unsigned char *r = (const unsigned char *)b->data + at;
		size_t size;

		assert_true(b->len - at >= RECORD_HEADER_SIZE);
		size = (size_t)r[4] << 8 | r[5];
		assert_int_equal(r[0], 1);
		assert_int_equal(r[1], 6);
		assert_int_equal(r[2] << 8 | r[3], id);
		assert_int_equal(r[6], 0);
		assert_true(size > 0 && size <= RECORD_CONTENT_MAX);
		assert_true(b->len - at >= RECORD_HEADER_SIZE + size);
		assert_true(buf_add(content, r + RECORD_HEADER_SIZE, size));
		at += RECORD_HEADER_SIZE + size;
	}
	return n;
}

static void test_content_comes_out_whole(void **state)
{
	static const size_t sizes[] = {
		0, 1, 7, 8, 65527, 65528, 65529, 131055, 131056, 131057, 500001};
	static char data[500001];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 31 + i / 251);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CLEANUP(buf) struct buf b = BUF_INIT(TOP), content = BUF_INIT(TOP);
		int n;

		assert_true(records_add_stdout(&b, 258, data, sizes[i]));
		assert_int_equal(b.len, records_size(sizes[i]));
		n = take_apart(&b, 258, &content);
		assert_int_equal(n, (sizes[i] + RECORD_CONTENT_MAX - 1) / RECORD_CONTENT_MAX);
		assert_int_equal(content.len, sizes[i]);
		assert_memory_equal(content.data, data, sizes[i]);
	}
}

static void test_end(void **state)
{
	static const unsigned char want[] = {
		1, 6, 0, 1, 0, 0, 0, 0, 1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	CLEANUP(buf) struct buf b = BUF_INIT(TOP);

	(void)state;
	assert_true(records_add_end(&b, 1));
	assert_int_equal(b.len, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
}

static void test_all_or_nothing(void **state)
{
	CLEANUP(buf) struct buf b = BUF_INIT(100);
	char data[100] = {0};

	(void)state;
	assert_true(records_add_stdout(&b, 1, data, 92));
	assert_int_equal(b.len, 100);
	buf_reset(&b);
	assert_false(records_add_stdout(&b, 1, data, 93));
	assert_int_equal(b.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content_comes_out_whole),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
