/*
 * Making and recognising tokens. The CRC is over everything before it, so that one kind's token is
 * not another's either; it is no secret and stands for nothing but typing errors.
 */
#include "token.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "random.h"

#define RANDOM_CHARS 30
#define CRC_CHARS 6
#define DIGITS 62

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static const char *const prefixes[TOKEN_KIND__COUNT] = {
	[TOKEN_KEY] = "asb_key_",
	[TOKEN_OAUTH] = "asb_oauth_",
	[TOKEN_REFRESH] = "asb_refresh_",
	[TOKEN_CODE] = "asb_code_",
};

/* IEEE 802.3, as in zlib and PNG. */
static uint32_t crc32_of(const char *data, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= (unsigned char)data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* Of the n bytes at token. */
static void crc_text(const char *token, size_t n, char out[CRC_CHARS + 1])
{
	uint32_t crc = crc32_of(token, n);

	for (int i = CRC_CHARS - 1; i >= 0; i--) {
		out[i] = digits[crc % DIGITS];
		crc /= DIGITS;
	}
	out[CRC_CHARS] = '\0';
}

/* Each digit is as likely as any other: bytes that would favour the first ones are drawn again. */
static char random_digit(void)
{
	unsigned char b;

	do
		random_bytes(&b, 1);
	while (b >= 256 / DIGITS * DIGITS);
	return digits[b % DIGITS];
}

void token_make(enum token_kind kind, char out[TOKEN_SIZE])
{
	size_t n = strlen(prefixes[kind]);

	memcpy(out, prefixes[kind], n);
	for (size_t i = 0; i < RANDOM_CHARS; i++)
		out[n++] = random_digit();
	crc_text(out, n, out + n);
}

/* How many characters of the text are a token that begins there; 0: none does. */
static size_t token_length(const char *text, enum token_kind *kind)
{
	char crc[CRC_CHARS + 1];

	for (int k = 0; k < TOKEN_KIND__COUNT; k++) {
		size_t n = strlen(prefixes[k]);

		if (strncmp(text, prefixes[k], n) != 0 ||
			strspn(text + n, digits) < RANDOM_CHARS + CRC_CHARS)
			continue;
		crc_text(text, n + RANDOM_CHARS, crc);
		*kind = (enum token_kind)k;
		return memcmp(text + n + RANDOM_CHARS, crc, CRC_CHARS)
			       ? 0
			       : n + RANDOM_CHARS + CRC_CHARS;
	}
	return 0;
}

bool token_parse(const char *text, enum token_kind *kind)
{
	size_t n = token_length(text, kind);

	return n && !text[n];
}

void token_prefix(const char *token, char out[TOKEN_PREFIX_SIZE])
{
	const char *secret = strrchr(token, '_') + 1;

	(void)snprintf(out, TOKEN_PREFIX_SIZE, "%.*s", (int)(secret + 4 - token), token);
}

bool token_is_within(const char *text)
{
	enum token_kind kind;

	for (const char *at = strstr(text, "asb_"); at; at = strstr(at + 1, "asb_"))
		if (token_length(at, &kind))
			return true;
	return false;
}
