#pragma once
/*
 * sync_from: a copy, taken once, of a directory that a person enabled (sync_allow.h), for a
 * sandbox. Stricter than what `asb delegate` packs: no git, nothing overrides the list of what is
 * never copied, and there are ceilings. Every path that stays at home is reported with its reason.
 */
#include "err.h"
#include "sync_allow.h"
#include "tree.h"

struct cli;
struct json_object;

#define SYNC_MAX_FILES 2000
#define SYNC_MAX_BYTES (64LL << 20) /* of the archive */

struct sync_skip {
	struct sync_skip *next;
	const char *path;
	const char *why;
};

struct sync_copy {
	struct tree_packed packed;
	struct sync_skip *skips; /* in the order of the walk */
	int nskips;
};

/* Writes the tar of the place's directory to fd. ERR_TOO_LARGE past a ceiling: then nothing of it
 * may be used. */
bool sync_pack(struct pool *pool, const struct sync_place *place, int fd, struct sync_copy *out,
	struct err *err) NODISCARD;
/* The text of one file of the place, at most max bytes, by the same rules of what may leave. */
bool sync_read(struct pool *pool, const struct sync_place *place, const char *name, size_t max,
	char **text, struct err *err) NODISCARD;
/* The whole way for a request that makes a sandbox: opens dir, looks at the lock file where one is
 * named, packs, uploads, and tells the person what stays here. Adds `upload` to the body. */
bool sync_send(struct cli *cli, const char *dir, const char *packages_from,
	struct json_object *body, struct sync_copy *out, struct err *err) NODISCARD;
/* {"files","size_bytes","skipped":[{"path","reason"}]}: what was copied. The caller's. */
struct json_object *sync_report(const struct sync_copy *copy);
