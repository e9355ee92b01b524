#pragma once
/*
 * Getting a box to work in: made if its row says creating, adopted if it is there already. And the
 * end of one that died. "A row before a thing": the slot is committed before spawn is asked.
 */
#include <stdbool.h>
#include <stdint.h>

#include "box.h"
#include "err.h"
#include "turn.h"

struct guest;
struct runner;

/* Attaches g in lane to the job's box, making the box first where it is only a row. agent: the
 * stream that is to be followed (0: none). On failure the reason is one of turns.reason where the
 * box itself is to blame: provision, policy, box_lost ... */
bool provision_box(struct runner *r, struct guest *g, const char *lane, uint32_t agent,
	int64_t deadline, struct err *err) NODISCARD;
/* Kills what is there of the box, then lets its row end (gone or failed). Where spawn does not
 * answer, a destroy job is left that will do it. */
bool provision_end(
	struct runner *r, enum box_state state, enum turn_reason reason, struct err *err) NODISCARD;
