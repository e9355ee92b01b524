#pragma once
/*
 * Giving up privilege for good. Each call is checked by reading back what the kernel then says, so
 * that a drop that did not take is an error and not a surprise.
 */
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* Becomes uid and gid (real, effective, saved), without supplementary groups. As the uid and gid
 * it already has: nothing but the check. */
bool privdrop_become(uid_t uid, gid_t gid, struct err *err) NODISCARD;
/* No program run from here on gets more than we have (set-user-id bits are ignored). Inherited. */
bool privdrop_no_new_privs(struct err *err) NODISCARD;
/* Keeps exactly the named capabilities (CAP_ numbers), permitted and effective, drops the rest from
 * the bounding set too, and sets no_new_privs. For a process that runs as root. */
bool privdrop_keep(const int *caps, size_t n, struct err *err) NODISCARD;
/* No core files: they would hold what the memory holds. */
void privdrop_no_core(void);
