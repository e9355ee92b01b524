#pragma once
/* Between files.c and the two children that unpack and pack. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct boxjson;

#define FILES_PATH_MAX 4095

/* openat2 that follows no symbolic link anywhere in path, and stays beneath `at` unless it is
 * AT_FDCWD. */
int files_open(int at, const char *path, int flags, unsigned mode);
/* The same for looks: it also stays on the mount that `at` lies on. */
int files_open_inside(int at, const char *path, int flags);
/* errno as an error naming path. Always false. */
bool files_fail(const char *path, struct err *err);
/* An absolute path without "..". */
bool files_path_check(const char *path, struct err *err);
/* One small file, `name` in the folder `path`, of the user. */
struct boxd;
bool files_write(struct boxd *b, const char *path, const char *name, const char *user,
	unsigned mode, const char *text, struct err *err) NODISCARD;
/* The same by the file's whole path, which is absolute; only the user may read and write it. */
bool files_put(struct boxd *b, const char *path, const char *user, const char *text,
	struct err *err) NODISCARD;
/* Removes what is there under path, if it is there; reached over no link. */
void files_remove(const char *path);
/* The member `key`: an absolute path without "..". */
bool files_path(const struct boxjson *in, const char *key, const char **path, struct err *err);
/* "file", "dir", "symlink" or "other". */
const char *files_kind(mode_t mode);

struct pack_request {
	const char *path;
	int64_t max_bytes;
};
/* worker_fn: arg is the path to unpack into, made where it is not there. */
int unpack_child(int data, int answer, const void *arg);
/* worker_fn: arg is a pack_request; a folder with what is below it, or one file. */
int pack_child(int data, int answer, const void *arg);
