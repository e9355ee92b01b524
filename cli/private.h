#pragma once
/*
 * Files of this person that nobody else may write, and secrets that nobody else may read: in the
 * folder ~/.config/agent-sandbox of the password database (sync_allow.h says why not of HOME).
 */
#include <sys/types.h>

#include "err.h"

struct pool;

/* Ours, and nobody else's to write? type: S_IFREG or S_IFDIR. */
bool private_is(int fd, mode_t type);
/* Makes the folder, and the one above it. */
bool private_folder_make(struct pool *pool, const char *folder, struct err *err) NODISCARD;
/* The text of folder/name, at most max bytes; NULL where there is none. ERR_FORBIDDEN where another
 * user could have written or may read it. */
bool private_read(struct pool *pool, const char *folder, const char *name, size_t max, char **text,
	struct err *err) NODISCARD;
/* Puts it there, mode 0600, whole or not at all. */
bool private_write(struct pool *pool, const char *folder, const char *name, const char *text,
	struct err *err) NODISCARD;
