/*
 * The tar reader and writer: what our writer makes is read back at any split; each kind of hostile
 * entry is refused, naming it; and each has a neighbour that is fine.
 */
#include "tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"

/* What the sink saw, as text: one line an entry, bytes in brackets. */
static bool on_entry(void *arg, const struct tar_entry *e, struct err *err)
{
	(void)err;
	return buf_addf(arg, "%c %s%s%s %o %llu\n", "fdsh"[e->kind], e -> name,
		e -> link ? " -> " : "", e->link ? e->link : "", e->mode,
		(unsigned long long)e->size);
}

static bool on_data(void *arg, const void *data, size_t n, struct err *err)
{
	(void)err;
	return buf_add(arg, data, n);
}

static bool on_end(void *arg, struct err *err)
{
	(void)err;
	return buf_adds(arg, ";\n");
}

/* Reads all, `step` bytes at a time. */
static bool read_all(const struct buf *tar, size_t step, const struct tar_limits *limits,
	struct buf *seen, struct buf *entry, struct err *err)
{
	const struct tar_sink sink = {on_entry, on_data, on_end, seen};
	struct tar_reader *r = tar_reader_new(limits, &sink);
	bool ok = true;

	buf_reset(seen);
	for (size_t at = 0; ok && at < tar->len; at += step)
		ok = tar_reader_push(
			r, tar->data + at, tar->len - at < step ? tar->len - at : step, err);
	ok = ok && tar_reader_finish(r, err);
	buf_reset(entry);
	(void)buf_adds(entry, tar_reader_entry(r));
	tar_reader_free(r);
	return ok;
}

static void checksum_put(unsigned char *h)
{
	unsigned sum = 0;

	memset(h + 148, ' ', 8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += h[i];
	(void)snprintf((char *)h + 148, 8, "%06o", sum);
}

/* A header by hand: any type, any name, with `size` bytes of 'x' behind it. */
static void raw_add(struct buf *out, char type, const char *name, const char *link, size_t size)
{
	unsigned char h[TAR_BLOCK] = {0};

	memcpy(h, name, strlen(name));
	memcpy(h + 100, "0004755", 8);
	(void)snprintf((char *)h + 124, 12, "%011zo", size);
	memcpy(h + 136, "00000000001", 12);
	h[156] = (unsigned char)type;
	memcpy(h + 157, link, strlen(link));
	memcpy(h + 257,
		"ustar\0"
		"00",
		8);
	checksum_put(h);
	(void)buf_add(out, h, sizeof(h));
	for (size_t i = 0; i < size; i++)
		(void)buf_addc(out, 'x');
	(void)tar_add_padding(out, size);
}

static void meta_add(struct buf *out, char type, const char *body, size_t n)
{
	size_t at = out->len;

	raw_add(out, type, "meta", "", n);
	memcpy(out->data + at + TAR_BLOCK, body, n);
}

static void test_round_trip(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf first = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);
	char longname[400], longlink[300];
	struct err err = {0};
	const struct tar_entry entries[] = {
		{TAR_DIR, "a", NULL, 0, 0755, 5},
		{TAR_FILE, "a/empty", NULL, 0, 0600, 5},
		{TAR_FILE, "a/five", NULL, 5, 0644, 5},
		{TAR_FILE, longname, NULL, 512, 0644, -1},
		{TAR_SYMLINK, "a/s", "/anywhere/../else", 0, 0777, 5},
		{TAR_SYMLINK, "t", longlink, 0, 0777, 5},
		{TAR_HARDLINK, "a/h", "a/five", 0, 0644, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(longname); i++)
		longname[i] = i % 50 == 49 ? '/' : 'n';
	longname[398] = '\0';
	memset(longlink, 'l', sizeof(longlink));
	longlink[299] = '\0';
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		assert_true(tar_add_header(&tar, &entries[i]));
		for (size_t n = 0; n < entries[i].size; n++)
			assert_true(buf_addc(&tar, 'd'));
		assert_true(tar_add_padding(&tar, entries[i].size));
	}
	assert_true(tar_add_end(&tar));
	assert_true(read_all(&tar, tar.len, &tar_limits_default, &first, &entry, &err));
	assert_non_null(
		strstr(first.data, "d a 755 0\nf a/empty 600 0\n;\nf a/five 644 5\nddddd;\n"));
	assert_non_null(strstr(first.data, longname));
	assert_non_null(strstr(first.data, longlink));
	assert_non_null(strstr(first.data, "h a/h -> a/five 644 0\n"));
	for (size_t step = 1; step < 1100; step += step < 20 ? 1 : 97) {
		assert_true(read_all(&tar, step, &tar_limits_default, &seen, &entry, &err));
		assert_int_equal(seen.len, first.len);
		assert_memory_equal(seen.data, first.data, first.len);
	}
}

static void test_large_size_in_pax(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
	const struct tar_entry e = {TAR_FILE, "big", NULL, UINT64_C(9) << 30, 0644, 0};

	(void)state;
	assert_true(tar_add_header(&tar, &e));
	assert_int_equal(tar.len, 3 * TAR_BLOCK);
	assert_memory_equal(tar.data + TAR_BLOCK, "19 size=9663676416\n", 19);
}

