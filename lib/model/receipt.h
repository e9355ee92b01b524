#pragma once
/*
 * Receipts: a signed record of one exec or turn. The body is JSON made by PostgreSQL of rows alone
 * (sql/migrations/0010_receipts.sql). What is handed out is the body's members, to be read, and
 * "signature": base64 of an Ed25519 signature and of the very bytes that it signs. So whoever
 * changes what is read has the true record beside it, and receipt_verify names each member that
 * says something else; whoever changes the signature has no receipt.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct json_object;
struct pool;

#define RECEIPT_FORMAT "agent-sandbox receipt 1"
#define RECEIPT_NAME_SIZE 32 /* "receipt-", 16 characters, NUL, and room */
#define RECEIPT_KEY_SIZE 64  /* "ed25519:" and 44 characters of base64, NUL, and room */
#define RECEIPT_SIGNATURE 64 /* bytes */
#define RECEIPT_MAX (4 << 20)

struct receipt_key {
	unsigned char secret[64];
	char name[RECEIPT_KEY_SIZE]; /* the public half, as people and rows write it */
};
/* Of its seed: 32 bytes as 43 characters of base64 for URLs, without padding. */
bool receipt_key_read(const char *seed, struct receipt_key *out, struct err *err) NODISCARD;
/* Whether this is a public key as it is written; spaces around it are the caller's to cut. */
bool receipt_key_is_name(const char *name);
void receipt_sign(const struct receipt_key *key, const char *body, size_t n,
	unsigned char signature[RECEIPT_SIGNATURE]);

struct receipt_verdict {
	bool valid; /* signed by the key that was asked for, and nothing was changed since */
	/* What was signed, and who signed it; NULL: no signature holds. */
	struct json_object *signed_body; /* of the pool */
	const char *key;
	const char *const *faults; /* NULL-ended: "member: what is wrong with it"; none: valid */
	size_t nfaults;
};
/* key: who must have signed it; NULL: whoever it says. ERR_INVALID where the text is no receipt at
 * all. Values in faults are as the document says them: hostile. */
bool receipt_verify(struct pool *pool, const char *text, size_t n, const char *key,
	struct receipt_verdict *out, struct err *err) NODISCARD;
