/*
 * Parsing and matching git upstreams.
 */
#include "upstream.h"

#include <string.h>

#include "field.h"
#include "pool.h"
#include "text.h"

static bool add(struct pool *pool, struct upstreams *list, struct upstream *v, const char *word,
	size_t n, struct err *err)
{
	char *text = pool_memdup(pool, word, n), *url = strchr(text, '=');
	size_t len;

	if (!url)
		return err_set(err, ERR_INVALID, "must be NAME=URL words");
	*url++ = '\0';
	if (!text_is_name(text))
		return err_set(err, ERR_INVALID, "bad name %.60s", text);
	if (!text_has_prefix(url, "http://") && !text_has_prefix(url, "https://"))
		return err_set(
			err, ERR_INVALID, "%s: the URL must begin with http:// or https://", text);
	if (strpbrk(url, "@?#\"\\"))
		return err_set(err, ERR_INVALID,
			"%s: the URL must not hold user names, queries or fragments", text);
	for (len = strlen(url); len && url[len - 1] == '/'; len--)
		url[len - 1] = '\0';
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(v[i].name, text))
			return err_set(err, ERR_INVALID, "%s is named twice", text);
	v[list->n++] = (struct upstream){.name = text, .url = url};
	return true;
}

bool upstreams_parse(struct pool *pool, const char *text, struct upstreams *out, struct err *err)
{
	struct upstream *v = POOL_ARRAY(pool, struct upstream, strlen(text) / 2 + 1);
	struct upstreams list = {.v = v};
	size_t n;

	for (;; text += n) {
		text += strspn(text, " \t,");
		n = strcspn(text, " \t,");
		if (!n)
			break;
		if (!add(pool, &list, v, text, n, err))
			return false;
	}
	*out = list;
	return true;
}

const struct upstream *upstream_match(
	const struct upstreams *list, const char *repo, const char **owner_name)
{
	if (field_matches(FIELD_REPO, repo)) {
		*owner_name = repo;
		return list->n ? &list->v[0] : NULL;
	}
	for (size_t i = 0; i < list->n; i++) {
		size_t n = strlen(list->v[i].name);

		if (!strncmp(repo, list->v[i].name, n) && repo[n] == '/' &&
			field_matches(FIELD_REPO, repo + n + 1)) {
			*owner_name = repo + n + 1;
			return &list->v[i];
		}
	}
	return NULL;
}