static void test_gnu_and_odd_but_fine(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);
	char name[200];
	struct err err = {0};
	unsigned char *h;

	(void)state;
	memset(name, 'g', sizeof(name));
	name[199] = '\0';
	meta_add(&tar, 'g', "52 comment=0123456789012345678901234567890123456789\n", 52);
	raw_add(&tar, '5', "./", "", 0);
	raw_add(&tar, '0', "dir/", "", 0);
	raw_add(&tar, '\0', "./old//style/.", "", 3);
	raw_add(&tar, '7', "contiguous", "", 1);
	meta_add(&tar, 'L', name, sizeof(name));
	meta_add(&tar, 'K', "target", 7);
	raw_add(&tar, '2', "cut", "cut", 0);
	meta_add(&tar, 'x', "15 mtime=12.5\n\n", 15);
	raw_add(&tar, '0', "after", "", 0);
	/* the same type twice is fine: archives that were appended to */
	raw_add(&tar, '0', "after", "", 2);
	raw_add(&tar, '5', "dir", "", 0);
	/* base-256 size and the ustar prefix */
	raw_add(&tar, '0', "tail", "", 2);
	h = (unsigned char *)tar.data + tar.len - 2 * TAR_BLOCK;
	memset(h + 124, 0, 12);
	h[124] = 0x80;
	h[135] = 2;
	memcpy(h + 345, "pre/fix", 7);
	checksum_put(h);
	assert_true(tar_add_end(&tar));
	assert_true(tar_add_end(&tar));
	if (!read_all(&tar, 700, &tar_limits_default, &seen, &entry, &err))
		fail_msg("%s", err.msg);
	assert_non_null(strstr(seen.data, "d . 755 0\nd dir 755 0\nf old/style 755 3\nxxx;\n"));
	assert_non_null(strstr(seen.data, "f pre/fix/tail 755 2\nxx;\n"));
	assert_non_null(strstr(seen.data, "ggg -> target 755 0\n"));
	assert_non_null(strstr(seen.data, "f after 755 2\n"));
}

struct hostile {
	char type;
	const char *name, *link;
	size_t size;
	const char *says;
};

static void test_hostile_entries(void **state)
{
	/* each comes after: file "f", symlink "l", folder "d" with file "d/in" */
	static const struct hostile rows[] = {
		{'0', "/etc/passwd", "", 0, "absolute"},
		{'0', "../up", "", 0, "\"..\""},
		{'0', "d/../../up", "", 0, "\"..\""},
		{'0', "..", "", 0, "\"..\""},
		{'5', "d/..", "", 0, "\"..\""},
		{'0', "", "", 0, "empty"},
		{'0', "l/through", "", 0, "symbolic link"},
		{'5', "l/deep/through", "", 0, "symbolic link"},
		{'0', "f/below", "", 0, "below a file"},
		{'0', "l", "", 0, "another type"},
		{'5', "l", "", 0, "another type"},
		{'2', "f", "x", 0, "another type"},
		{'2', "d", "/", 0, "another type"},
		{'0', "d", "", 0, "another type"},
		{'0', ".", "", 0, "top is not a folder"},
		{'1', "h", "/etc/passwd", 0, "out of the tree"},
		{'1', "h", "../x", 0, "out of the tree"},
		{'1', "h", "never", 0, "no earlier file"},
		{'1', "h", "l", 0, "no earlier file"},
		{'1', "h", "d", 0, "no earlier file"},
		{'1', "f", "d/in", 0, "hard link over a file"},
		{'2', "s", "", 0, "symbolic link with"},
		{'3', "dev", "", 0, "a device"},
		{'4', "dev", "", 0, "a device"},
		{'6', "pipe", "", 0, "a fifo"},
		{'S', "sparse", "", 0, "sparse"},
		{'V', "label", "", 0, "not taken"},
		{'5', "bytes", "", 9, "bytes on what is no file"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);
		struct err err = {0};

		raw_add(&tar, '0', "f", "", 1);
		raw_add(&tar, '2', "l", "/tmp", 0);
		raw_add(&tar, '0', "d/in", "", 1);
		raw_add(&tar, rows[i].type, rows[i].name, rows[i].link, rows[i].size);
		assert_true(tar_add_end(&tar));
		if (read_all(&tar, 512, &tar_limits_default, &seen, &entry, &err))
			fail_msg("row %zu taken", i);
		if (!strstr(err.msg, rows[i].says))
			fail_msg("row %zu says %s", i, err.msg);
		assert_string_equal(err.reason, "tree");
		assert_string_equal(entry.data, rows[i].name);
		/* the control: what came before was taken */
		assert_non_null(strstr(seen.data, "f d/in 755 1\n"));
	}
}

