/*
 * Patterns of .agentsandboxignore. Matching is linear in both lengths but for one star that may be
 * taken again (in a part, and for the folders of a **), so that no file of patterns makes a walk
 * slow.
 */
#include "sync_ignore.h"

#include <string.h>

#include "pool.h"
#include "text.h"

struct pattern {
	const char *text; /* without the !, the slash that anchors and the one that says folder */
	int line;
	bool negated;
	bool anchored;
	bool folder;
};

struct ignore {
	struct pattern *list;
	size_t n;
};

/* Where a class ends, p being after its [; NULL where it does not within this part. */
static const char *class_end(const char *p)
{
	p += *p == '!' || *p == '^';
	for (bool first = true; first || *p != ']'; first = false) {
		if (*p == '[' && p[1] == ':')
			return NULL;
		p += *p == '\\';
		if (!*p || *p == '/')
			return NULL;
		p++;
	}
	return p + 1;
}

/* NULL, or what is wrong with a pattern. */
static const char *fault(const char *p)
{
	if (!*p)
		return "names nothing";
	while (*p) {
		if (*p == '/' && (p[1] == '/' || !p[1]))
			return "has an empty part between slashes";
		if (*p == '\\' && (!p[1] || p[1] == '/'))
			return "has a \\ with nothing to escape";
		if (*p == '[') {
			p = class_end(p + 1);
			if (!p)
				return "has a [ that is not closed, or a named class";
		} else {
			p += 1 + (*p == '\\');
		}
	}
	return NULL;
}

static void trim(char *s)
{
	char *end = s;

	for (char *c = s; *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (*c == ' ')
			continue;
		end = c + 1;
	}
	*end = '\0';
}

static bool take_line(char *s, int line, struct pattern *out, struct err *err)
{
	const char *wrong;
	size_t n;

	*out = (struct pattern){.line = line, .negated = *s == '!'};
	s += out->negated;
	out->anchored = *s == '/';
	s += out->anchored;
	n = strlen(s);
	out->folder = n && s[n - 1] == '/' && !(n > 1 && s[n - 2] == '/');
	if (out->folder)
		s[n - 1] = '\0';
	wrong = *s == '/' ? "has an empty part between slashes" : fault(s);
	if (wrong) {
		(void)err_set(err, ERR_INVALID, "%s line %d %s", IGNORE_FILE, line, wrong);
		return err_advise(err, NULL, "mend or remove that line; nothing was copied");
	}
	out->anchored |= strchr(s, '/') != NULL;
	out->text = s;
	return true;
}

bool ignore_parse(struct pool *pool, const char *text, struct ignore **out, struct err *err)
{
	struct ignore *ignore = POOL_NEW(pool, struct ignore);
	char *copy = pool_strdup(pool, text), *next;
	size_t lines = 1;
	int line = 0;

	if (!text_is_utf8(text, strlen(text)))
		return err_set(err, ERR_INVALID, "%s is not UTF-8", IGNORE_FILE);
	for (const char *s = text; (s = strchr(s, '\n')); s++)
		lines++;
	ignore->list = POOL_ARRAY(pool, struct pattern, lines);
	if (text_has_prefix(copy, "\xef\xbb\xbf"))
		copy += 3;
	for (char *s = copy; s; s = next) {
		next = strchr(s, '\n');
		if (next) {
			if (next > s && next[-1] == '\r')
				next[-1] = '\0';
			*next++ = '\0';
		}
		line++;
		trim(s);
		if (!*s || *s == '#')
			continue;
		if (!take_line(s, line, &ignore->list[ignore->n++], err))
			return false;
	}
	*out = ignore;
	return true;
}

/* One thing of a part's pattern (a character, an escape, a ? or a class): where it ends, and
 * whether it takes c. */
static const char *take_one(const char *p, unsigned char c, bool *takes)
{
	bool negated, in = false;

	if (*p != '[') {
		bool escaped = *p == '\\';

		*takes = (*p == '?') || (unsigned char)p[escaped] == c;
		return p + 1 + escaped;
	}
	p++;
	negated = *p == '!' || *p == '^';
	p += negated;
	for (bool first = true; first || *p != ']'; first = false) {
		unsigned char low, high;

		p += *p == '\\';
		low = high = (unsigned char)*p++;
		if (*p == '-' && p[1] != ']') {
			p++;
			p += *p == '\\';
			high = (unsigned char)*p++;
		}
		in |= low <= c && c <= high;
	}
	*takes = in != negated;
	return p + 1;
}

/* Do the first parts of both match, each up to its slash or end? */
static bool part_matches(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s && *s != '/') {
		bool takes = false;
		const char *after;

		if (*p == '*') {
			star = ++p;
			from = s;
			continue;
		}
		after = *p && *p != '/' ? take_one(p, (unsigned char)*s, &takes) : p;
		if (takes) {
			p = after;
			s++;
		} else if (star) {
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p || *p == '/';
}

static const char *after_part(const char *s)
{
	while (*s && *s != '/')
		s++;
	return s + (*s == '/');
}

/* The same for a pattern, whose classes hold no slash. */
static bool path_matches(const char *p, const char *path)
{
	const char *deep = NULL, *from = NULL;

	while (*path) {
		if (p[0] == '*' && p[1] == '*' && (!p[2] || p[2] == '/')) {
			if (!p[2])
				return true;
			deep = p += 3;
			from = path;
		} else if (*p && part_matches(p, path)) {
			p = after_part(p);
			path = after_part(path);
		} else if (deep) {
			p = deep;
			path = from = after_part(from);
		} else {
			return false;
		}
	}
	return !*p;
}

int ignore_line(const struct ignore *ignore, const char *path, bool is_folder)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (size_t i = ignore->n; i-- > 0;) {
		const struct pattern *p = &ignore->list[i];

		if (p->folder && !is_folder)
			continue;
		if (p->anchored ? path_matches(p->text, path) : part_matches(p->text, name))
			return p->negated ? 0 : p->line;
	}
	return 0;
}
