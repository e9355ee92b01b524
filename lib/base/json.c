/*
 * Strict JSON over json-c. json-c alone accepts single quotes, NaN, \u0000, duplicate keys and
 * integers that do not fit, even in its strict mode, so a scanner of the grammar goes first and
 * json-c then builds the tree of a text known to be good. The scanner also counts members: a tree
 * with fewer of them than the text was one in which a key came twice.
 */
#include "json.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "buf.h"
#include "json_scan.h"
#include "pool.h"
#include "text.h"

static size_t count_members(struct json_object *o)
{
	size_t n = 0;

	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, value)
		{
			(void)key;
			n += 1 + count_members(value);
		}
	} else if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			n += count_members(json_object_array_get_idx(o, i));
	}
	return n;
}

/* json-c's own parse, of a text that is known to be good. */
static bool build(const char *text, size_t n, int depth, struct json_object **out, struct err *err)
{
	struct json_tokener *tok = json_tokener_new_ex(depth);
	enum json_tokener_error why;

	if (!tok)
		return err_set(err, ERR_INTERNAL, "json: no memory");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	*out = json_tokener_parse_ex(tok, text, (int)n);
	why = json_tokener_get_error(tok);
	if (why == json_tokener_continue) { /* a bare number ends only at the end of the text */
		*out = json_tokener_parse_ex(tok, "", -1);
		why = json_tokener_get_error(tok);
	}
	json_tokener_free(tok);
	if (why != json_tokener_success) {
		json_free(*out);
		*out = NULL;
		return err_set(err, ERR_MALFORMED, "json: %s", json_tokener_error_desc(why));
	}
	return true;
}

bool json_parse(const char *text, size_t n, struct json_object **out, struct err *err)
{
	struct json_scanned scanned;
	struct json_object *o = NULL;

	if (n > INT_MAX - 1)
		return err_set(err, ERR_TOO_LARGE, "json: too large");
	if (!text_is_utf8(text, n))
		return err_set(err, ERR_MALFORMED, "json: not UTF-8, or holds a NUL");
	if (!json_scan(text, n, &scanned))
		return err_set(
			err, ERR_MALFORMED, "json: %s at byte %zu", scanned.wrong, scanned.at);
	if (!build(text, scanned.end, JSON_DEPTH + 1, &o, err))
		return false;
	if (count_members(o) != scanned.members) {
		json_free(o);
		return err_set(err, ERR_MALFORMED, "json: an object names a key twice");
	}
	*out = o;
	return true;
}

bool json_parse_ours(const char *text, size_t n, struct json_object **out, struct err *err)
{
	struct json_object *o = NULL;

	if (n > INT_MAX - 1)
		return err_set(err, ERR_TOO_LARGE, "json: too large");
	if (!build(text, n, 128, &o, err))
		return false;
	*out = o;
	return true;
}

void json_free(struct json_object *o)
{
	(void)json_object_put(o);
}

void cleanup_json(struct json_object **o)
{
	json_free(*o);
}

struct json_object *json_get(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_is_type(o, json_type_object))
		return NULL;
	(void)json_object_object_get_ex(o, key, &v);
	return v;
}

bool json_has(struct json_object *o, const char *key)
{
	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, NULL);
}

bool json_is_object(struct json_object *o)
{
	return json_object_is_type(o, json_type_object);
}

bool json_as_text(struct json_object *o, const char **out)
{
	if (!json_object_is_type(o, json_type_string))
		return false;
	if (strlen(json_object_get_string(o)) != (size_t)json_object_get_string_len(o))
		return false;
	*out = json_object_get_string(o);
	return true;
}

bool json_get_text(struct json_object *o, const char *key, const char **out)
{
	return json_as_text(json_get(o, key), out);
}

size_t json_count(struct json_object *o)
{
	return json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
}

struct json_object *json_at(struct json_object *o, size_t i)
{
	return i < json_count(o) ? json_object_array_get_idx(o, i) : NULL;
}

bool json_as_i64(struct json_object *o, int64_t *out)
{
	if (!json_object_is_type(o, json_type_int))
		return false;
	*out = json_object_get_int64(o);
	return true;
}

bool json_get_i64(struct json_object *o, const char *key, int64_t *out)
{
	return json_as_i64(json_get(o, key), out);
}

bool json_get_bool(struct json_object *o, const char *key, bool *out)
{
	struct json_object *v = json_get(o, key);

	if (!json_object_is_type(v, json_type_boolean))
		return false;
	*out = json_object_get_boolean(v);
	return true;
}

