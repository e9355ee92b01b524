#pragma once
/*
 * Boxes: their row, their slot on a host and their states. Whoever makes one true holds a lease, so
 * every write here is fenced (job.h). gone and failed are ends; the database refuses to leave them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct db;
struct fence;
struct pool;

enum box_state {
	BOX_POOLED,
	BOX_CREATING,
	BOX_READY,
	BOX_STOPPED,
	BOX_DESTROYING,
	BOX_GONE,
	BOX_FAILED,
	BOX_STATE__COUNT
};
extern const char *const box_state_names[BOX_STATE__COUNT];

struct box {
	int64_t id, account_id;
	const char *name;
	enum box_state state;
	const char *runtime, *image, *size_class;
	int64_t memory_bytes, cpus, disk_bytes;
	const char *host; /* "" until placed, like every text below until it is known */
	int64_t slot;	  /* -1: none yet */
	int64_t pid, pid_start;
	const char *host_boot_id, *guest_boot_id, *guest_kernel, *template_key, *isolation, *reason;
};

bool box_get(
	struct db *db, struct pool *pool, int64_t id, struct box *out, struct err *err) NODISCARD;
/* The box's slot of nslots on its host, the one it has or the lowest free one; commits by itself,
 * so call it outside a transaction and before anything is started. ERR_LIMITED, reason "no_slot".
 */
bool box_assign_slot(struct db *db, const struct fence *f, int64_t box_id, const char *host,
	int64_t nslots, int64_t *slot, struct err *err) NODISCARD;
/* What asb-spawn answered, while the box is creating. template_key may be NULL. */
bool box_started(struct db *db, const struct fence *f, int64_t box_id, int64_t pid,
	int64_t pid_start, const char *host_boot_id, const char *template_key,
	const char *isolation, struct err *err) NODISCARD;
/* creating -> ready, with the proof. */
bool box_ready(struct db *db, const struct fence *f, int64_t box_id, const char *readback_json,
	const char *guest_boot_id, const char *guest_kernel, struct err *err) NODISCARD;
/* To BOX_DESTROYING (to end within deadline_ms), BOX_GONE or BOX_FAILED. reason may be NULL. Fine
 * where the box is there already; ERR_CONFLICT, reason "state", where it has ended otherwise. */
bool box_move(struct db *db, const struct fence *f, int64_t box_id, enum box_state to,
	const char *reason, int64_t deadline_ms, struct err *err) NODISCARD;
