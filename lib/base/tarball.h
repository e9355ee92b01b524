#pragma once
/*
 * Writing a tar file (pax, restricted: plain ustar where that suffices) over libarchive. Names are
 * relative, UTF-8, with '/' between parts; owner and group are 0 without names, since whoever
 * unpacks decides. Not called archive.h, because libarchive's own header is.
 *
 * The process needs a UTF-8 LC_CTYPE (setlocale(LC_CTYPE, "C.UTF-8")) for names beyond ASCII.
 */
#include <stdint.h>

#include "err.h"

struct tarball;

/* Writes to fd, which stays the caller's. An addition that takes contents and headers past
 * max_bytes is ERR_TOO_LARGE. */
struct tarball *tarball_new(int fd, int64_t max_bytes);
/* Frees it. Without tarball_finish before, what is in fd must be thrown away. NULL is fine. */
void tarball_free(struct tarball *t);
void cleanup_tarball(struct tarball **t);

bool tarball_add_dir(struct tarball *t, const char *path, struct err *err) NODISCARD;
/* Copies exactly `size` bytes from fd; ERR_CONFLICT where the file has become shorter. */
bool tarball_add_file(struct tarball *t, const char *path, int fd, unsigned mode, int64_t mtime_s,
	int64_t size, struct err *err) NODISCARD;
bool tarball_add_bytes(struct tarball *t, const char *path, const void *data, size_t n,
	unsigned mode, struct err *err) NODISCARD;
bool tarball_add_link(
	struct tarball *t, const char *path, const char *target, struct err *err) NODISCARD;
/* Writes the end. size_bytes: what was counted, contents and headers. */
bool tarball_finish(struct tarball *t, int64_t *size_bytes, struct err *err) NODISCARD;