static void test_meta_refused(void **state)
{
	static const struct {
		char type;
		const char *body;
		const char *says;
	} rows[] = {
		{'x', "14 path=/abs12\n", "damaged pax"},
		{'x', "13 path=/abs\n", "absolute"},
		{'x', "15 path=../abs\n", "\"..\""},
		{'x', "x", "damaged pax"},
		{'x', "99 path=a\n", "damaged pax"},
		{'x', "3 \n", "damaged pax"},
		{'x', "9 nothing\n", "damaged pax"},
		{'x', "5 =a\n", "damaged pax"},
		{'x', "9999999 path=a\n", "damaged pax"},
		{'x', "10 size=x\n", "damaged pax"},
		{'x', "35 size=99999999999999999999999999\n", "damaged pax"},
		{'x', "23 size=99999999999999\n", "too large"},
		{'x', "22 GNU.sparse.major=1\n", "sparse"},
		{'g', "10 path=a\n", "renames"},
		{'g', "10 size=1\n", "renames"},
		{'L', "/abs", "absolute"},
		{'L', "", "empty"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);
		struct err err = {0};

		meta_add(&tar, rows[i].type, rows[i].body, strlen(rows[i].body));
		raw_add(&tar, '0', "plain", "", 1);
		assert_true(tar_add_end(&tar));
		if (read_all(&tar, 100, &tar_limits_default, &seen, &entry, &err))
			fail_msg("row %zu taken", i);
		if (!strstr(err.msg, rows[i].says))
			fail_msg("row %zu says %s", i, err.msg);
	}
}

static void test_damage(void **state)
{
	CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);

	(void)state;
	for (int damage = 0; damage < 8; damage++) {
		CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
		struct err err = {0};
		bool ok;

		raw_add(&tar, '0', "f", "", 700);
		if (damage == 6)
			(void)tar_add_padding(&tar, 1), (void)buf_add(&tar, "\0", 1);
		if (damage == 6)
			raw_add(&tar, '0', "hidden", "", 0);
		assert_true(tar_add_end(&tar));
		if (damage == 1)
			tar.data[0] = 'g';
		if (damage == 2)
			memcpy(tar.data + 257, "xstar", 5), checksum_put((unsigned char *)tar.data);
		if (damage == 3)
			memcpy(tar.data + 124, "9", 1), checksum_put((unsigned char *)tar.data);
		if (damage == 4)
			memset(tar.data + 124, 0xff, 12), checksum_put((unsigned char *)tar.data);
		if (damage == 5)
			tar.len = 600;
		if (damage == 7)
			memcpy(tar.data + 100, "8", 1), checksum_put((unsigned char *)tar.data);
		ok = read_all(&tar, 333, &tar_limits_default, &seen, &entry, &err);
		assert_int_equal(ok, damage == 0);
	}
}

static void test_limits(void **state)
{
	static const struct tar_limits small = {
		.entries = 3, .depth = 2, .name = 20, .file_bytes = 10, .total_bytes = 15};
	static const struct {
		struct hostile rows[4];
		const char *says;
	} archives[] = {
		{{{'0', "a", "", 10, 0}, {'0', "b", "", 5, 0}, {'0', "c/d", "", 0, 0}}, NULL},
		{{{'0', "a", "", 11, 0}}, "file is too large"},
		{{{'0', "a", "", 10, 0}, {'0', "b", "", 6, 0}}, "archive is too large"},
		{{{'5', "a", "", 0, 0}, {'5', "b", "", 0, 0}, {'5', "c", "", 0, 0},
			 {'5', "d", "", 0, 0}},
			"too many entries"},
		{{{'0', "a/b/c", "", 0, 0}}, "too deep"},
		{{{'0', "123456789012345678901", "", 0, 0}}, "too long"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++) {
		CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
		CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);
		struct err err = {0};
		bool ok;

		for (size_t j = 0; j < 4 && archives[i].rows[j].name; j++)
			raw_add(&tar, archives[i].rows[j].type, archives[i].rows[j].name, "",
				archives[i].rows[j].size);
		assert_true(tar_add_end(&tar));
		ok = read_all(&tar, 512, &small, &seen, &entry, &err);
		assert_int_equal(ok, archives[i].says == NULL);
		if (!ok && !strstr(err.msg, archives[i].says))
			fail_msg("archive %zu says %s", i, err.msg);
	}
}

static void test_many_names(void **state)
{
	CLEANUP(buf) struct buf tar = BUF_INIT(8 << 20);
	CLEANUP(buf) struct buf seen = BUF_INIT(1 << 20);
	CLEANUP(buf) struct buf entry = BUF_INIT(1 << 20);
	struct err err = {0};
	char name[32];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "n%d/%d", i % 7, i);
		raw_add(&tar, '0', name, "", 0);
	}
	raw_add(&tar, '5', "n3/10", "", 0);
	assert_true(tar_add_end(&tar));
	assert_false(read_all(&tar, 4096, &tar_limits_default, &seen, &entry, &err));
	assert_string_equal(entry.data, "n3/10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_large_size_in_pax),
		cmocka_unit_test(test_gnu_and_odd_but_fine),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_meta_refused),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
