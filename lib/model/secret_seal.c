/*
 * Sealing: crypto_box_seal of libsodium, which whoever has the public half can do and only who has
 * the other can undo. What is sealed begins with the row it belongs to.
 */
#include "secret.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "pool.h"
#include "text.h"

#define KEY_PREFIX "x25519:"

static_assert(sizeof(((struct seal_key *)0)->public) == crypto_box_PUBLICKEYBYTES, "its size");
static_assert(sizeof(((struct seal_key *)0)->secret) == crypto_box_SECRETKEYBYTES, "its size");

bool seal_key_read(const char *seed, struct seal_key *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(SEAL_NAME_SIZE);
	unsigned char bytes[crypto_box_SEEDBYTES];
	size_t n;

	if (sodium_base642bin(bytes, sizeof(bytes), seed, strlen(seed), NULL, &n, NULL,
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING) ||
		n != sizeof(bytes))
		return err_set(
			err, ERR_INVALID, "ASB_SEAL_KEY: 32 bytes in base64 for URLs are wanted");
	(void)crypto_box_seed_keypair(out->public, out->secret, bytes);
	sodium_memzero(bytes, sizeof(bytes));
	(void)buf_adds(&text, KEY_PREFIX);
	base64_add(&text, out->public, sizeof(out->public));
	memcpy(out->name, text.data, text.len + 1);
	return true;
}

static bool key_decode(const char *name, unsigned char public[crypto_box_PUBLICKEYBYTES])
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(256);
	const size_t prefix = sizeof(KEY_PREFIX) - 1;

	if (!text_has_prefix(name, KEY_PREFIX) || strlen(name) >= SEAL_NAME_SIZE ||
		!base64_decode(name + prefix, strlen(name) - prefix, &bytes) ||
		bytes.len != crypto_box_PUBLICKEYBYTES)
		return false;
	memcpy(public, bytes.data, bytes.len);
	return true;
}

/* What stands before the value: the row. */
static const char *row_of(struct pool *pool, int64_t account_id, const char *name)
{
	return pool_printf(pool, "secret %lld %s\n", (long long)account_id, name);
}

bool secret_seal(struct pool *pool, const char *key, int64_t account_id, const char *name,
	const char *value, unsigned char **out, size_t *n, struct err *err)
{
	const char *row = row_of(pool, account_id, name);
	unsigned char public[crypto_box_PUBLICKEYBYTES];
	size_t row_n = strlen(row), plain_n = row_n + strlen(value);
	CLEANUP(free) char *plain = mem_alloc(plain_n + 1);

	if (!key_decode(key, public))
		return err_set(err, ERR_INTERNAL, "the gate's key in seal_keys is none");
	memcpy(plain, row, row_n);
	memcpy(plain + row_n, value, plain_n - row_n);
	*n = plain_n + crypto_box_SEALBYTES;
	*out = pool_alloc(pool, *n);
	(void)crypto_box_seal(*out, (const unsigned char *)plain, plain_n, public);
	sodium_memzero(plain, plain_n);
	return true;
}

bool secret_open(struct pool *pool, const struct seal_key *key, int64_t account_id,
	const char *name, const unsigned char *sealed, size_t n, const char **value,
	struct err *err)
{
	const char *row = row_of(pool, account_id, name);
	char *plain;

	if (n >= crypto_box_SEALBYTES && n < 2 * SECRET_VALUE_MAX) {
		plain = pool_alloc(pool, n - crypto_box_SEALBYTES + 1);
		if (!crypto_box_seal_open(
			    (unsigned char *)plain, sealed, n, key->public, key->secret) &&
			text_has_prefix(plain, row) && secret_is_value(plain + strlen(row))) {
			*value = plain + strlen(row);
			return true;
		}
	}
	(void)err_set(err, ERR_FORBIDDEN,
		"the secret %s cannot be opened: it was sealed for another site or another account",
		name);
	return err_advise(err, "secret_unreadable", "Enter it once more on the page of keys.");
}
