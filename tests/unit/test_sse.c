/*
 * sse.c: what is put in comes out of a decoder written from the HTML standard, whatever the text;
 * no text can end an event early or begin a field; positions are strict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "sse.h"

/* One dispatched event of a stream, as the standard's algorithm makes it. */
struct decoded {
	char name[64], id[80];
	struct buf data;
	int events, retry;
};

static void field(struct decoded *d, const char *line, size_t n, struct buf *data, char *name)
{
	const char *colon = memchr(line, ':', n);
	size_t name_n = colon ? (size_t)(colon - line) : n;
	const char *value = colon ? colon + 1 : line + n;

	if (colon && value < line + n && *value == ' ')
		value++;
	if (name_n == 4 && !memcmp(line, "data", 4)) {
		assert_true(buf_add(data, value, (size_t)(line + n - value)));
		assert_true(buf_addc(data, '\n'));
	} else if (name_n == 5 && !memcmp(line, "event", 5)) {
		(void)snprintf(name, 64, "%.*s", (int)(line + n - value), value);
	} else if (name_n == 2 && !memcmp(line, "id", 2)) {
		(void)snprintf(d->id, sizeof(d->id), "%.*s", (int)(line + n - value), value);
	} else if (name_n == 5 && !memcmp(line, "retry", 5)) {
		d->retry++;
	} else {
		fail_msg("a field the encoder never writes: %.*s", (int)n, line);
	}
}

/* LF, CR and CR LF all end a line, as in a browser. */
static void decode(const struct buf *text, struct decoded *d)
{
	CLEANUP(buf) struct buf data = BUF_INIT(1 << 20);
	char name[64] = "";
	const char *p = text->data, *end = p + text->len;

	*d = (struct decoded){.data = BUF_INIT(1 << 20)};
	while (p < end) {
		const char *eol = p;

		while (eol < end && *eol != '\n' && *eol != '\r')
			eol++;
		assert_true(eol < end);
		if (eol > p) {
			field(d, p, (size_t)(eol - p), &data, name);
		} else if (data.len) {
			d->events++;
			(void)snprintf(d->name, sizeof(d->name), "%s", name);
			buf_reset(&d->data);
			assert_true(buf_add(&d->data, data.data, data.len - 1));
			buf_reset(&data);
			name[0] = '\0';
		}
		p = eol + (eol + 1 < end && *eol == '\r' && eol[1] == '\n' ? 2 : 1);
	}
	assert_int_equal(data.len, 0); /* nothing is left half said */
}

static uint32_t seed = 20260101;

static uint32_t next(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* Random texts of the bytes that matter to the format. */
static void test_decode_of_encode(void **state)
{
	static const char alphabet[] = "\n\n: abdeit\x01\x7f\xc3\xa9{}\"";
	struct sse_id id = {12, 0, INT64_MAX};

	(void)state;
	for (int round = 0; round < 20000; round++) {
		CLEANUP(buf) struct buf text = BUF_INIT(1 << 16);
		struct decoded d;
		char in[64];
		size_t n = next(sizeof(in));

		for (size_t i = 0; i < n; i++)
			in[i] = alphabet[next(sizeof(alphabet) - 1)];
		assert_true(sse_id_add(&text, &id));
		assert_true(sse_event_add(&text, "trace", in, n));
		decode(&text, &d);
		/* an event whose data is empty is not dispatched by a browser, but by us it is
		 * one `data:` line, which is */
		assert_int_equal(d.events, 1);
		assert_string_equal(d.name, "trace");
		assert_string_equal(d.id, "12.0.9223372036854775807");
		assert_int_equal(d.data.len, n);
		assert_memory_equal(d.data.data, in, n);
		assert_int_equal(d.retry, 0);
		buf_done(&d.data);
	}
}

static void test_refuses_what_would_not_come_back(void **state)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64);

	(void)state;
	assert_false(sse_event_add(&text, "run", "a\rb", 3));
	assert_false(sse_event_add(&text, "run", "a\0b", 3));
	assert_int_equal(text.len, 0);
	assert_true(sse_event_add(&text, "run", "ab", 2));
	assert_string_equal(text.data, "event: run\ndata: ab\n\n");
}

static void test_adds_all_or_nothing(void **state)
{
	CLEANUP(buf) struct buf text = BUF_INIT(24);

	(void)state;
	assert_true(sse_event_add(&text, "hb", "{}", 2));
	assert_false(sse_event_add(&text, "hb", "{}", 2));
	assert_string_equal(text.data, "event: hb\ndata: {}\n\n");
	assert_int_equal(text.len, strlen(text.data));
	assert_true(text.failed);
}

static void test_retry(void **state)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64);
	struct decoded d;

	(void)state;
	assert_true(sse_retry_add(&text, 1500));
	assert_string_equal(text.data, "retry: 1500\n\n");
	decode(&text, &d);
	assert_int_equal(d.retry, 1);
	assert_int_equal(d.events, 0);
	buf_done(&d.data);
}

static void test_positions(void **state)
{
	static const char *const good[] = {"0.0.0", "1.2.3", "12.0.9223372036854775807"};
	static const char *const bad[] = {"", ".", "..", "1.2", "1.2.", "1..3", ".2.3", "1.2.3.4",
		"-1.2.3", "+1.2.3", " 1.2.3", "1.2.3 ", "01.2.3", "1.2.03", "1.2.0x3", "a.b.c",
		"9223372036854775808.0.0", "1.99999999999999999999.0", "1.2.3\n", "1,2,3"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CLEANUP(buf) struct buf text = BUF_INIT(128);
		struct sse_id id = {-1, -1, -1};
		char line[96];

		assert_true(sse_id_parse(good[i], &id));
		assert_true(sse_id_add(&text, &id));
		(void)snprintf(line, sizeof(line), "id: %s\n", good[i]);
		assert_string_equal(text.data, line);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sse_id id = {7, 8, 9};

		if (sse_id_parse(bad[i], &id))
			fail_msg("\"%s\" was taken", bad[i]);
		assert_int_equal(id.feed, 7);
		assert_int_equal(id.log, 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode_of_encode),
		cmocka_unit_test(test_refuses_what_would_not_come_back),
		cmocka_unit_test(test_adds_all_or_nothing),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
