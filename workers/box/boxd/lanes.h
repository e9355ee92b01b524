#pragma once
/*
 * Freezing and thawing lanes. "drive" is frozen as a whole (driver/ in the group tree); other
 * lanes by each of their execs. Time that the drive lane was frozen does not count for time-outs.
 */
#include <stdbool.h>
#include <stdint.h>

struct boxd;
struct boxjson;
struct err;
struct exec;

bool lane_freeze_request(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
bool lane_thaw_request(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
/* Both are fine when it is so already. */
void lane_drive_freeze(struct boxd *b);
void lane_drive_thaw(struct boxd *b);
/* For a question whose asker does not wait: all of the lane freezes at once but the chain from pid
 * up to the main process of e, and that after 5 s. */
void lane_freeze_around(struct exec *e, int pid);
