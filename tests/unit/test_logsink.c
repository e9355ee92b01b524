/*
 * The log sink: rules of chunks, lines and offsets, and that no way of splitting the input and no
 * crash between two flushes changes the bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "logsink.h"
#include "pool.h"
#include "redact.h"

struct store { /* what a database would hold */
	struct buf bytes;
	int64_t last_seq, next_line;
	uint64_t src_end;
	size_t chunks;
};

static void store_commit(struct store *st, struct logsink *s, int64_t now, bool all)
{
	size_t n = logsink_take(s, now, all);

	for (size_t i = 0; i < n; i++) {
		const struct chunk *c = &s->chunks[i];
		int newlines = 0;

		assert_int_equal(c->seq, st->last_seq + 1);
		assert_int_equal(c->src_off, st->src_end);
		assert_int_equal(c->first_line, st->next_line);
		assert_true(c->size > 0 && c->size <= LOGSINK_CHUNK);
		for (size_t k = 0; k < c->size; k++)
			newlines += s->bytes.data[c->at + k] == '\n';
		assert_int_equal(newlines, c->nlines);
		assert_true(buf_add(&st->bytes, s->bytes.data + c->at, c->size));
		st->last_seq = c->seq;
		st->next_line += c->nlines;
		st->src_end += c->size;
		st->chunks++;
	}
	logsink_drop(s);
}

static void sink_resume(struct logsink *s, const struct store *st)
{
	logsink_init(s, st->last_seq, st->next_line, st->src_end, 0);
}

static void chunk_ends_at_a_newline(void **state)
{
	CLEANUP(logsink) struct logsink s;
	struct err err;

	(void)state;
	logsink_init(&s, 0, 0, 0, 0);
	assert_int_equal(logsink_wait_ms(&s, 0), -1);
	assert_true(logsink_feed(&s, 0, 1, "one\ntwo\nthr", 11, 1000, &err));
	assert_int_equal(logsink_wait_ms(&s, 1000), 50);
	assert_int_equal(logsink_take(&s, 1050, false), 1);
	assert_int_equal(s.chunks[0].size, 8);
	assert_int_equal(s.chunks[0].nlines, 2);
	logsink_drop(&s);
	assert_int_equal(s.safe_off, 8);
	/* the partial line waits 200 ms from its first byte, then goes as it is */
	assert_int_equal(logsink_wait_ms(&s, 1050), 150);
	assert_int_equal(logsink_take(&s, 1100, false), 0);
	assert_int_equal(logsink_take(&s, 1200, false), 1);
	assert_int_equal(s.chunks[0].size, 3);
	assert_int_equal(s.chunks[0].nlines, 0);
	assert_int_equal(s.chunks[0].first_line, 2);
	logsink_drop(&s);
	assert_true(logsink_feed(&s, 11, 1, "ee\n", 3, 1300, &err));
	assert_int_equal(logsink_take(&s, 1350, false), 1);
	assert_int_equal(s.chunks[0].first_line, 2);
	assert_int_equal(s.chunks[0].seq, 3);
	logsink_drop(&s);
	assert_int_equal(s.next_line, 3);
}

static void streams_do_not_mix(void **state)
{
	CLEANUP(logsink) struct logsink s;
	struct err err;

	(void)state;
	logsink_init(&s, 0, 0, 0, 0);
	assert_true(logsink_feed(&s, 0, 1, "a\nb", 3, 0, &err));
	assert_true(logsink_feed(&s, 3, 2, "e\n", 2, 1, &err));
	assert_true(logsink_feed(&s, 5, 1, "c\n", 2, 2, &err));
	assert_int_equal(logsink_take(&s, 60, false), 3);
	assert_int_equal(s.chunks[0].stream, 1);
	assert_int_equal(s.chunks[1].stream, 2);
	assert_int_equal(s.chunks[1].src_off, 3);
	assert_int_equal(s.chunks[2].src_off, 5);
}

