#pragma once
/*
 * Getting a box to work in: made if its row says creating, adopted if it is there already. And the
 * end of one that died. "A row before a thing": the slot is committed before spawn is asked.
 */
#include <stdbool.h>
#include <stdint.h>

#include "box.h"
#include "err.h"

struct guest;
struct runner;
struct spawn_reply;

/* Attaches g in lane to the job's box, which is ready. agent: the stream that is to be followed (0:
 * none). On failure the reason is one of turns.reason where the box itself is to blame: box_lost
 * ... */
bool provision_attach(struct runner *r, struct guest *g, const char *lane, uint32_t agent,
	int64_t deadline, struct err *err) NODISCARD;
/* The same, and makes the box first where it is only a row: provision, policy ... */
bool provision_box(struct runner *r, struct guest *g, const char *lane, uint32_t agent,
	int64_t deadline, struct err *err) NODISCARD;
/* The two halves of making: a box that is only a row gets its process and g is attached to it (one
 * that was claimed from the pool has one, which goes on, or is ended where it does not); then what
 * the kernel says is compared, the box tries to reach out, and its row says ready. What is to be
 * done in the box before it is handed out is done in between. */
bool provision_start(struct runner *r, struct guest *g, const char *lane, struct spawn_reply *s,
	int64_t deadline, struct err *err) NODISCARD;
bool provision_prove(struct runner *r, struct guest *g, const struct spawn_reply *s,
	int64_t deadline, struct err *err) NODISCARD;
/* The proof alone. */
bool provision_check(struct runner *r, struct guest *g, const struct spawn_reply *s,
	int64_t deadline, struct box_proof *proof, struct err *err) NODISCARD;
/* Kills what is there of the box, then lets its row end (gone or failed) with the reason and a
 * sentence, sanitised (NULL: none). False, and the row as it was, where it is not proved gone. */
bool provision_gone(struct runner *r, enum box_state state, const char *reason, const char *detail,
	struct err *err) NODISCARD;
/* The same from any job but the box's destroy: where it is not proved gone, such a job is left that
 * will do it. */
bool provision_end(struct runner *r, enum box_state state, const char *reason, const char *detail,
	struct err *err) NODISCARD;
