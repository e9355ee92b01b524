#pragma once
/*
 * Numbers, UTF-8 and times out of text and back. Every parser takes the whole string or nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Decimal with an optional minus, no spaces, within [min, max]. */
bool text_to_i64(const char *s, int64_t min, int64_t max, int64_t *out);
/* Valid UTF-8 (no surrogates, no overlong forms) without NUL. */
bool text_is_utf8(const char *s, size_t n);
/* Appends s made safe to show: invalid UTF-8 becomes U+FFFD, control characters other than \n and
 * \t go, so do ANSI escape sequences and bidirectional overrides. */
void text_add_sane(struct buf *b, const char *s, size_t n);
/* Only [A-Za-z0-9_.-], 1 to 128 long, not "." or "..". */
bool text_is_name(const char *s);
bool text_has_prefix(const char *s, const char *prefix);

/* Milliseconds since 1970, host's wall clock. For display and rows only. */
int64_t time_now_ms(void);
/* Milliseconds on CLOCK_BOOTTIME: for deadlines and leases, also across suspend. */
int64_t time_boot_ms(void);
/* RFC 3339 UTC with milliseconds, "2026-01-02T03:04:05.678Z". out holds 25 bytes. */
#define TIME_TEXT_SIZE 25
void time_text(int64_t ms, char out[TIME_TEXT_SIZE]);
