/*
 * Numbers, UTF-8 and times.
 */
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool text_to_i64(const char *s, int64_t min, int64_t max, int64_t *out)
{
	const char *p = s + (s[0] == '-');
	char *end;
	long long v;

	if (*p < '0' || *p > '9')
		return false;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*out = v;
	return true;
}

/* Length of the valid UTF-8 sequence at s (at most n bytes left), 0 where there is none. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
	uint32_t c;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (len > n)
		return 0;
	c = s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if ((len == 3 && c < 0x800) || (len == 4 && (c < 0x10000 || c > 0x10ffff)) ||
		(c >= 0xd800 && c <= 0xdfff))
		return 0;
	return len;
}

bool text_is_utf8(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = utf8_len(p + i, n - i);
		if (!len || !p[i])
			return false;
	}
	return true;
}

/* Length of the escape sequence at s (s[0] is ESC): CSI up to its final byte, OSC and the other
 * string kinds up to BEL or ST, otherwise two bytes. An unfinished one takes the rest. */
static size_t escape_len(const unsigned char *s, size_t n)
{
	size_t i = 2;

	if (n < 2)
		return n;
	if (s[1] == '[') {
		while (i < n && (s[i] < 0x40 || s[i] > 0x7e))
			i++;
		return i < n ? i + 1 : n;
	}
	if (s[1] == ']' || s[1] == 'P' || s[1] == 'X' || s[1] == '^' || s[1] == '_') {
		for (; i < n; i++) {
			if (s[i] == 0x07)
				return i + 1;
			if (s[i] == 0x1b && i + 1 < n && s[i + 1] == '\\')
				return i + 2;
		}
		return n;
	}
	return 2;
}

static bool is_bidi(const unsigned char *s, size_t len)
{
	/* U+202A..U+202E, U+2066..U+2069, U+200E, U+200F */
	return len == 3 && s[0] == 0xe2 &&
	       ((s[1] == 0x80 &&
			((s[2] >= 0xaa && s[2] <= 0xae) || s[2] == 0x8e || s[2] == 0x8f)) ||
		       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

void text_add_sane(struct buf *b, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = utf8_len(s + i, n - i);
		if (!len) {
			len = 1;
			(void)buf_adds(b, "\xef\xbf\xbd");
		} else if (s[i] == 0x1b) {
			len = escape_len(s + i, n - i);
		} else if ((s[i] < 0x20 && s[i] != '\n' && s[i] != '\t') || s[i] == 0x7f ||
			   (s[i] == 0xc2 && s[i + 1] < 0xa0) || is_bidi(s + i, len)) {
			continue;
		} else {
			(void)buf_add(b, s + i, len);
		}
	}
}

bool text_is_name(const char *s)
{
	size_t n = strlen(s);

	if (n < 1 || n > 128 || !strcmp(s, ".") || !strcmp(s, ".."))
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

bool text_has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static int64_t clock_ms(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t time_now_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

int64_t time_boot_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

void time_text(int64_t ms, char out[TIME_TEXT_SIZE])
{
	time_t t = ms / 1000;
	struct tm tm;
	char date[20];

	(void)gmtime_r(&t, &tm);
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(out, TIME_TEXT_SIZE, "%s.%03uZ", date, (unsigned)(ms % 1000) % 1000);
}
