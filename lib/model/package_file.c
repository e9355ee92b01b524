/*
 * Checking lock files before an installer reads them. Nothing is taken out of them: a file that
 * passes is handed to the language's own installer as it is.
 */
#include "package_file.h"

#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"

static const struct {
	const char *name;
	enum package_manager manager;
} files[] = {
	{"requirements.txt", PACKAGE_PIP},
	{"package-lock.json", PACKAGE_NPM},
	{"go.sum", PACKAGE_GO},
	{"pom.xml", PACKAGE_MAVEN},
};

bool package_file_manager(const char *name, enum package_manager *out)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (strcmp(files[i].name, name) != 0)
			continue;
		*out = files[i].manager;
		return true;
	}
	return false;
}

static bool refuse(const char *what, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "packages_from: %.120s", what);
	return err_advise(err, "invalid_package",
		"a lock file may name packages of the index by version, and nothing else");
}

/* --- requirements.txt --- */

/* A line with its continuations, without comment and space around; NULL at the end. */
static char *line_next(struct pool *pool, const char **at, const char *end)
{
	CLEANUP(buf) struct buf b = BUF_INIT(16384);
	bool more = true;

	if (*at >= end)
		return NULL;
	while (more && *at < end) {
		const char *eol = memchr(*at, '\n', (size_t)(end - *at));
		size_t n = (size_t)((eol ? eol : end) - *at);

		more = n && (*at)[n - 1] == '\\';
		(void)buf_add(&b, *at, more ? n - 1 : n);
		*at = eol ? eol + 1 : end;
	}
	for (char *hash = b.data; (hash = memchr(hash, '#', b.len - (size_t)(hash - b.data)));
		hash++)
		if (hash == b.data || hash[-1] == ' ' || hash[-1] == '\t') {
			b.len = (size_t)(hash - b.data);
			break;
		}
	while (b.len && strchr(" \t\r\\", b.data[b.len - 1]))
		b.len--;
	/* too long to be one: refused as it is */
	return b.failed ? pool_strdup(pool, "-") : pool_memdup(pool, b.data, b.len);
}

/* NAME==VERSION [; MARKER] [--hash=sha256:...]... */
static bool requirement_ok(struct pool *pool, char *line)
{
	struct package p;
	struct err ignored;
	char *rest;

	for (char *hash; (hash = strstr(line, " --hash=sha"));) {
		size_t n = strcspn(hash + 1, " \t") + 1;

		if (strspn(hash + 11, "0123456789abcdef:") != n - 11)
			return false;
		memmove(hash, hash + n, strlen(hash + n) + 1);
	}
	rest = strchr(line, ';');
	if (rest) {
		*rest++ = '\0';
		if (strspn(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 " \t_.'\"<>=!()") != strlen(rest))
			return false;
	}
	for (size_t n = strlen(line); n && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--)
		line[n - 1] = '\0';
	return package_parse(pool, PACKAGE_PIP, line, &p, &ignored) && *p.version;
}

static bool requirements_check(struct pool *pool, const char *text, size_t n, struct err *err)
{
	const char *at = text, *end = text + n;
	char *line;

	while ((line = line_next(pool, &at, end))) {
		const char *shown = pool_strdup(pool, line + strspn(line, " \t"));

		line += strspn(line, " \t");
		if (*line && !requirement_ok(pool, line))
			return refuse(
				pool_printf(pool, "\"%.100s\" is not NAME==VERSION", shown), err);
	}
	return true;
}

/* --- package-lock.json --- */

static bool lock_check(struct pool *pool, const char *text, size_t n, struct err *err)
{
	static const char registry[] = "https://registry.npmjs.org/";
	CLEANUP(json) struct json_object *o = NULL;
	struct json_object *packages;
	const char *key, *resolved;
	int64_t version;

	if (!json_parse(text, n, &o, err))
		return refuse("package-lock.json is not JSON", err);
	packages = json_get(o, "packages");
	if (!json_get_i64(o, "lockfileVersion", &version) || version < 2 || !packages)
		return refuse("package-lock.json is older than version 2", err);
	for (size_t i = 0; (key = json_key_at(packages, i)); i++) {
		struct json_object *entry = json_get(packages, key);
		bool link = false;

		(void)json_get_bool(entry, "link", &link);
		if (!*key)
			continue;
		if (link || !text_has_prefix(key, "node_modules/") || strstr(key, "..") ||
			(json_get_text(entry, "resolved", &resolved) &&
				!text_has_prefix(resolved, registry)))
			return refuse(pool_printf(pool, "%.80s is not of the registry", key), err);
	}
	return true;
}

/* --- go.sum --- */

static bool sums_check(struct pool *pool, const char *text, size_t n, struct err *err)
{
	const char *at = text, *end = text + n;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((eol ? eol : end) - at);
		const char *line = pool_memdup(pool, at, len), *space = strchr(line, ' ');
		struct package p;
		struct err ignored;

		at = eol ? eol + 1 : end;
		if (!*line)
			continue;
		if (!space || !strstr(space, " h1:") ||
			!package_parse(pool, PACKAGE_GO,
				pool_printf(pool, "%.*s@%.*s", (int)(space - line), line,
					(int)strcspn(space + 1, " /"), space + 1),
				&p, &ignored))
			return refuse(pool_printf(pool, "go.sum: \"%.80s\"", line), err);
	}
	return true;
}

bool package_file_check(struct pool *pool, enum package_manager manager, const char *text, size_t n,
	struct err *err)
{
	if (n > PACKAGE_FILE_MAX)
		return refuse("the file is larger than 4 MiB", err);
	if (memchr(text, '\0', n) || !text_is_utf8(text, n))
		return refuse("the file is not text", err);
	switch (manager) {
	case PACKAGE_PIP:
		return requirements_check(pool, text, n, err);
	case PACKAGE_NPM:
		return lock_check(pool, text, n, err);
	case PACKAGE_GO:
		return sums_check(pool, text, n, err);
	case PACKAGE_MAVEN:
		/* repositories that it names are not asked: Ivy knows ours alone */
		return true;
	case PACKAGE_APT:
	case PACKAGE_MANAGER__COUNT:
		break;
	}
	return refuse("this language has no lock file", err);
}
