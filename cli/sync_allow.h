#pragma once
/*
 * Which directories of this person may be copied into sandboxes. The record is a file in the
 * person's own config folder, outside of every directory it names, so that nothing that lies in a
 * directory can enable it. It holds one line per directory: inode, time (ms), path.
 *
 * The folder is found by the password database and not by HOME or XDG_CONFIG_HOME: whoever sets the
 * environment of this program (a directory's own editor or client configuration may) could
 * otherwise bring a record along. It is believed only while nobody else can write it. A directory
 * counts while it is the one that was enabled: same path without links, same inode.
 *
 * Who can run programs as this person can write the record, or read the directory without us: this
 * keeps an agent that has our tools from widening them, and nothing more.
 */
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct pool;

struct sync_dir {
	const char *path;
	uint64_t inode;
	int64_t since_ms;
};

struct sync_list {
	struct sync_dir *dirs;
	size_t n;
};

/* A directory that may be copied, opened; the caller closes both (CLEANUP(sync_place)). */
struct sync_place {
	int root;	   /* the enabled directory */
	int dir;	   /* the one asked for: it, or one below it */
	const char *path;  /* of dir */
	const char *below; /* dir relative to root, "" where they are one */
};
#define SYNC_PLACE_NONE ((struct sync_place){.root = -1, .dir = -1})
void cleanup_sync_place(struct sync_place *place);

/* ~/.config/agent-sandbox, whether it is there or not. */
bool sync_folder(struct pool *pool, const char **folder, struct err *err) NODISCARD;
/* What is enabled; none where there is no record. */
bool sync_list(
	struct pool *pool, const char *folder, struct sync_list *out, struct err *err) NODISCARD;
/* "enabled", "gone" or "replaced" (another directory lies there now: it does not count). */
const char *sync_dir_state(const struct sync_dir *dir);
/* The directory as it would be recorded, without links; ERR_INVALID where it is none that can be
 * enabled (one that holds the record, or folders whose names say credentials). */
bool sync_may_allow(struct pool *pool, const char *folder, const char *dir, const char **path,
	struct err *err) NODISCARD;
/* Records it; once more for one that was replaced. Whether a person agreed is the caller's matter.
 */
bool sync_allow(struct pool *pool, const char *folder, const char *path, struct err *err) NODISCARD;
/* Takes it out of the record, also where it is gone by now. ERR_NOT_FOUND: it was not in there. */
bool sync_forbid(struct pool *pool, const char *folder, const char *dir, struct err *err) NODISCARD;
/* Opens dir. ERR_FORBIDDEN (sync_not_enabled) unless it is enabled or lies below one that is. */
bool sync_open(struct pool *pool, const char *folder, const char *dir, struct sync_place *out,
	struct err *err) NODISCARD;
