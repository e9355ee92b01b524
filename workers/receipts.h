#pragma once
/*
 * What asb-gate does beside its boxes: it signs receipts of what has ended, in a process of its
 * own, so that neither waits for the other and what parses the bytes of boxes is not what signs.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

struct config;

/* Starts it; it dies with us. To be called before anything is open. *pid 0: the site has no key,
 * and nothing is signed. */
bool receipts_start(const struct config *cfg, pid_t *pid, struct err *err) NODISCARD;
