#pragma once
/*
 * Addresses that a client may be sent back to. A browser is told to go there with a code, so they
 * are held to a narrow form: https, http on loopback, or a scheme of a program on the person's own
 * machine (one with a dot in it, or of the short list in oauth_uri.c).
 */
#include <stdbool.h>
#include <stddef.h>

struct json_object;

#define OAUTH_URI_MAX 1000 /* bytes */

bool oauth_uri_is_good(const char *uri);
/* Is the uri one of the array's? Character by character, but for the port of loopback, which a
 * program on the person's machine does not know before. */
bool oauth_uri_is_listed(struct json_object *list, const char *uri);
/* May it be the address of a document by which a client describes itself (a client_id)? https, with
 * a path, without a fragment, a user, and segments "." and "..". */
bool oauth_uri_is_document(const char *uri);
bool oauth_uri_is_loopback(const char *uri);
/* What a person is shown: host and port, or the scheme where it is a program's. Points into the
 * uri, n bytes of it. */
const char *oauth_uri_host(const char *uri, size_t *n);
