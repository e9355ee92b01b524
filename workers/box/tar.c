/*
 * The tar reader: a state machine over 512-byte blocks. It holds one block, one name and one pax
 * header (64 KiB at the most) at a time; sizes in headers are believed only as counters.
 */
#include "tar.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "pool.h"
#include "tar_header.h"
#include "tar_names.h"
#include "tar_pax.h"
#include "text.h"

/* A pax header or a GNU long name. */
#define META_MAX (64u * 1024)

const struct tar_limits tar_limits_default = {
	.entries = 200000,
	.depth = 64,
	.name = TAR_NAME_MAX,
	.file_bytes = UINT64_C(4) << 30,
	.total_bytes = UINT64_C(4) << 30,
};

enum tar_state { TAR_HEADER, TAR_META, TAR_DATA, TAR_PADDING, TAR_ENDED };

struct tar_reader {
	struct tar_limits limits;
	struct tar_sink sink;
	enum tar_state state;
	unsigned char block[TAR_BLOCK];
	size_t filled;	/* of block */
	uint64_t left;	/* bytes of data or meta to come */
	size_t padding; /* bytes after them to skip */
	char meta_type;
	struct buf meta;
	struct buf name, link; /* of the next entry, from meta; then of the entry */
	bool have_name, have_link, have_size;
	uint64_t size;
	uint64_t entries, total;
	struct buf shown; /* tar_reader_entry */
	struct tar_names names;
	bool any_zero; /* one block of zeros came: the end, or damage */
};

struct tar_reader *tar_reader_new(const struct tar_limits *limits, const struct tar_sink *sink)
{
	struct tar_reader *r = mem_alloc(sizeof(*r));

	r->limits = *limits;
	r->sink = *sink;
	buf_init(&r->meta, META_MAX);
	buf_init(&r->name, META_MAX);
	buf_init(&r->link, META_MAX);
	buf_init(&r->shown, 4 * META_MAX);
	tar_names_init(&r->names);
	return r;
}

void tar_reader_free(struct tar_reader *r)
{
	if (!r)
		return;
	buf_done(&r->meta);
	buf_done(&r->name);
	buf_done(&r->link);
	buf_done(&r->shown);
	tar_names_done(&r->names);
	free(r);
}

const char *tar_reader_entry(const struct tar_reader *r)
{
	return r->shown.data;
}

static void show(struct tar_reader *r, const char *name, size_t n)
{
	buf_reset(&r->shown);
	text_add_sane(&r->shown, name, n < 512 ? n : 512);
}

static bool refuse(struct tar_reader *r, const char *why, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "tar entry \"%.120s\": %s", r->shown.data, why);
	return err_advise(err, "tree", NULL);
}