static void gap_is_refused_repeat_is_skipped(void **state)
{
	CLEANUP(logsink) struct logsink s;
	struct err err;

	(void)state;
	logsink_init(&s, 4, 7, 110, 100);
	assert_int_equal(s.next_off, 10);
	assert_true(logsink_feed(&s, 0, 1, "0123456789ab\n", 13, 0, &err));
	assert_int_equal(logsink_take(&s, 0, true), 1);
	assert_int_equal(s.chunks[0].size, 3);
	assert_int_equal(s.chunks[0].src_off, 110);
	assert_int_equal(s.chunks[0].seq, 5);
	logsink_drop(&s);
	assert_false(logsink_feed(&s, 14, 1, "x", 1, 0, &err));
	assert_string_equal(err.reason, "protocol");
	assert_false(logsink_feed(&s, UINT64_MAX, 1, "xx", 2, 0, &err));
}

static void long_line_is_cut_at_16k(void **state)
{
	CLEANUP(logsink) struct logsink s;
	CLEANUP(buf) struct buf big = BUF_INIT(1u << 20);
	struct store st = {.bytes = BUF_INIT(1u << 20)};
	struct err err;

	(void)state;
	for (int i = 0; i < 100000; i++)
		(void)buf_addc(&big, 'x');
	(void)buf_addc(&big, '\n');
	logsink_init(&s, 0, 0, 0, 0);
	assert_true(logsink_feed(&s, 0, 1, big.data, big.len, 0, &err));
	assert_int_equal(logsink_wait_ms(&s, 0), 0);
	store_commit(&st, &s, 0, false);
	assert_int_equal(st.chunks, 7);
	assert_int_equal(st.bytes.len, big.len);
	buf_done(&st.bytes);
}

static uint32_t lcg(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void input_make(struct buf *in, uint32_t *seed)
{
	for (int i = 0; i < 3000; i++) {
		uint32_t n =
			lcg(seed) % 8 ? lcg(seed) % 60 : lcg(seed) % 40000 / (1 + lcg(seed) % 40);

		while (n--)
			(void)buf_addc(in, (char)('a' + lcg(seed) % 26));
		(void)buf_addc(in, '\n');
	}
}

/* Any split, any timing, a crash anywhere: the rows hold the same bytes, without gap or repeat. */
static void any_split_and_any_crash(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 20; round++) {
		uint32_t seed = round;
		CLEANUP(buf) struct buf in = BUF_INIT(64u << 20);
		struct store st = {.bytes = BUF_INIT(64u << 20)};
		struct logsink s;
		struct err err;
		uint64_t off = 0;
		int64_t now = 0;

		input_make(&in, &seed);
		sink_resume(&s, &st);
		while (off < in.len) {
			size_t n = 1 + lcg(&seed) % (lcg(&seed) % 5 ? 300 : 60000);
			/* the stream belongs to the bytes, not to how they are cut */
			int stream = off / 7777 % 3 == 2 ? 2 : 1;

			if (n > 7777 - off % 7777)
				n = 7777 - off % 7777;
			if (n > in.len - off)
				n = in.len - off;
			assert_true(logsink_feed(&s, off, stream, in.data + off, n, now, &err));
			off += n;
			now += lcg(&seed) % 90;
			if (logsink_wait_ms(&s, now) == 0)
				store_commit(&st, &s, now, false);
			if (lcg(&seed) % 50 == 0) { /* dies with what it had not committed */
				(void)logsink_take(&s, now, lcg(&seed) % 2);
				logsink_done(&s);
				sink_resume(&s, &st);
				/* the shim replays from an acknowledged byte at or below */
				off = st.src_end > 1000 ? st.src_end - lcg(&seed) % 1000 : 0;
				off -= off % 7777 < 1000 ? off % 7777 : 0;
			}
		}
		store_commit(&st, &s, now, true);
		assert_int_equal(st.bytes.len, in.len);
		assert_memory_equal(st.bytes.data, in.data, in.len);
		logsink_done(&s);
		buf_done(&st.bytes);
	}
}

static void burst_is_quick(void **state)
{
	CLEANUP(logsink) struct logsink s;
	struct store st = {.bytes = BUF_INIT(64u << 20)};
	CLEANUP(buf) struct buf in = BUF_INIT(64u << 20);
	struct err err;

	(void)state;
	for (int i = 0; i < 200000; i++)
		(void)buf_addf(&in, "line %d of a burst that must not be slow in any way\n", i);
	logsink_init(&s, 0, 0, 0, 0);
	for (uint64_t off = 0; off < in.len;) {
		size_t n = in.len - off < 60000 ? in.len - off : 60000;

		assert_true(logsink_feed(&s, off, 1, in.data + off, n, 5, &err));
		off += n;
		if (s.bytes.len >= LOGSINK_HELD)
			store_commit(&st, &s, 5, false);
	}
	store_commit(&st, &s, 5, true);
	assert_int_equal(st.next_line, 200000);
	assert_memory_equal(st.bytes.data, in.data, in.len);
	buf_done(&st.bytes);
}

