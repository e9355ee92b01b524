#pragma once
/*
 * Tar, strict both ways, and without touching a file system. The reader is pushed bytes and calls
 * back with checked entries; it takes ustar, pax (path, linkpath, size) and GNU long names, and
 * refuses what could write outside the folder unpacked into: absolute names, "..", names through a
 * symbolic link of the same archive, an entry that changes an earlier one's type, hard links to
 * anything but an earlier file, devices, fifos, sparse files, and more than the limits allow. Each
 * refusal names the entry. boxd unpacks with it; the runner reads artifacts with it.
 *
 * Beyond this the unpacker must resolve beneath its folder and follow no link: what was there
 * before is not known here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct buf;
struct tar_reader;

#define TAR_BLOCK 512
#define TAR_NAME_MAX 4095

enum tar_kind { TAR_FILE, TAR_DIR, TAR_SYMLINK, TAR_HARDLINK };

struct tar_entry {
	enum tar_kind kind;
	const char
		*name; /* relative, no "." or empty parts, no slash at the end; "." for the top */
	const char *link; /* symlink: its text as it stands; hard link: a name like the above */
	uint64_t size;	  /* of a file's bytes, else 0 */
	unsigned mode;	  /* 0777 at the most: set-id and sticky bits are cut off */
	int64_t mtime_s;
};

struct tar_limits {
	uint64_t entries;
	unsigned depth;	      /* parts of a name */
	size_t name;	      /* bytes of a name, up to TAR_NAME_MAX */
	uint64_t file_bytes;  /* of one file */
	uint64_t total_bytes; /* of all files */
};
/* 200,000 entries, 64 deep, 4 GiB. */
extern const struct tar_limits tar_limits_default;

/* What the reader calls; false with *err set ends the reading. Strings live for the call only. */
struct tar_sink {
	bool (*entry)(void *arg, const struct tar_entry *e, struct err *err);
	bool (*data)(void *arg, const void *data, size_t n, struct err *err); /* of the last file */
	bool (*end)(void *arg, struct err *err); /* the last file is whole; NULL: not wanted */
	void *arg;
};

/* Both structs are copied. */
struct tar_reader *tar_reader_new(const struct tar_limits *limits, const struct tar_sink *sink);
void tar_reader_free(struct tar_reader *r);
/* ERR_INVALID (reason "tree") or what the sink said. After a failure only free it. */
bool tar_reader_push(struct tar_reader *r, const void *data, size_t n, struct err *err) NODISCARD;
/* The input has ended: fails unless the archive's own end was seen. */
bool tar_reader_finish(struct tar_reader *r, struct err *err) NODISCARD;
/* The entry that is being read or was refused, made fit to show; "" before the first. */
const char *tar_reader_entry(const struct tar_reader *r);

/* Writing: a header (with a pax header before it where name, link or size need one), then the
 * caller adds exactly e->size bytes, then the padding; at last the end. False: out is full. */
bool tar_add_header(struct buf *out, const struct tar_entry *e);
bool tar_add_padding(struct buf *out, uint64_t size);
bool tar_add_end(struct buf *out);
