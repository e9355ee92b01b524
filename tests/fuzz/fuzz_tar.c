/*
 * The tar reader under any bytes. Besides what the sanitizers see: every name it lets through is
 * relative, without ".." and empty parts; sizes add up; any split gives the same; and what it read
 * is written and read again equal.
 */
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct seen {
	struct buf text;  /* of every call */
	struct buf again; /* the archive written anew */
	uint64_t left;
};

static void name_check(const char *name)
{
	if (!*name || *name == '/' || strlen(name) > TAR_NAME_MAX)
		abort();
	while (*name) {
		size_t n = strcspn(name, "/");

		if (n == 0 || (n == 2 && name[0] == '.' && name[1] == '.'))
			abort();
		name += n;
		if (*name && !*++name)
			abort();
	}
}

static bool on_entry(void *arg, const struct tar_entry *e, struct err *err)
{
	struct seen *s = arg;

	(void)err;
	name_check(e->name);
	if (e->kind == TAR_HARDLINK)
		name_check(e->link);
	if (e->mode > 0777 || s->left || (e->size && e->kind != TAR_FILE))
		abort();
	s->left = e->size;
	(void)buf_addf(&s->text, "%d %s %s %u %llu\n", (int)e->kind, e->name,
		e->link ? e->link : "", e->mode, (unsigned long long)e->size);
	(void)tar_add_header(&s->again, e);
	return true;
}

static bool on_data(void *arg, const void *data, size_t n, struct err *err)
{
	struct seen *s = arg;

	(void)err;
	if (n > s->left)
		abort();
	s->left -= n;
	(void)buf_add(&s->text, data, n);
	(void)buf_add(&s->again, data, n);
	return true;
}

static bool on_end(void *arg, struct err *err)
{
	struct seen *s = arg;

	(void)err;
	if (s->left)
		abort();
	/* headers and padded bodies are whole blocks: the archive's length says what is missing */
	(void)tar_add_padding(&s->again, s->again.len);
	return true;
}

static bool read_all(const void *data, size_t n, size_t step, struct seen *s)
{
	const struct tar_limits limits = {.entries = 1000,
		.depth = 64,
		.name = TAR_NAME_MAX,
		.file_bytes = 1 << 20,
		.total_bytes = 1 << 20};
	const struct tar_sink sink = {on_entry, on_data, on_end, s};
	struct tar_reader *r = tar_reader_new(&limits, &sink);
	struct err err;
	bool ok = true;

	buf_init(&s->text, 8 << 20);
	buf_init(&s->again, 8 << 20);
	s->left = 0;
	for (size_t at = 0; ok && at < n; at += step)
		ok = tar_reader_push(
			r, (const char *)data + at, n - at < step ? n - at : step, &err);
	ok = ok && tar_reader_finish(r, &err);
	tar_reader_free(r);
	return ok;
}

static void seen_done(struct seen *s)
{
	buf_done(&s->text);
	buf_done(&s->again);
}

static void equal(const struct seen *a, const struct seen *b)
{
	if (a->text.len != b->text.len || memcmp(a->text.data, b->text.data, a->text.len) != 0)
		abort();
}

/* A checksum is a lock that chance does not open: every block that says it is a header gets one. */
static void checksums_mend(char *data, size_t n)
{
	for (char *h = data; n >= TAR_BLOCK; h += TAR_BLOCK, n -= TAR_BLOCK) {
		unsigned sum = 0;

		if (memcmp(h + 257, "ustar", 5) != 0)
			continue;
		memset(h + 148, ' ', 8);
		for (int i = 0; i < TAR_BLOCK; i++)
			sum += (unsigned char)h[i];
		(void)snprintf(h + 148, 8, "%06o", sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct seen whole, split, third;
	char *data = malloc(n + 1);
	bool ok;

	memcpy(data, bytes, n);
	checksums_mend(data, n);
	ok = read_all(data, n, n ? n : 1, &whole);
	if (read_all(data, n, n ? 1 + bytes[0] : 1, &split) != ok)
		abort();
	/* a refused archive may have given more bytes of its last file in one go */
	if (ok)
		equal(&whole, &split);
	if (ok && !whole.again.failed && tar_add_end(&whole.again)) {
		if (!read_all(whole.again.data, whole.again.len, 512, &third))
			abort();
		equal(&whole, &third);
		seen_done(&third);
	}
	seen_done(&whole);
	seen_done(&split);
	free(data);
	return 0;
}