/* A box that changes streams with each byte: no more than LOGSINK_TAKE rows at a time, none lost.
 */
static void streams_that_alternate_come_in_bounded_batches(void **state)
{
	CLEANUP(logsink) struct logsink s;
	struct store st = {.bytes = BUF_INIT(1 << 20)};
	size_t before;
	struct err err;

	(void)state;
	logsink_init(&s, 0, 0, 0, 0);
	for (uint64_t i = 0; i < 3 * LOGSINK_TAKE; i++)
		assert_true(logsink_feed(&s, i, 1 + (int)(i % 2), "x", 1, 1000, &err));
	store_commit(&st, &s, 1000, false);
	assert_int_equal(st.chunks, LOGSINK_TAKE);
	assert_int_equal(logsink_wait_ms(&s, 1000 + LOGSINK_FLUSH_MS), 0);
	do {
		before = st.chunks;
		store_commit(&st, &s, 1000, true);
		assert_true(st.chunks - before <= LOGSINK_TAKE);
	} while (st.chunks > before);
	assert_int_equal(st.src_end, 3 * LOGSINK_TAKE);
	buf_done(&st.bytes);
}

/* The last flush, which holds nothing back, still looks across the end of a full chunk. */
static void a_secret_over_two_chunks_is_masked_at_the_end(void **state)
{
	static const char secret[] = "correct-horse-battery";
	CLEANUP(logsink) struct logsink s;
	CLEANUP(redactor) struct redactor *r = redactor_new();
	char text[LOGSINK_CHUNK + 100];
	struct err err;

	(void)state;
	memset(text, '.', sizeof(text));
	memcpy(text + LOGSINK_CHUNK - 8, secret, sizeof(secret) - 1);
	redactor_add(r, secret);
	logsink_init(&s, 0, 0, 0, 0);
	s.redactor = r;
	assert_true(logsink_feed(&s, 0, 1, text, sizeof(text), 1000, &err));
	assert_int_equal(logsink_take(&s, 1000, true), 2);
	assert_null(memmem(s.bodies.data, s.bodies.len, "correct", 7));
	assert_null(memmem(s.bodies.data, s.bodies.len, "battery", 7));
	assert_non_null(memmem(s.bodies.data, s.bodies.len, "[redacted tery]", 15));
}

/* Past what is kept: rows that stand for the bytes, one notice, and nothing else. */
static void a_full_log_is_counted_and_not_kept(void **state)
{
	CLEANUP(logsink) struct logsink s;
	char text[LOGSINK_CHUNK];
	struct err err;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	logsink_init(&s, 0, 0, 0, 0);
	s.keep = LOGSINK_CHUNK + 1;
	for (uint64_t i = 0; i < 4; i++)
		assert_true(logsink_feed(&s, i * sizeof(text), 1, text, sizeof(text), 1000, &err));
	assert_int_equal(logsink_take(&s, 1000, true), 4);
	assert_int_equal(s.chunks[0].body_size, LOGSINK_CHUNK);
	assert_int_equal(s.chunks[1].body_size, LOGSINK_CHUNK);
	assert_true(s.chunks[2].body_size > 0 && s.chunks[2].body_size < 100);
	assert_int_equal(s.chunks[3].body_size, 0);
	assert_int_equal(s.chunks[3].src_off, 3 * sizeof(text));
	assert_int_equal(s.chunks[3].first_line, 3);
	logsink_drop(&s);
	assert_int_equal(s.safe_off, 4 * sizeof(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_ends_at_a_newline),
		cmocka_unit_test(streams_do_not_mix),
		cmocka_unit_test(gap_is_refused_repeat_is_skipped),
		cmocka_unit_test(long_line_is_cut_at_16k),
		cmocka_unit_test(any_split_and_any_crash),
		cmocka_unit_test(burst_is_quick),
		cmocka_unit_test(streams_that_alternate_come_in_bounded_batches),
		cmocka_unit_test(a_full_log_is_counted_and_not_kept),
		cmocka_unit_test(a_secret_over_two_chunks_is_masked_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