bool json_get_f64(struct json_object *o, const char *key, double *out)
{
	struct json_object *v = json_get(o, key);

	if (!json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_int))
		return false;
	if (!isfinite(json_object_get_double(v)))
		return false;
	*out = json_object_get_double(v);
	return true;
}

const char *json_key_at(struct json_object *o, size_t i)
{
	if (!json_object_is_type(o, json_type_object))
		return NULL;
	json_object_object_foreach(o, key, value)
	{
		(void)value;
		if (!i--)
			return key;
	}
	return NULL;
}

/* json-c returns NULL only for want of memory, which ends the process as in pool.c. */
static struct json_object *need(struct json_object *o)
{
	if (!o) {
		(void)fprintf(stderr, "error out of memory json\n");
		abort();
	}
	return o;
}

struct json_object *json_new_object(void)
{
	return need(json_object_new_object());
}

struct json_object *json_new_array(void)
{
	return need(json_object_new_array());
}

void json_add(struct json_object *o, const char *key, struct json_object *value_taken)
{
	(void)json_object_object_add(o, key, value_taken);
}

void json_add_text(struct json_object *o, const char *key, const char *s)
{
	if (s)
		json_add_text_n(o, key, s, strlen(s));
	else
		json_add(o, key, NULL);
}

/* Length of the valid sequence at s, 0 where there is none; NUL counts as none. */
static size_t sequence_len(const char *s, size_t n)
{
	unsigned char c = (unsigned char)s[0];
	size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return len <= n && text_is_utf8(s, len) ? len : 0;
}

void json_add_text_n(struct json_object *o, const char *key, const char *s, size_t n)
{
	struct buf mended = BUF_INIT((size_t)INT_MAX);
	size_t len;

	if (!text_is_utf8(s, n)) {
		for (size_t i = 0; i < n; i += len ? len : 1) {
			len = sequence_len(s + i, n - i);
			(void)(len ? buf_add(&mended, s + i, len)
				   : buf_adds(&mended, "\xef\xbf\xbd"));
		}
		s = mended.data;
		n = mended.len;
	}
	json_add(o, key, need(json_object_new_string_len(s, (int)n)));
	buf_done(&mended);
}

void json_add_i64(struct json_object *o, const char *key, int64_t v)
{
	json_add(o, key, need(json_object_new_int64(v)));
}

void json_add_bool(struct json_object *o, const char *key, bool v)
{
	json_add(o, key, need(json_object_new_boolean(v)));
}

struct json_object *json_new_printed(const char *json)
{
	struct json_object *o = json_new_object();

	json_object_set_serializer(
		o, json_object_userdata_to_json_string, (void *)(uintptr_t)json, NULL);
	return o;
}

void json_push(struct json_object *array, struct json_object *value_taken)
{
	(void)json_object_array_add(array, value_taken);
}

void json_push_text(struct json_object *array, const char *s)
{
	json_push(array, need(json_object_new_string(s)));
}

#define PRINTED (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

const char *json_text(struct json_object *o, struct pool *pool)
{
	size_t n;
	const char *text = json_object_to_json_string_length(o, PRINTED, &n);

	return pool_memdup(pool, text, n);
}

void json_write(struct buf *b, struct json_object *o)
{
	size_t n;
	const char *text = json_object_to_json_string_length(o, PRINTED, &n);

	(void)buf_add(b, text, n);
}

static void add_escaped(struct buf *b, char c)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *at = strchr(from, c);

	(void)buf_addc(b, '\\');
	if (at && c)
		(void)buf_addc(b, to[at - from]);
	else
		(void)buf_addf(b, "u%04x", (unsigned)(unsigned char)c);
}

void json_add_escaped(struct buf *b, const char *s, size_t n)
{
	size_t len;

	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = sequence_len(s + i, n - i);
		if (!len)
			(void)buf_adds(b, "\xef\xbf\xbd");
		else if (len == 1 && ((unsigned char)s[i] < 0x20 || s[i] == '"' || s[i] == '\\'))
			add_escaped(b, s[i]);
		else
			(void)buf_add(b, s + i, len);
	}
}

void json_add_quoted(struct buf *b, const char *s, size_t n)
{
	(void)buf_addc(b, '"');
	json_add_escaped(b, s, n);
	(void)buf_addc(b, '"');
}
