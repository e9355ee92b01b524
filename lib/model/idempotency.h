#pragma once
/*
 * Idempotency-Key: the first request with a key does the work and its answer is kept, in the same
 * transaction as the work; later ones with the same route and body get that answer, others are
 * refused. Keys belong to an account. A request that fails leaves no key behind.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct db;
struct pool;

struct idempotency {
	int64_t account_id;
	const char *key;
	const char *route; /* method and path */
	const unsigned char *body_sha256;
};

/* Inside a transaction. *first: this request holds the key now (a second one waits here for the
 * end of the first's transaction). Otherwise status and response are the kept answer. ERR_INVALID
 * with reason "idempotency" where the key was used for something else. */
bool idempotency_claim(struct db *db, struct pool *pool, const struct idempotency *key, bool *first,
	int *status, const char **response, struct err *err) NODISCARD;
/* Before it, for a key that the caller did not make up but that stands for what was asked, and
 * keeps the name of a run: forgets it, but not while that run goes on, nor for keep_ms after it is
 * done unless it was torn down. */
bool idempotency_forget(
	struct db *db, const struct idempotency *key, int64_t keep_ms, struct err *err) NODISCARD;
bool idempotency_store(struct db *db, const struct idempotency *key, int status,
	const char *response, struct err *err) NODISCARD;
