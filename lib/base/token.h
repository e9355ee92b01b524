#pragma once
/*
 * Tokens that say what they are: asb_KIND_ + 30 random characters of [0-9A-Za-z] (178 bits) + their
 * CRC-32 in 6 more. A mistyped one, and most of what is no token at all, is known without asking
 * anybody, and a scanner for secrets finds it by
 *
 *	asb_(key|oauth|refresh|code)_[0-9A-Za-z]{36}
 */
#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_KEY,     /* an API key */
	TOKEN_OAUTH,   /* an access token of a connected client */
	TOKEN_REFRESH, /* what it gets the next one for */
	TOKEN_CODE,    /* what it gets the first one for */
	TOKEN_KIND__COUNT
};

#define TOKEN_SIZE 56 /* "asb_refresh_", 36 characters, NUL, and room */
/* What may be shown of one, to know it by: as far as four of its random characters. */
#define TOKEN_PREFIX_SIZE 20

void token_make(enum token_kind kind, char out[TOKEN_SIZE]);
/* The whole text is a token whose CRC is right. */
bool token_parse(const char *text, enum token_kind *kind);
void token_prefix(const char *token, char out[TOKEN_PREFIX_SIZE]);
/* Is there a token anywhere in the text? */
bool token_is_within(const char *text);
