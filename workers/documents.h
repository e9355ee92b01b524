#pragma once
/*
 * What asb-gate does beside its boxes, for asb-web: it reads the documents by which OAuth clients
 * describe themselves (document.h). In a process of its own, and one more for each: it waits for
 * hosts that anybody may name, and boxes and receipts do not wait with it.
 */
#include <sys/types.h>

#include "err.h"

struct config;

/* Starts it; it dies with us. To be called before anything is open. *pid 0: the site takes no
 * documents. */
bool documents_start(const struct config *cfg, pid_t *pid, struct err *err) NODISCARD;
