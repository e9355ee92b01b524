#pragma once
/*
 * QEMU's monitor protocol, as much as is needed: one command, one answer, over a connected socket.
 * No state is kept between calls, so the descriptor can be handed about. The other side is a
 * process that a guest may have taken over: lines are bounded, every wait has an end, and nothing
 * of an answer is believed but its shape.
 */
#include <stdbool.h>

#include "err.h"

struct json_object;

/* Reads the greeting and leaves negotiation mode. */
bool qmp_open(int fd, int timeout_ms, struct err *err) NODISCARD;
/* Sends `text` (one command, JSON without a newline), with pass_fd along where it is not -1, and
 * reads up to its answer; events before it are dropped. answer (may be NULL) gets the reply,
 * whose "return" is there; the caller frees it. ERR_UPSTREAM with QEMU's words where it refuses. */
bool qmp_command(int fd, const char *text, int pass_fd, int timeout_ms, struct json_object **answer,
	struct err *err) NODISCARD;
/* Reads until the event has come; answers on the way are an error. */
bool qmp_wait_event(int fd, const char *event, int timeout_ms, struct err *err) NODISCARD;
