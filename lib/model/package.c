/*
 * Reading package specs. Each manager has a row: what stands between name and version, and which
 * characters either may have. What is not plainly a name and a version is refused whole.
 */
#include "package.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "pool.h"

const char *const package_manager_names[] = {
	[PACKAGE_PIP] = "pip",
	[PACKAGE_NPM] = "npm",
	[PACKAGE_APT] = "apt",
	[PACKAGE_GO] = "go",
	[PACKAGE_MAVEN] = "maven",
};
static_assert(
	sizeof(package_manager_names) / sizeof(package_manager_names[0]) == PACKAGE_MANAGER__COUNT,
	"a name for each");

#define NAME_MAX_BYTES 200 /* npm's limit is 214, PyPI's and Go's are in this region */
#define VERSION_MAX_BYTES 100

bool package_manager_find(const char *name, enum package_manager *out)
{
	for (int i = 0; i < PACKAGE_MANAGER__COUNT; i++) {
		if (strcmp(package_manager_names[i], name) != 0)
			continue;
		*out = (enum package_manager)i;
		return true;
	}
	return false;
}

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Not empty, its first an alphanumeric, the others that or one of `extra`. */
static bool is_word(const char *s, size_t n, const char *extra)
{
	for (size_t i = 0; i < n; i++)
		if (!is_alnum(s[i]) && !(i && s[i] && strchr(extra, s[i])))
			return false;
	return n > 0 && n <= NAME_MAX_BYTES;
}

/* Words between slashes: 1 to 8 of them. */
static bool is_words(const char *s, size_t n, const char *extra)
{
	for (int i = 0; i < 8; i++) {
		const char *slash = memchr(s, '/', n);
		size_t len = slash ? (size_t)(slash - s) : n;

		if (!is_word(s, len, extra) || memmem(s, len, "..", 2))
			return false;
		if (!slash)
			return true;
		s += len + 1;
		n -= len + 1;
	}
	return false;
}

static bool pip_name(const char *s, size_t *n)
{
	const char *open = memchr(s, '[', *n), *at;
	size_t len = open ? (size_t)(open - s) : *n;

	if (!is_word(s, len, "._-") || !is_alnum(s[len - 1]))
		return false;
	if (!open)
		return true;
	/* extras: [a,b] to the end */
	at = open + 1;
	if (s[*n - 1] != ']')
		return false;
	for (const char *end = s + *n - 1; at <= end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		if (!is_word(at, (size_t)(stop - at), "._-"))
			return false;
		at = stop + 1;
	}
	*n = len;
	return true;
}

static bool npm_name(const char *s, size_t *n)
{
	size_t len = *n;
	const char *slash;

	for (size_t i = 0; i < len; i++)
		if (is_alnum(s[i]) && !is_lower(s[i]))
			return false;
	if (*s != '@')
		return is_word(s, len, "._-");
	slash = memchr(s, '/', len);
	return slash && is_word(s + 1, (size_t)(slash - s - 1), "._-") &&
	       is_word(slash + 1, len - (size_t)(slash + 1 - s), "._-");
}

/* A minus at the end would have apt remove it. */
static bool apt_name(const char *s, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (is_alnum(s[i]) && !is_lower(s[i]))
			return false;
	return *n > 1 && is_word(s, *n, "+.-") && s[*n - 1] != '-' && s[*n - 1] != '.';
}

/* The first part is a host's name: one with a dot. */
static bool go_name(const char *s, size_t *n)
{
	const char *slash = memchr(s, '/', *n);

	return slash && memchr(s, '.', (size_t)(slash - s)) && is_words(s, *n, "._~-");
}

static bool maven_name(const char *s, size_t *n)
{
	const char *colon = memchr(s, ':', *n);

	return colon && is_word(s, (size_t)(colon - s), "._-") &&
	       is_word(colon + 1, *n - (size_t)(colon + 1 - s), "._-");
}

