/*
 * Writing tar: ustar headers, with a pax header in front where a field is too small.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "tar.h"

#define NAME_FIELD 100
#define SIZE_MAX_FIELD UINT64_C(077777777777)

static const char zeros[TAR_BLOCK];

/* width - 1 octal digits and a NUL. */
static void octal_put(char *to, size_t width, uint64_t v)
{
	to[width - 1] = '\0';
	for (size_t i = width - 1; i-- > 0; v >>= 3)
		to[i] = (char)('0' + (v & 7));
}

static bool header_add(struct buf *out, const char *name, const char *link, char type,
	uint64_t size, unsigned mode, int64_t mtime_s)
{
	char h[TAR_BLOCK] = {0};
	unsigned sum = 0;

	memcpy(h, name, strnlen(name, NAME_FIELD));
	octal_put(h + 100, 8, mode);
	octal_put(h + 108, 8, 0);
	octal_put(h + 116, 8, 0);
	octal_put(h + 124, 12, size > SIZE_MAX_FIELD ? 0 : size);
	octal_put(h + 136, 12, mtime_s < 0 ? 0 : (uint64_t)mtime_s & SIZE_MAX_FIELD);
	memset(h + 148, ' ', 8);
	h[156] = type;
	memcpy(h + 157, link, strnlen(link, NAME_FIELD));
	memcpy(h + 257,
		"ustar\0"
		"00",
		8);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += (unsigned char)h[i];
	octal_put(h + 148, 7, sum);
	return buf_add(out, h, sizeof(h));
}

/* "LEN key=value\n", where LEN counts itself. */
static void record_add(struct buf *pax, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, n = rest + 1, digits;

	do {
		digits = (size_t)snprintf(NULL, 0, "%zu", n);
		if (rest + digits == n)
			break;
		n = rest + digits;
	} while (true);
	(void)buf_addf(pax, "%zu %s=%s\n", n, key, value);
}

bool tar_add_padding(struct buf *out, uint64_t size)
{
	size_t over = (size_t)(size % TAR_BLOCK);

	return buf_add(out, zeros, over ? TAR_BLOCK - over : 0);
}

static bool pax_add(struct buf *out, const struct tar_entry *e, const char *name)
{
	struct buf pax = BUF_INIT(3 * (TAR_NAME_MAX + 64));
	char size[24];
	bool ok;

	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)e->size);
	if (strlen(name) > NAME_FIELD)
		record_add(&pax, "path", name);
	if (e->link && strlen(e->link) > NAME_FIELD)
		record_add(&pax, "linkpath", e->link);
	if (e->size > SIZE_MAX_FIELD)
		record_add(&pax, "size", size);
	ok = !pax.failed;
	if (ok && pax.len)
		ok = header_add(out, "pax", "", 'x', pax.len, 0644, 0) &&
		     buf_add(out, pax.data, pax.len) && tar_add_padding(out, pax.len);
	buf_done(&pax);
	return ok;
}

bool tar_add_header(struct buf *out, const struct tar_entry *e)
{
	static const char types[] = {
		[TAR_FILE] = '0', [TAR_DIR] = '5', [TAR_SYMLINK] = '2', [TAR_HARDLINK] = '1'};
	struct buf name = BUF_INIT(TAR_NAME_MAX + 1);
	bool ok = buf_adds(&name, e->name) && (e->kind != TAR_DIR || buf_addc(&name, '/'));

	ok = ok && pax_add(out, e, name.data) &&
	     header_add(out, name.data, e->link ? e->link : "", types[e->kind], e->size,
		     e->mode & 0777, e->mtime_s);
	buf_done(&name);
	return ok;
}

bool tar_add_end(struct buf *out)
{
	return buf_add(out, zeros, TAR_BLOCK) && buf_add(out, zeros, TAR_BLOCK);
}
