/*
 * The grammar of JSON, strictly: what json.c runs over a text before json-c sees it. Recursion ends
 * at JSON_DEPTH.
 */
#include "json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"

struct scan {
	const char *text;
	size_t n, at;
	int depth;
	size_t members;
	const char *wrong; /* what, at `at` */
};

static bool wrong(struct scan *s, const char *what)
{
	if (!s->wrong)
		s->wrong = what;
	return false;
}

static int peek(const struct scan *s)
{
	return s->at < s->n ? (unsigned char)s->text[s->at] : -1;
}

static void skip_space(struct scan *s)
{
	while (s->at < s->n && strchr(" \t\r\n", s->text[s->at]))
		s->at++;
}

/* The four digits at `at`, or -1. */
static int scan_hex4(struct scan *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++, s->at++) {
		int c = peek(s);

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
			v = v * 16 + (c | 0x20) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* After "\u": no NUL, and surrogates only as pairs. */
static bool scan_unicode(struct scan *s)
{
	int v = scan_hex4(s);

	if (v < 0)
		return wrong(s, "bad \\u escape");
	if (v == 0)
		return wrong(s, "\\u0000 is not taken");
	if (v >= 0xdc00 && v <= 0xdfff)
		return wrong(s, "lone surrogate");
	if (v >= 0xd800 && v <= 0xdbff) {
		if (s->n - s->at < 6 || s->text[s->at] != '\\' || s->text[s->at + 1] != 'u')
			return wrong(s, "lone surrogate");
		s->at += 2;
		v = scan_hex4(s);
		if (v < 0xdc00 || v > 0xdfff)
			return wrong(s, "lone surrogate");
	}
	return true;
}

static bool scan_string(struct scan *s)
{
	if (peek(s) < 0)
		return wrong(s, "unfinished");
	if (peek(s) == '\'')
		return wrong(s, "single quotes");
	if (peek(s) != '"')
		return wrong(s, "expected a string");
	s->at++;
	for (;;) {
		int c = peek(s);

		if (c < 0)
			return wrong(s, "unfinished string");
		if (c < 0x20)
			return wrong(s, "raw control character in a string");
		s->at++;
		if (c == '"')
			return true;
		if (c != '\\')
			continue;
		c = peek(s);
		if (c < 0 || !strchr("\"\\/bfnrtu", c))
			return wrong(s, "bad escape");
		s->at++;
		if (c == 'u' && !scan_unicode(s))
			return false;
	}
}

static size_t scan_digits(struct scan *s)
{
	size_t start = s->at;

	while (peek(s) >= '0' && peek(s) <= '9')
		s->at++;
	return s->at - start;
}

/* Integers must fit int64 and other numbers a finite double. */
static bool scan_number(struct scan *s)
{
	size_t start = s->at;
	bool integer = true;
	char text[64];
	int64_t v;

	if (peek(s) == '-')
		s->at++;
	if (peek(s) == '0')
		s->at++;
	else if (!scan_digits(s))
		return wrong(s, "expected a value");
	if (peek(s) == '.') {
		integer = false;
		s->at++;
		if (!scan_digits(s))
			return wrong(s, "bad number");
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		integer = false;
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		if (!scan_digits(s))
			return wrong(s, "bad number");
	}
	if (s->at - start >= sizeof(text))
		return wrong(s, "number too long");
	memcpy(text, s->text + start, s->at - start);
	text[s->at - start] = '\0';
	if (integer ? !text_to_i64(text, INT64_MIN, INT64_MAX, &v) : !isfinite(strtod(text, NULL)))
		return wrong(s, "number out of range");
	return true;
}

static bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (s->n - s->at < n || memcmp(s->text + s->at, word, n))
		return wrong(s, "expected a value");
	s->at += n;
	return true;
}

static bool scan_value(struct scan *s);

static bool scan_member(struct scan *s)
{
	if (!scan_string(s))
		return false;
	s->members++;
	skip_space(s);
	if (peek(s) != ':')
		return wrong(s, "expected ':'");
	s->at++;
	return scan_value(s);
}

/* An object or an array: `close` is its last character. */
static bool scan_container(struct scan *s, char close)
{
	if (++s->depth > JSON_DEPTH)
		return wrong(s, "nested too deep");
	s->at++;
	skip_space(s);
	if (peek(s) == close) {
		s->at++;
		s->depth--;
		return true;
	}
	for (;;) {
		skip_space(s);
		if (!(close == '}' ? scan_member(s) : scan_value(s)))
			return false;
		skip_space(s);
		if (peek(s) == close)
			break;
		if (peek(s) != ',')
			return wrong(s,
				peek(s) < 0 ? "unfinished" : "expected ',' or a closing bracket");
		s->at++;
	}
	s->at++;
	s->depth--;
	return true;
}

static bool scan_value(struct scan *s)
{
	skip_space(s);
	switch (peek(s)) {
	case '{':
		return scan_container(s, '}');
	case '[':
		return scan_container(s, ']');
	case '"':
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	case '\'':
		return wrong(s, "single quotes");
	default:
		return scan_number(s);
	}
}

bool json_scan(const char *text, size_t n, struct json_scanned *out)
{
	struct scan s = {.text = text, .n = n};

	skip_space(&s);
	if (s.at == s.n)
		(void)wrong(&s, "empty");
	else if (scan_value(&s)) {
		out->end = s.at;
		skip_space(&s);
		if (s.at != s.n)
			(void)wrong(&s, "something follows the value");
	}
	out->members = s.members;
	out->at = s.at;
	out->wrong = s.wrong;
	return !s.wrong;
}

/* Is the key at `start` this one? One that is written with escapes is not found here. */
static bool is_key(const struct scan *s, size_t start, const char *key)
{
	size_t n = strlen(key);

	return s->at - start == n + 2 && !memcmp(s->text + start + 1, key, n);
}

bool json_scan_member(const char *text, size_t n, const char *key, const char **at, size_t *len)
{
	struct scan s = {.text = text, .n = n};

	skip_space(&s);
	if (peek(&s) != '{')
		return false;
	while (peek(&s) == '{' || peek(&s) == ',') {
		size_t start;
		bool found;

		s.at++;
		skip_space(&s);
		start = s.at;
		if (!scan_string(&s))
			return false;
		found = is_key(&s, start, key);
		skip_space(&s);
		s.at++; /* the colon */
		skip_space(&s);
		start = s.at;
		if (!scan_value(&s))
			return false;
		if (found) {
			*at = text + start;
			*len = s.at - start;
			return true;
		}
		skip_space(&s);
	}
	return false;
}