/* Makes a name canonical in place: no "./", no double and no last slash. False: it is refused. */
static bool name_clean(struct buf *b, const struct tar_limits *limits, const char **why)
{
	char *from = b->data, *to = b->data;
	unsigned depth = 0;
	size_t n;

	*why = "the name is absolute";
	if (*from == '/')
		return false;
	*why = "the name is empty, too long or holds a NUL";
	if (!b->len || b->len > limits->name || strlen(b->data) != b->len)
		return false;
	while (*from) {
		n = strcspn(from, "/");
		if (n == 2 && from[0] == '.' && from[1] == '.') {
			*why = "the name climbs out with \"..\"";
			return false;
		}
		if (n && !(n == 1 && from[0] == '.')) {
			if (depth++)
				*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from += n + (from[n] == '/');
	}
	*why = "the name is too deep";
	if (depth > limits->depth)
		return false;
	if (to == b->data)
		*to++ = '.';
	*to = '\0';
	b->len = (size_t)(to - b->data);
	return true;
}

/* Every folder above the name must be a folder, here or implied. */
static bool parents_check(struct tar_reader *r, const char *name, struct err *err)
{
	for (const char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
		size_t n = (size_t)(p - name);
		enum tar_seen seen = tar_names_find(&r->names, name, n);

		if (seen == SEEN_LINK)
			return refuse(r, "it would be written through a symbolic link", err);
		if (seen == SEEN_FILE)
			return refuse(r, "it lies below a file", err);
		if (seen == SEEN_NOT)
			tar_names_put(&r->names, name, n, SEEN_DIR);
	}
	return true;
}

static bool seen_check(struct tar_reader *r, const struct tar_entry *e, struct err *err)
{
	static const enum tar_seen as[] = {[TAR_FILE] = SEEN_FILE,
		[TAR_DIR] = SEEN_DIR,
		[TAR_SYMLINK] = SEEN_LINK,
		[TAR_HARDLINK] = SEEN_FILE};
	size_t n = strlen(e->name);
	enum tar_seen before = tar_names_find(&r->names, e->name, n);

	if (before != SEEN_NOT && before != as[e->kind])
		return refuse(r, "it is there already as another type", err);
	if (e->kind != TAR_DIR && strcmp(e->name, ".") == 0)
		return refuse(r, "the top is not a folder", err);
	if (e->kind == TAR_HARDLINK &&
		tar_names_find(&r->names, e->link, strlen(e->link)) != SEEN_FILE)
		return refuse(r, "a hard link to what is no earlier file", err);
	/* the same file again under two names would be cut by a second entry of either */
	if (before == SEEN_FILE && e->kind == TAR_HARDLINK)
		return refuse(r, "a hard link over a file", err);
	if (!parents_check(r, e->name, err))
		return false;
	tar_names_put(&r->names, e->name, n, as[e->kind]);
	return true;
}

/* Name and link from the header where no meta entry gave them. */
static void names_fill(struct tar_reader *r)
{
	const char *h = (const char *)r->block;

	if (!r->have_name) {
		buf_reset(&r->name);
		if (memcmp(h + 257, "ustar\0", 6) == 0 && h[345]) {
			(void)buf_add(&r->name, h + 345, strnlen(h + 345, 155));
			(void)buf_addc(&r->name, '/');
		}
		(void)buf_add(&r->name, h, strnlen(h, 100));
	}
	if (!r->have_link) {
		buf_reset(&r->link);
		(void)buf_add(&r->link, h + 157, strnlen(h + 157, 100));
	}
	show(r, r->name.data, r->name.len);
}

static bool links_check(struct tar_reader *r, const struct tar_entry *e, struct err *err)
{
	const char *why;

	if (e->kind == TAR_SYMLINK &&
		(!r->link.len || r->link.len > TAR_NAME_MAX || strlen(r->link.data) != r->link.len))
		return refuse(r, "a symbolic link with an empty or bad target", err);
	if (e->kind == TAR_HARDLINK && !name_clean(&r->link, &r->limits, &why))
		return refuse(r, "a hard link out of the tree", err);
	return true;
}

static bool size_check(struct tar_reader *r, struct tar_entry *e, struct err *err)
{
	if (e->kind != TAR_FILE) {
		/* pax archives give hard links a size; none has bytes here */
		if (e->size && e->kind != TAR_HARDLINK)
			return refuse(r, "bytes on what is no file", err);
		if (e->size && r->have_size)
			return refuse(r, "a hard link with bytes", err);
		e->size = 0;
		return true;
	}
	if (e->size > r->limits.file_bytes)
		return refuse(r, "the file is too large", err);
	if (e->size > r->limits.total_bytes - r->total)
		return refuse(r, "the archive is too large", err);
	r->total += e->size;
	return true;
}

/* A real entry's header is in block. */
static bool entry_begin(struct tar_reader *r, uint64_t header_size, struct err *err)
{
	struct tar_entry e = {0};
	uint64_t mode, mtime;
	const char *why;
	bool slash;

	names_fill(r);
	slash = r->name.len && r->name.data[r->name.len - 1] == '/';
	if (!tar_kind_of((char)r->block[156], slash, &e.kind))
		return refuse(r, tar_kind_wrong((char)r->block[156]), err);
	if (!name_clean(&r->name, &r->limits, &why))
		return refuse(r, why, err);
	if (++r->entries > r->limits.entries)
		return refuse(r, "too many entries", err);
	if (!tar_number(r->block + 100, 8, &mode) || !tar_number(r->block + 136, 12, &mtime))
		return refuse(r, "a damaged header", err);
	e.name = r->name.data;
	e.size = r->have_size ? r->size : header_size;
	e.mode = (unsigned)mode & 0777;
	e.mtime_s = mtime > INT32_MAX * UINT64_C(128) ? 0 : (int64_t)mtime;
	if (!links_check(r, &e, err) || !size_check(r, &e, err))
		return false;
	e.link = e.kind == TAR_SYMLINK || e.kind == TAR_HARDLINK ? r->link.data : NULL;
	if (!seen_check(r, &e, err) || !r->sink.entry(r->sink.arg, &e, err))
		return false;
	r->have_name = r->have_link = r->have_size = false;
	r->left = e.size;
	r->padding = (size_t)(-e.size % TAR_BLOCK);
	r->state = e.kind == TAR_FILE ? TAR_DATA : TAR_HEADER;
	return true;
}

static bool pax_size(struct tar_reader *r, const struct tar_pax *record)
{
	char digits[24] = "";
	int64_t v;

	if (record->value_n >= sizeof(digits))
		return false;
	memcpy(digits, record->value, record->value_n);
	if (!text_to_i64(digits, 0, INT64_MAX, &v))
		return false;
	r->size = (uint64_t)v;
	r->have_size = true;
	return true;
}

/* Three keys mean something here; a sparse file hides in others. */
static bool pax_read(struct tar_reader *r, bool global, struct err *err)
{
	const char *p = r->meta.data, *end = p + r->meta.len;
	struct tar_pax record;

	while (p < end) {
		struct buf *to = NULL;

		if (!tar_pax_next(&p, end, &record))
			return refuse(r, "a damaged pax header", err);
		if (record.key_n >= 10 && memcmp(record.key, "GNU.sparse", 10) == 0)
			return refuse(r, "a sparse file", err);
		if (tar_pax_is(&record, "path"))
			to = &r->name;
		else if (tar_pax_is(&record, "linkpath"))
			to = &r->link;
		else if (!tar_pax_is(&record, "size"))
			continue;
		if (global)
			return refuse(r, "a global pax header that renames", err);
		if (!to && !pax_size(r, &record))
			return refuse(r, "a damaged pax header", err);
		if (!to)
			continue;
		buf_reset(to);
		(void)buf_add(to, record.value, record.value_n);
		r->have_name |= to == &r->name;
		r->have_link |= to == &r->link;
	}
	return true;
}

static bool meta_end(struct tar_reader *r, struct err *err)
{
	struct buf *to = r->meta_type == 'L' ? &r->name : &r->link;

	if (r->meta_type == 'x' || r->meta_type == 'g')
		return pax_read(r, r->meta_type == 'g', err);
	buf_reset(to);
	/* GNU counts the NUL at the end */
	while (r->meta.len && !r->meta.data[r->meta.len - 1])
		r->meta.len--;
	(void)buf_add(to, r->meta.data, r->meta.len);
	if (r->meta_type == 'L')
		r->have_name = true;
	else
		r->have_link = true;
	return true;
}

static bool header_read(struct tar_reader *r, struct err *err)
{
	char type = (char)r->block[156];
	uint64_t size;

	if (tar_block_is_zero(r->block)) {
		r->state = r->any_zero ? TAR_ENDED : TAR_HEADER;
		r->any_zero = true;
		return true;
	}
	show(r, (const char *)r->block, strnlen((const char *)r->block, 100));
	if (r->any_zero)
		return refuse(r, "after a block of zeros", err);
	if (!tar_checksum_is_right(r->block) || memcmp(r->block + 257, "ustar", 5) != 0 ||
		!tar_number(r->block + 124, 12, &size))
		return refuse(r, "a damaged header, or not a tar archive", err);
	if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
		return entry_begin(r, size, err);
	if (size > META_MAX)
		return refuse(r, "the name is empty, too long or holds a NUL", err);
	r->meta_type = type;
	buf_reset(&r->meta);
	r->left = size;
	r->padding = (size_t)(-size % TAR_BLOCK);
	r->state = TAR_META;
	return true;
}

/* The bytes of a file or a meta entry are all there. */
static bool body_end(struct tar_reader *r, struct err *err)
{
	enum tar_state was = r->state;

	r->state = r->padding ? TAR_PADDING : TAR_HEADER;
	if (was == TAR_META)
		return meta_end(r, err);
	return !r->sink.end || r->sink.end(r->sink.arg, err);
}

static bool body_take(struct tar_reader *r, const unsigned char *p, size_t n, struct err *err)
{
	r->left -= n;
	if (r->state == TAR_META)
		return buf_add(&r->meta, p, n) ? true : refuse(r, "the name is too long", err);
	return !n || r->sink.data(r->sink.arg, p, n, err);
}

bool tar_reader_push(struct tar_reader *r, const void *data, size_t n, struct err *err)
{
	const unsigned char *p = data;
	size_t step;

	while (true) {
		/* an empty body ends without a byte */
		if ((r->state == TAR_DATA || r->state == TAR_META) && !r->left) {
			if (!body_end(r, err))
				return false;
			continue;
		}
		if (!n)
			return true;
		switch (r->state) {
		case TAR_HEADER:
			step = TAR_BLOCK - r->filled < n ? TAR_BLOCK - r->filled : n;
			memcpy(r->block + r->filled, p, step);
			r->filled += step;
			if (r->filled == TAR_BLOCK) {
				r->filled = 0;
				if (!header_read(r, err))
					return false;
			}
			break;
		case TAR_META:
		case TAR_DATA:
			step = r->left < n ? (size_t)r->left : n;
			if (!body_take(r, p, step, err))
				return false;
			break;
		case TAR_PADDING:
			step = r->padding < n ? r->padding : n;
			r->padding -= step;
			if (!r->padding)
				r->state = TAR_HEADER;
			break;
		case TAR_ENDED:
		default:
			/* writers fill their last record with zeros; nothing behind the end is read
			 */
			return true;
		}
		p += step;
		n -= step;
	}
}

bool tar_reader_finish(struct tar_reader *r, struct err *err)
{
	if (r->state == TAR_ENDED)
		return true;
	return refuse(r, "the archive is cut short after it", err);
}
