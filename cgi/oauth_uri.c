/*
 * Redirect addresses. Nothing is normalised: what differs in one character is another address.
 */
#include "oauth_uri.h"

#include <string.h>
#include <strings.h>

#include "json.h"
#include "text.h"

#define SCHEME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789+.-"
#define HOST_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"

/* Editors whose scheme has no dot. */
static const char *const programs[] = {
	"cursor", "vscode", "vscode-insiders", "vscodium", "windsurf", "zed", "claude"};
static const char *const loopback[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};

/* Bytes of the scheme and host of a loopback address; 0: it is none. */
static size_t loopback_length(const char *uri)
{
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
		size_t n = strlen(loopback[i]);

		if (!strncmp(uri, loopback[i], n) && (!uri[n] || strchr(":/?", uri[n])))
			return n;
	}
	return 0;
}

/* Bytes of ":8080" at s; 0: there is none, or it is not a port. */
static size_t port_length(const char *s)
{
	size_t n = *s == ':' ? strspn(s + 1, "0123456789") : 0;

	return n >= 1 && n <= 5 ? n + 1 : 0;
}

static bool is_program(const char *uri, size_t scheme)
{
	if (memchr(uri, '.', scheme))
		return true;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strlen(programs[i]) == scheme && !memcmp(programs[i], uri, scheme))
			return true;
	return false;
}

/* Host, port and what follows of "https://HOST...": no user, no odd characters. */
static bool is_authority(const char *host)
{
	size_t n = strspn(host, HOST_CHARS);

	if (!n)
		return false;
	host += n;
	if (*host == ':' && !port_length(host))
		return false;
	host += port_length(host);
	return !*host || *host == '/' || *host == '?';
}

bool oauth_uri_is_good(const char *uri)
{
	size_t scheme = strspn(uri, SCHEME_CHARS), n = strlen(uri), local = loopback_length(uri);

	if (n > OAUTH_URI_MAX || !scheme || strncmp(uri + scheme, ":/", 2) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (uri[i] <= ' ' || uri[i] > '~' || strchr("\"'<>\\^`{|}#", uri[i]))
			return false;
	if (text_has_prefix(uri, "https://"))
		return is_authority(uri + strlen("https://"));
	if (local)
		return uri[local] != ':' ||
		       (port_length(uri + local) &&
			       strchr("/?", uri[local + port_length(uri + local)]));
	return is_program(uri, scheme);
}

/* Is a path's segment "." or "..", also where its dots are escaped? */
static bool is_dots(const char *s, size_t n)
{
	int dots = 0;

	for (size_t i = 0; i < n; dots++) {
		if (s[i] == '.')
			i++;
		else if (n - i >= 3 && !strncasecmp(s + i, "%2e", 3))
			i += 3;
		else
			return false;
	}
	return dots == 1 || dots == 2;
}

bool oauth_uri_is_document(const char *uri)
{
	const char *path;

	if (!text_has_prefix(uri, "https://") || !oauth_uri_is_good(uri) ||
		strstr(uri, "//") != uri + 6 || strstr(uri + 8, "//"))
		return false;
	path = strpbrk(uri + strlen("https://"), "/?");
	if (!path || *path != '/' || !path[1] || path[1] == '?')
		return false;
	for (size_t n; *path == '/'; path += n) {
		path++;
		n = strcspn(path, "/?");
		if (is_dots(path, n))
			return false;
	}
	return true;
}

bool oauth_uri_is_loopback(const char *uri)
{
	return loopback_length(uri) > 0;
}

/* The same but for the port of loopback. */
static bool is_same(const char *a, const char *b)
{
	size_t n = loopback_length(a);

	if (!n || n != loopback_length(b) || memcmp(a, b, n) != 0)
		return !strcmp(a, b);
	return !strcmp(a + n + port_length(a + n), b + n + port_length(b + n));
}

bool oauth_uri_is_listed(struct json_object *list, const char *uri)
{
	const char *one;

	for (size_t i = 0; i < json_count(list); i++)
		if (json_as_text(json_at(list, i), &one) && is_same(one, uri))
			return true;
	return false;
}

const char *oauth_uri_host(const char *uri, size_t *n)
{
	size_t scheme = strcspn(uri, ":");

	if (!text_has_prefix(uri, "https://") && !loopback_length(uri)) {
		*n = scheme;
		return uri;
	}
	*n = strcspn(uri + scheme + 3, "/?");
	return uri + scheme + 3;
}
