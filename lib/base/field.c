/*
 * Declared inputs: the edge where text from outside is checked, once. Handlers see only the struct
 * that comes out. Knows types and bounds, nothing of what a field means.
 */
#include "field.h"

#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "encode.h"
#include "json.h"
#include "pool.h"
#include "text.h"

static bool invalid(struct err *err, const char *fix, const char *fmt, ...) PRINTF(3, 4);

static bool invalid(struct err *err, const char *fix, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	(void)err_set(err, ERR_INVALID, "%s", msg);
	return err_advise(err, "field", fix);
}

/* What it is says what is wanted, where nothing better does. */
static const char *fix_of(const struct field *f)
{
	return f->fix ? f->fix : f->help;
}

static void *at(void *out, const struct field *f)
{
	return (char *)out + f->offset;
}

static bool is_blank(const char *s)
{
	return s[strspn(s, " \t\r\n")] == '\0';
}

/* A branch, tag or commit, of letters that no shell, option or path trick needs; narrower than
 * git check-ref-format. */
static bool is_ref(const char *s)
{
	size_t n = strlen(s);

	if (n < 1 || n > 200 || s[0] == '-' || s[0] == '/' || s[0] == '.' || s[n - 1] == '/' ||
		s[n - 1] == '.')
		return false;
	if (strstr(s, "..") || strstr(s, "//") || strstr(s, "/.") || strstr(s, ".lock"))
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == n;
}

static bool is_repo(const char *s)
{
	const char *slash = strchr(s, '/');
	char owner[129];

	if (!slash || (size_t)(slash - s) >= sizeof(owner))
		return false;
	memcpy(owner, s, (size_t)(slash - s));
	owner[slash - s] = '\0';
	return text_is_name(owner) && text_is_name(slash + 1) && owner[0] != '-' && slash[1] != '-';
}

bool field_matches(enum field_pattern pattern, const char *s)
{
	switch (pattern) {
	case FIELD_NAME:
		return text_is_name(s);
	case FIELD_REPO:
		return is_repo(s);
	case FIELD_REF:
		return is_ref(s);
	case FIELD_ANY:
	case FIELD_PATTERN__COUNT:
		break;
	}
	return true;
}

static bool missing(const struct field *f, const char *what, struct err *err)
{
	return invalid(err, fix_of(f), "%s: %s", f->name, what);
}

static bool check_length(const struct field *f, size_t n, int64_t max, struct err *err)
{
	if (!max || n <= (size_t)max)
		return true;
	if (max < FIELD_LARGE)
		return invalid(
			err, fix_of(f), "%s: longer than %lld bytes", f->name, (long long)max);
	(void)err_set(
		err, ERR_TOO_LARGE, "%s: %zu bytes, more than %lld", f->name, n, (long long)max);
	return err_advise(err, "field", "Send less; large things belong into an upload.");
}

static bool set_text(const struct field *f, const char *s, size_t n, void *out, struct err *err)
{
	static const char *const shapes[] = {
		[FIELD_ANY] = "",
		[FIELD_NAME] = "letters, digits, dot, dash and underscore only",
		[FIELD_REPO] = "must be owner/name",
		[FIELD_REF] = "not the name of a branch, tag or commit",
	};

	if (!text_is_utf8(s, n))
		return invalid(err, fix_of(f), "%s: must be UTF-8 text without NUL", f->name);
	if (f->required && is_blank(s))
		return missing(f, "must not be empty", err);
	if (!check_length(f, n, f->max, err))
		return false;
	if (n < (size_t)f->min)
		return invalid(
			err, fix_of(f), "%s: shorter than %lld bytes", f->name, (long long)f->min);
	if (!field_matches(f->pattern, s))
		return invalid(err, fix_of(f), "%s: %s", f->name, shapes[f->pattern]);
	*(const char **)at(out, f) = s;
	return true;
}

static bool set_word(const struct field *f, const char *s, void *out, struct err *err)
{
	char list[160] = "";
	size_t n = 0;

	for (size_t i = 0; f->words[i]; i++) {
		if (!strcmp(f->words[i], s)) {
			*(const char **)at(out, f) = f->words[i];
			return true;
		}
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				i ? ", " : "One of: ", f->words[i]);
	}
	(void)invalid(err, list, "%s: no such choice", f->name);
	return err_advise(err, f->reason, NULL);
}

static bool set_int(const struct field *f, int64_t v, void *out, struct err *err)
{
	if (v < f->min || v > f->max)
		return invalid(err, fix_of(f), "%s: must be from %lld to %lld", f->name,
			(long long)f->min, (long long)f->max);
	*(int64_t *)at(out, f) = v;
	return true;
}

