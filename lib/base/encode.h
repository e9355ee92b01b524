#pragma once
/* Hex, base64 and URL encoding; SHA-256 and HMAC; comparison in constant time. */
#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

/* Lower-case hex; out holds 2n+1 bytes. */
void hex_encode(const void *data, size_t n, char *out);
bool hex_decode(const char *hex, void *out, size_t n);	      /* exactly 2n digits */
void base64_add(struct buf *b, const void *data, size_t n);   /* with padding */
bool base64_decode(const char *s, size_t n, struct buf *out); /* strict */
/* base64url without padding, as it may stand in a URL. */
void base64url_add(struct buf *b, const void *data, size_t n);
bool base64url_decode(const char *s, size_t n, struct buf *out);
void url_add(struct buf *b, const char *s); /* percent-encodes all but unreserved */
/* Decodes %XX in place (and + where plus is set). False on a bad escape or a NUL. */
bool url_decode(char *s, bool plus);

#define SHA256_SIZE 32
void sha256(const void *data, size_t n, unsigned char out[SHA256_SIZE]);
void hmac_sha256(
	const void *key, size_t key_n, const void *data, size_t n, unsigned char out[SHA256_SIZE]);
bool secret_equal(const void *a, const void *b, size_t n);