static const struct row {
	bool (*name)(const char *s, size_t *n); /* cuts what is no part of the name off */
	const char *separator;
	const char *version; /* characters besides alphanumeric */
	char version_first;  /* 0: an alphanumeric, else this one and a digit */
	bool needs_version;
	const char *form;
} rows[] = {
	[PACKAGE_PIP] = {pip_name, "==", ".!+_-", 0, false,
		"NAME==VERSION, as in requests==2.32.3"},
	[PACKAGE_NPM] = {npm_name, "@", ".+-", '0', false, "NAME@VERSION, as in left-pad@1.3.0"},
	[PACKAGE_APT] = {apt_name, "=", ".+:~-", 0, false, "NAME=VERSION, as in jq=1.7.1-6"},
	[PACKAGE_GO] = {go_name, "@", ".+-", 'v', false,
		"MODULE@VERSION, as in github.com/owner/name@v1.2.3"},
	[PACKAGE_MAVEN] = {maven_name, ":", "._+-", 0, true,
		"GROUP:ARTIFACT:VERSION, as in org.slf4j:slf4j-api:2.0.16"},
};
static_assert(sizeof(rows) / sizeof(rows[0]) == PACKAGE_MANAGER__COUNT, "a row for each");

/* Where the version's separator is; the end of s where there is none. */
static const char *separator_find(const struct row *row, const char *s)
{
	const char *at = NULL, *next = s;

	/* the last one: npm's scope begins with the same character, Maven's artifact too */
	while (*next && (next = strstr(*s == '@' && next == s ? s + 1 : next, row->separator))) {
		at = next;
		next += strlen(row->separator);
	}
	return at ? at : s + strlen(s);
}

static bool version_ok(const struct row *row, const char *v)
{
	size_t n = strlen(v);

	if (!is_word(v, n, row->version) || n > VERSION_MAX_BYTES)
		return false;
	if (row->version_first == 'v')
		return v[0] == 'v' && v[1] >= '0' && v[1] <= '9' && strchr(v, '.');
	/* a version in full: npm takes 1 and 1.2 for ranges */
	return row->version_first != '0' ||
	       (v[0] >= '0' && v[0] <= '9' && strchr(v, '.') && strchr(strchr(v, '.') + 1, '.'));
}

bool package_parse(struct pool *pool, enum package_manager manager, const char *spec,
	struct package *out, struct err *err)
{
	const struct row *row = &rows[manager];
	const char *at = separator_find(row, spec);
	bool has_version = *at != '\0';
	size_t n;

	if (manager == PACKAGE_MAVEN && has_version && strchr(spec, ':') == at)
		has_version = false;
	n = has_version ? (size_t)(at - spec) : strlen(spec);
	if (!n || n > NAME_MAX_BYTES || !row->name(spec, &n) ||
		(has_version ? !version_ok(row, at + strlen(row->separator))
			     : row->needs_version)) {
		(void)err_set(err, ERR_INVALID,
			"packages: \"%.80s\" is not one: flags, URLs, paths and ranges are not "
			"taken",
			spec);
		return err_advise(err, "invalid_package",
			pool_printf(pool, "write %s%s", row->form,
				row->needs_version ? "" : ", or the name alone"));
	}
	*out = (struct package){
		.spec = spec,
		.name = pool_memdup(pool, spec, n),
		.version = has_version ? at + strlen(row->separator) : "",
	};
	return true;
}

bool packages_parse(struct pool *pool, enum package_manager manager, const char *const *specs,
	size_t n, struct package *out, struct err *err)
{
	if (n > PACKAGES_MAX) {
		(void)err_set(
			err, ERR_INVALID, "packages: %zu of them, at most %d", n, PACKAGES_MAX);
		return err_advise(err, "invalid_package",
			"name what the code imports; what these need comes by itself");
	}
	for (size_t i = 0; i < n; i++) {
		if (!package_parse(pool, manager, specs[i], &out[i], err))
			return false;
		for (size_t k = 0; k < i; k++) {
			if (strcasecmp(out[k].name, out[i].name) != 0)
				continue;
			(void)err_set(
				err, ERR_INVALID, "packages: %.80s is named twice", out[i].name);
			return err_advise(err, "invalid_package", "name each package once");
		}
	}
	return true;
}
