#pragma once
/*
 * Secrets of an account: what the gate says to others in its name. A person enters one on a page;
 * asb-web seals it to the gate's public key, with the account and the name inside, and from then on
 * nobody reads it but asb-gate. secret_kinds is THE table of those that there are.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct config;
struct db;
struct pool;

enum secret_id { SECRET_ANTHROPIC_API_KEY, SECRET__COUNT };

struct secret_kind {
	const char *title; /* for people */
	const char *use;   /* what the gate does with it, one sentence */
};

extern const char *const secret_names[SECRET__COUNT + 1]; /* by id; ends with NULL */
extern const struct secret_kind secret_kinds[SECRET__COUNT];

#define SECRET_VALUE_MAX 1024 /* bytes: it goes into one header */

/* One that can stand in a header: 1 to SECRET_VALUE_MAX visible ASCII characters. */
bool secret_is_value(const char *value);

/* --- sealing: secret_seal.c --- */

#define SEAL_NAME_SIZE 64 /* "x25519:" and 44 characters of base64, NUL, and room */

struct seal_key {
	unsigned char public[32], secret[32];
	char name[SEAL_NAME_SIZE]; /* the public half, as rows write it */
};
/* Of its seed: 32 bytes as 43 characters of base64 for URLs, without padding. */
bool seal_key_read(const char *seed, struct seal_key *out, struct err *err) NODISCARD;
/* To the key of this name. The bytes are the pool's. */
bool secret_seal(struct pool *pool, const char *key, int64_t account_id, const char *name,
	const char *value, unsigned char **out, size_t *n, struct err *err) NODISCARD;
/* ERR_FORBIDDEN where it is sealed to another key, or belongs to another row. */
bool secret_open(struct pool *pool, const struct seal_key *key, int64_t account_id,
	const char *name, const unsigned char *sealed, size_t n, const char **value,
	struct err *err) NODISCARD;

/* --- rows --- */

/* Enters it, or puts it in the place of the one before. ERR_BUSY: the gate has told no key yet. */
bool secret_put(struct db *db, struct pool *pool, int64_t account_id, const char *name,
	const char *value, struct err *err) NODISCARD;
/* Also one that is not there. */
bool secret_delete(struct db *db, int64_t account_id, const char *name, struct err *err) NODISCARD;
/* Has the operator set one for all accounts? The gate takes it where the account has none. */
bool secret_is_of_site(const struct config *cfg, enum secret_id id);
/* Is there one, of the account or of the site? */
bool secret_is_set(struct db *db, const struct config *cfg, int64_t account_id, enum secret_id id,
	bool *out, struct err *err) NODISCARD;
/* For asb-gate: *value NULL where there is none. That it was used is noted. */
bool secret_use(struct db *db, struct pool *pool, const struct seal_key *key, int64_t account_id,
	const char *name, const char **value, struct err *err) NODISCARD;