static bool set_texts(
	const struct field *f, struct json_object *a, struct pool *pool, void *out, struct err *err)
{
	size_t n = json_object_array_length(a);
	struct field_texts list = {.n = n, .v = POOL_ARRAY(pool, const char *, n)};

	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(a, i);
		size_t len;

		if (!json_object_is_type(v, json_type_string))
			return invalid(err, fix_of(f), "%s: item %zu must be text", f->name, i);
		len = (size_t)json_object_get_string_len(v);
		if (!check_length(f, len, f->each_max ? f->each_max : FIELD_LARGE, err))
			return false;
		list.v[i] = pool_memdup(pool, json_object_get_string(v), len);
		if (!text_is_utf8(list.v[i], len))
			return invalid(err, fix_of(f), "%s: item %zu holds a NUL", f->name, i);
	}
	*(struct field_texts *)at(out, f) = list;
	return true;
}

static bool set_items(
	const struct field *f, struct json_object *a, struct pool *pool, void *out, struct err *err)
{
	size_t n = json_object_array_length(a);
	struct field_items list = {.n = n, .v = pool_alloc(pool, n * f->item_size)};

	for (size_t i = 0; i < n; i++)
		if (!field_from_json(f->fields, f->nfields, json_object_array_get_idx(a, i), pool,
			    (char *)list.v + i * f->item_size, err))
			return err_wrap(err, "%s[%zu]", f->name, i);
	*(struct field_items *)at(out, f) = list;
	return true;
}

static bool set_map(
	const struct field *f, struct json_object *o, struct pool *pool, void *out, struct err *err)
{
	size_t n = (size_t)json_object_object_length(o), i = 0;
	struct field_map map = {.names = POOL_ARRAY(pool, const char *, n),
		.texts = POOL_ARRAY(pool, const char *, n)};

	if (f->max && n > (size_t)f->max)
		return invalid(
			err, fix_of(f), "%s: more than %lld members", f->name, (long long)f->max);
	json_object_object_foreach(o, key, v)
	{
		size_t len;

		if (!json_object_is_type(v, json_type_string))
			return invalid(err, fix_of(f), "%s: each member must be text", f->name);
		len = (size_t)json_object_get_string_len(v);
		if (!check_length(f, len, f->each_max ? f->each_max : FIELD_LARGE, err))
			return false;
		map.names[i] = pool_strdup(pool, key);
		map.texts[i] = pool_memdup(pool, json_object_get_string(v), len);
		if (!text_is_utf8(map.texts[i++], len))
			return invalid(err, fix_of(f), "%s: a member holds a NUL", f->name);
	}
	map.n = n;
	*(struct field_map *)at(out, f) = map;
	return true;
}

static bool set_list(
	const struct field *f, struct json_object *v, struct pool *pool, void *out, struct err *err)
{
	size_t n;

	if (!json_object_is_type(v, json_type_array))
		return invalid(err, fix_of(f), "%s: must be a list", f->name);
	n = json_object_array_length(v);
	if (f->required && !n)
		return missing(f, "must not be empty", err);
	if (n < (size_t)f->min || (f->max && n > (size_t)f->max))
		return invalid(err, fix_of(f), "%s: must have %lld to %lld items", f->name,
			(long long)f->min, (long long)f->max);
	return f->kind == FIELD_KIND_TEXTS ? set_texts(f, v, pool, out, err)
					   : set_items(f, v, pool, out, err);
}

static bool set_json(
	const struct field *f, struct json_object *v, struct pool *pool, void *out, struct err *err)
{
	size_t n;

	switch (f->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_WORD:
		if (!json_object_is_type(v, json_type_string))
			return invalid(err, fix_of(f), "%s: must be text", f->name);
		n = (size_t)json_object_get_string_len(v);
		if (f->kind == FIELD_KIND_WORD)
			return set_word(f, json_object_get_string(v), out, err);
		return set_text(f, pool_memdup(pool, json_object_get_string(v), n), n, out, err);
	case FIELD_KIND_INT:
		if (!json_object_is_type(v, json_type_int))
			return invalid(err, fix_of(f), "%s: must be a whole number", f->name);
		return set_int(f, json_object_get_int64(v), out, err);
	case FIELD_KIND_BOOL:
		if (!json_object_is_type(v, json_type_boolean))
			return invalid(err, fix_of(f), "%s: must be true or false", f->name);
		*(bool *)at(out, f) = json_object_get_boolean(v);
		return true;
	case FIELD_KIND_MAP:
		if (!json_object_is_type(v, json_type_object))
			return invalid(err, fix_of(f), "%s: must be an object", f->name);
		return set_map(f, v, pool, out, err);
	case FIELD_KIND_TEXTS:
	case FIELD_KIND_ITEMS:
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_NUMBER:
	case FIELD_KIND_JSON:
		break;
	}
	return set_list(f, v, pool, out, err);
}

