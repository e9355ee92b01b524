/*
 * Encodings over libsodium where it has them.
 */
#include "encode.h"

#include <string.h>

#include <sodium.h>

void hex_encode(const void *data, size_t n, char *out)
{
	(void)sodium_bin2hex(out, 2 * n + 1, data, n);
}

bool hex_decode(const char *hex, void *out, size_t n)
{
	size_t got;

	return strlen(hex) == 2 * n && !sodium_hex2bin(out, n, hex, 2 * n, NULL, &got, NULL) &&
	       got == n;
}

static void add(struct buf *b, const void *data, size_t n, int variant)
{
	size_t size = sodium_base64_encoded_len(n, variant);
	char *to = buf_room(b, size);

	if (!to)
		return;
	(void)sodium_bin2base64(to, size, data, n, variant);
	buf_grew(b, size - 1);
}

static bool decode(const char *s, size_t n, struct buf *out, int variant)
{
	size_t room = n / 4 * 3 + 3, got;
	char *to = buf_room(out, room);

	if (!to || sodium_base642bin((unsigned char *)to, room, s, n, NULL, &got, NULL, variant))
		return false;
	buf_grew(out, got);
	return true;
}

void base64_add(struct buf *b, const void *data, size_t n)
{
	add(b, data, n, sodium_base64_VARIANT_ORIGINAL);
}

bool base64_decode(const char *s, size_t n, struct buf *out)
{
	return decode(s, n, out, sodium_base64_VARIANT_ORIGINAL);
}

void base64url_add(struct buf *b, const void *data, size_t n)
{
	add(b, data, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool base64url_decode(const char *s, size_t n, struct buf *out)
{
	return decode(s, n, out, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void url_add(struct buf *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.~";

	for (; *s; s++)
		if (strchr(plain, *s))
			(void)buf_addc(b, *s);
		else
			(void)buf_addf(b, "%%%02X", (unsigned)(unsigned char)*s);
}

bool url_decode(char *s, bool plus)
{
	char *to = s;

	for (; *s; s++) {
		unsigned char c;

		if (*s == '+' && plus) {
			*to++ = ' ';
		} else if (*s != '%') {
			*to++ = *s;
		} else {
			char hex[3] = {s[1], s[1] ? s[2] : '\0', '\0'};

			if (!hex_decode(hex, &c, 1) || !c)
				return false;
			*to++ = (char)c;
			s += 2;
		}
	}
	*to = '\0';
	return true;
}

void sha256(const void *data, size_t n, unsigned char out[SHA256_SIZE])
{
	(void)crypto_hash_sha256(out, data, n);
}

void hmac_sha256(
	const void *key, size_t key_n, const void *data, size_t n, unsigned char out[SHA256_SIZE])
{
	crypto_auth_hmacsha256_state st;

	(void)crypto_auth_hmacsha256_init(&st, key, key_n);
	(void)crypto_auth_hmacsha256_update(&st, data, n);
	(void)crypto_auth_hmacsha256_final(&st, out);
}

bool secret_equal(const void *a, const void *b, size_t n)
{
	return !sodium_memcmp(a, b, n);
}
