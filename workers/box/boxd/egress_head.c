/*
 * The request line of a proxied request. Only what decides the way is read here; the gate parses
 * the rest, strictly, on its own side.
 */
#include "egress_head.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

/* Copies n bytes in lower case if each is in the allowed set; false otherwise or if it is long. */
static bool name_take(const char *s, size_t n, const char *allowed, char *out, size_t size)
{
	if (!n || n >= size)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!c || !strchr(allowed, c))
			return false;
		out[i] = c;
	}
	out[n] = '\0';
	return true;
}

/* host[:port], [v6][:port]. */
static bool authority_take(const char *s, size_t n, int port, struct egress_target *out)
{
	static const char host_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-._";
	static const char v6_chars[] = "abcdef0123456789:.";
	const char *host = s, *colon, *end = s + n;
	size_t host_n;
	char digits[8];
	int64_t v = port;
	bool ok;

	if (n && *s == '[') {
		const char *close = memchr(s, ']', n);

		if (!close)
			return false;
		host = s + 1;
		host_n = (size_t)(close - host);
		colon = close + 1;
		ok = name_take(host, host_n, v6_chars, out->name, sizeof(out->name));
	} else {
		colon = memchr(s, ':', n);
		if (!colon)
			colon = end;
		host_n = (size_t)(colon - host);
		ok = name_take(host, host_n, host_chars, out->name, sizeof(out->name));
	}
	if (!ok)
		return false;
	if (colon < end) {
		size_t len = (size_t)(end - colon - 1);

		if (*colon != ':' || len == 0 || len >= sizeof(digits))
			return false;
		memcpy(digits, colon + 1, len);
		digits[len] = '\0';
		if (!text_to_i64(digits, 1, 65535, &v))
			return false;
	}
	out->port = (int)v;
	return v > 0;
}

static bool route_take(const char *path, size_t n, struct egress_target *out)
{
	size_t len = 1;

	while (len < n && path[len] != '/' && path[len] != '?')
		len++;
	out->kind = EGRESS_ROUTE;
	return len > 1 && len <= 33 &&
	       name_take(path, len, "/abcdefghijklmnopqrstuvwxyz0123456789-", out->name,
		       sizeof(out->name));
}

static bool target_take(bool connect, const char *s, size_t n, struct egress_target *out)
{
	static const char http[] = "http://";
	size_t len = 0;

	if (connect) {
		out->kind = EGRESS_CONNECT;
		return authority_take(s, n, 0, out);
	}
	if (n && *s == '/')
		return route_take(s, n, out);
	if (n <= sizeof(http) - 1 || strncasecmp(s, http, sizeof(http) - 1) != 0)
		return false;
	s += sizeof(http) - 1;
	n -= sizeof(http) - 1;
	while (len < n && s[len] != '/' && s[len] != '?')
		len++;
	out->kind = EGRESS_HTTP;
	return authority_take(s, len, 80, out);
}

enum egress_head egress_head_read(
	const char *in, size_t n, struct egress_target *out, const char **wrong)
{
	const char *end = memmem(in, n, "\r\n\r\n", 4), *line, *space, *last;

	*wrong = "the request is not HTTP/1.1, or its head is longer than 32 KiB\n";
	if (!end)
		return n > EGRESS_HEAD_MAX ? EGRESS_BAD : EGRESS_MORE;
	out->head_bytes = (size_t)(end - in) + 4;
	line = memmem(in, n, "\r\n", 2);
	space = memchr(in, ' ', (size_t)(line - in));
	last = memrchr(in, ' ', (size_t)(line - in));
	if (!space || space == in || last == space || line - last != 9 ||
		memcmp(last + 1, "HTTP/1.", 7) != 0 || out->head_bytes > EGRESS_HEAD_MAX)
		return EGRESS_BAD;
	*wrong = "the proxy takes CONNECT host:port, http:// URLs and its own routes only\n";
	if (!target_take(space - in == 7 && memcmp(in, "CONNECT", 7) == 0, space + 1,
		    (size_t)(last - space - 1), out))
		return EGRESS_BAD;
	return EGRESS_WHOLE;
}
