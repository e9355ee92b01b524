#pragma once
/*
 * Boxes: their row, their slot on a host and their states. Whoever makes one true holds a lease, so
 * every write here is fenced (job.h). gone and failed are ends; the database refuses to leave them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "turn.h"

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
	int64_t id;
	const char *name;
	enum box_state state;
	const char *runtime, *image, *size_class;
	int64_t memory_bytes, cpus;
	int slot;		   /* on its host; -1: none yet */
	const char *guest_boot_id; /* "": it was never ready */
	/* of its process, where there is one: box_started's */
	const char *isolation, *readback;
	bool is_pooled; /* it stands paused in the pool, or did when it was claimed */
	/* of a sandbox; otherwise "" and 0 */
	const char *language, *packages; /* packages: JSON */
	const char *packages_from;	 /* a lock file in the tree */
	int64_t upload_id;
};

bool box_get(
	struct db *db, struct pool *pool, int64_t id, struct box *out, struct err *err) NODISCARD;
/* The box's slot of nslots on its host, the one it has or the lowest free one, while the box is
 * creating; commits by itself, so call it outside a transaction and before anything is started.
 * ERR_LIMITED, reason "no_slot". */
bool box_assign_slot(struct db *db, const struct fence *f, int64_t box_id, const char *host,
	const char *host_boot_id, int64_t nslots, int *slot, struct err *err) NODISCARD;

/* What asb-spawn answered, while the box is creating. */
struct box_process {
	int64_t pid, pid_start;
	const char *isolation;
	const char *template_key; /* NULL: cold boot */
	const char *readback;	  /* JSON */
};
bool box_started(struct db *db, const struct fence *f, int64_t box_id,
	const struct box_process *process, struct err *err) NODISCARD;

/* creating -> ready, with what the guest said. ERR_FORBIDDEN, reason "network_leak": a sandbox that
 * the gate would serve. */
struct box_proof {
	const char *boot_id, *kernel;
	const char *machine, *probe; /* JSON */
};
bool box_ready(struct db *db, const struct fence *f, int64_t box_id, const struct box_proof *proof,
	struct err *err) NODISCARD;
/* n numbers for streams of the box's channel that nobody ever had, from *first on. */
bool box_take_streams(struct db *db, const struct fence *f, int64_t box_id, int64_t n,
	int64_t *first, struct err *err) NODISCARD;
/* To BOX_DESTROYING (to end within deadline_ms), BOX_GONE or BOX_FAILED. reason and detail (a
 * sentence for people, sanitised) may be NULL. A box that has ended stays as it ended. */
bool box_move(struct db *db, const struct fence *f, int64_t box_id, enum box_state to,
	const char *reason, const char *detail, int64_t deadline_ms, struct err *err) NODISCARD;

/* How what was begun in a box ends with it. */
struct box_ending {
	enum turn_state turn;
	enum turn_reason reason;
	const char *detail;	 /* of the turns; NULL: none */
	const char *exec_reason; /* of the execs */
};
/* For the destroy job f of the box, in a transaction: to BOX_DESTROYING, so that nobody begins
 * anything in it any more, and whatever was begun ends: turns, execs, and their jobs. */
bool box_destroying(struct db *db, const struct fence *f, int64_t box_id,
	const struct box_ending *end, int64_t deadline_ms, struct err *err) NODISCARD;
