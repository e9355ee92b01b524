/*
 * Tar files out, over libarchive. Counts what it writes, so that a caller's limit is kept before
 * the disk is full and not after. Reads nothing but the descriptors it is given.
 */
#include "tarball.h"

#include <sys/stat.h>

#include <errno.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "pool.h"

#define TAR_BLOCK 512
#define COPY_SIZE (64u * 1024)

struct tarball {
	struct archive *archive;
	int64_t max_bytes;
	int64_t used_bytes;
	char copy[COPY_SIZE];
};

struct tarball *tarball_new(int fd, int64_t max_bytes)
{
	struct tarball *t = mem_alloc(sizeof(*t));

	t->archive = archive_write_new();
	t->max_bytes = max_bytes;
	t->used_bytes = 0;
	if (!t->archive || archive_write_set_format_pax_restricted(t->archive) != ARCHIVE_OK ||
		archive_write_open_fd(t->archive, fd) != ARCHIVE_OK)
		abort(); /* only want of memory gets here */
	return t;
}

void tarball_free(struct tarball *t)
{
	if (!t)
		return;
	/* ends the file as well where tarball_finish did not: libarchive frees its buffers only
	 * then */
	(void)archive_write_free(t->archive);
	free(t);
}

void cleanup_tarball(struct tarball **t)
{
	tarball_free(*t);
}

static bool tarball_fail(struct tarball *t, const char *path, struct err *err)
{
	const char *why = archive_error_string(t->archive);

	return err_set(err, ERR_INTERNAL, "pack %.120s: %s", path, why ? why : "write failed");
}

static bool tarball_begin(
	struct tarball *t, struct archive_entry *entry, int64_t size, struct err *err)
{
	const char *path = archive_entry_pathname(entry);
	int64_t cost = TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	int rc;

	if (cost > t->max_bytes - t->used_bytes)
		return err_set(err, ERR_TOO_LARGE, "with %.120s the tree is larger than %lld MiB",
			path, (long long)(t->max_bytes >> 20));
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	rc = archive_write_header(t->archive, entry);
	if (rc != ARCHIVE_OK)
		return tarball_fail(t, path, err);
	t->used_bytes += cost;
	return true;
}

static struct archive_entry *entry_new(const char *path, unsigned type, unsigned mode, int64_t size)
{
	struct archive_entry *entry = archive_entry_new();

	if (!entry)
		abort();
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, mode);
	archive_entry_set_size(entry, size);
	return entry;
}

bool tarball_add_dir(struct tarball *t, const char *path, struct err *err)
{
	struct archive_entry *entry = entry_new(path, S_IFDIR, 0755, 0);
	bool ok = tarball_begin(t, entry, 0, err);

	archive_entry_free(entry);
	return ok;
}

bool tarball_add_link(struct tarball *t, const char *path, const char *target, struct err *err)
{
	struct archive_entry *entry = entry_new(path, S_IFLNK, 0777, 0);
	bool ok;

	archive_entry_set_symlink(entry, target);
	ok = tarball_begin(t, entry, 0, err);
	archive_entry_free(entry);
	return ok;
}

bool tarball_add_bytes(struct tarball *t, const char *path, const void *data, size_t n,
	unsigned mode, struct err *err)
{
	struct archive_entry *entry = entry_new(path, S_IFREG, mode, (int64_t)n);
	bool ok = tarball_begin(t, entry, (int64_t)n, err);

	archive_entry_free(entry);
	if (ok && n && archive_write_data(t->archive, data, n) != (la_ssize_t)n)
		return tarball_fail(t, path, err);
	return ok;
}

bool tarball_add_file(struct tarball *t, const char *path, int fd, unsigned mode, int64_t mtime_s,
	int64_t size, struct err *err)
{
	struct archive_entry *entry = entry_new(path, S_IFREG, mode, size);
	bool ok;

	archive_entry_set_mtime(entry, mtime_s, 0);
	ok = tarball_begin(t, entry, size, err);
	archive_entry_free(entry);
	if (!ok)
		return false;
	while (size > 0) {
		size_t want = size < (int64_t)COPY_SIZE ? (size_t)size : COPY_SIZE;
		ssize_t n = read(fd, t->copy, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, ERR_INTERNAL, "pack %.120s: read", path);
		if (n == 0)
			return err_set(
				err, ERR_CONFLICT, "pack %.120s: the file changed meanwhile", path);
		if (archive_write_data(t->archive, t->copy, (size_t)n) != n)
			return tarball_fail(t, path, err);
		size -= n;
	}
	return true;
}

bool tarball_finish(struct tarball *t, int64_t *size_bytes, struct err *err)
{
	if (archive_write_close(t->archive) != ARCHIVE_OK)
		return tarball_fail(t, "the end", err);
	*size_bytes = t->used_bytes;
	return true;
}