static bool set_query(const struct field *f, const char *s, void *out, struct err *err)
{
	int64_t v;

	switch (f->kind) {
	case FIELD_KIND_TEXT:
		return set_text(f, s, strlen(s), out, err);
	case FIELD_KIND_WORD:
		return set_word(f, s, out, err);
	case FIELD_KIND_INT:
		if (!text_to_i64(s, INT64_MIN, INT64_MAX, &v))
			return invalid(err, fix_of(f), "%s: must be a whole number", f->name);
		return set_int(f, v, out, err);
	case FIELD_KIND_BOOL:
		if (strcmp(s, "true") && strcmp(s, "false") && strcmp(s, "1") && strcmp(s, "0"))
			return invalid(err, fix_of(f), "%s: must be true or false", f->name);
		*(bool *)at(out, f) = *s == 't' || *s == '1';
		return true;
	case FIELD_KIND_TEXTS:
	case FIELD_KIND_ITEMS:
	case FIELD_KIND_MAP:
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_NUMBER:
	case FIELD_KIND_JSON:
		break;
	}
	return invalid(err, fix_of(f), "%s: cannot stand in a query string", f->name);
}

static void set_default(const struct field *f, void *out)
{
	switch (f->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_WORD:
		*(const char **)at(out, f) = f->text;
		break;
	case FIELD_KIND_INT:
		*(int64_t *)at(out, f) = f->value;
		break;
	case FIELD_KIND_BOOL:
		*(bool *)at(out, f) = f->value != 0;
		break;
	case FIELD_KIND_TEXTS:
	case FIELD_KIND_ITEMS:
	case FIELD_KIND_MAP: /* the caller's zeroes: an empty list */
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_NUMBER:
	case FIELD_KIND_JSON:
		break;
	}
}

static const struct field *find(const struct field *fields, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

/* The name is the sender's: shown only where it is plain, and cut. */
static bool unknown(const struct field *fields, size_t n, const char *name, struct err *err)
{
	char list[160] = "Nothing is taken here.";
	size_t len = 0;

	for (size_t i = 0; i < n && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
			i ? ", " : "Known: ", fields[i].name);
	return invalid(
		err, list, "%s: unknown field", text_is_name(name) ? name : "(unprintable name)");
}

bool field_from_json(const struct field *fields, size_t n, struct json_object *o, struct pool *pool,
	void *out, struct err *err)
{
	if (!json_object_is_type(o, json_type_object))
		return invalid(err, NULL, "must be a JSON object");
	json_object_object_foreach(o, key, ignored)
	{
		(void)ignored;
		if (!find(fields, n, key))
			return unknown(fields, n, key, err);
	}
	for (size_t i = 0; i < n; i++) {
		struct json_object *v = NULL;
		bool is_null = json_object_object_get_ex(o, fields[i].name, &v) && !v;

		if (is_null && fields[i].no_null)
			return invalid(err, "Leave it out for its default.", "%s: must not be null",
				fields[i].name);
		if (v && !set_json(&fields[i], v, pool, out, err))
			return false;
		if (!v && fields[i].required)
			return missing(&fields[i], "is missing", err);
		if (!v)
			set_default(&fields[i], out);
	}
	return true;
}

/* One "name=value" of the query. seen: a flag per row. */
static bool take_pair(
	const struct field *fields, size_t n, char *pair, bool *seen, void *out, struct err *err)
{
	char *eq = strchr(pair, '='), *value = pair + strlen(pair);
	const struct field *f;

	if (eq) {
		*eq = '\0';
		value = eq + 1;
	}
	if (!url_decode(pair, true) || !url_decode(value, true))
		return invalid(err, NULL, "query: bad %% escape");
	f = find(fields, n, pair);
	if (!f)
		return unknown(fields, n, pair, err);
	if (seen[f - fields])
		return invalid(err, fix_of(f), "%s: given twice", f->name);
	seen[f - fields] = true;
	return set_query(f, value, out, err);
}

bool field_from_query(const struct field *fields, size_t n, const char *query, struct pool *pool,
	void *out, struct err *err)
{
	bool *seen = POOL_ARRAY(pool, bool, n);
	char *pair, *next;

	for (pair = pool_strdup(pool, query); pair; pair = next) {
		next = strchr(pair, '&');
		if (next)
			*next++ = '\0';
		if (*pair && !take_pair(fields, n, pair, seen, out, err))
			return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (!seen[i] && fields[i].required)
			return missing(&fields[i], "is missing", err);
		if (!seen[i])
			set_default(&fields[i], out);
	}
	return true;
}
