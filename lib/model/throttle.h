#pragma once
/*
 * Failed sign-ins by address. Only failures are counted: whoever has a valid token is never held.
 */
#include <stdint.h>

#include "err.h"

struct db;

/* After this many failures within 10 minutes the next ones are told to wait. */
#define THROTTLE_FAILURES 20

/* Counts a failure of the address (an IPv6 one by its /64). ERR_LIMITED from the 21st on, with the
 * seconds to wait in *retry_s; otherwise true. */
bool throttle_fail(struct db *db, const char *address, int64_t *retry_s, struct err *err) NODISCARD;
