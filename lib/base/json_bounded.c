/*
 * JSON written again from a tree that came from outside, so that what reads it later cannot choke:
 * long strings cut, numbers that only JSON has no limit for as text.
 */
#include "json.h"

#include <math.h>
#include <string.h>

#include <json-c/json.h>

#include "buf.h"

/* The first max bytes, between characters, and a remark. s is longer. */
static void add_cut(struct buf *b, const char *s, size_t n, size_t max)
{
	size_t keep = max;

	while (keep && ((unsigned char)s[keep] & 0xc0) == 0x80)
		keep--;
	(void)buf_add(b, s, keep);
	(void)buf_addf(b, " [%zu bytes more]", n - keep);
}

static void add_string(struct buf *b, const char *s, size_t n, size_t max)
{
	struct buf cut = BUF_INIT(max + 64);

	if (n <= max) {
		json_add_quoted(b, s, n);
		return;
	}
	add_cut(&cut, s, n, max);
	json_add_quoted(b, cut.data, cut.len);
	buf_done(&cut);
}

static void add_double(struct buf *b, struct json_object *o)
{
	double v = json_object_get_double(o);
	const char *text = json_object_get_string(o);

	if (isfinite(v) && fabs(v) < 1e15)
		(void)buf_addf(b, "%.17g", v);
	else
		add_string(b, text, strlen(text), 64);
}

void json_add_bounded(struct buf *b, struct json_object *o, size_t string_max)
{
	const char *between = "";

	if (json_object_is_type(o, json_type_object)) {
		(void)buf_addc(b, '{');
		json_object_object_foreach(o, key, value)
		{
			(void)buf_adds(b, between);
			add_string(b, key, strlen(key), string_max);
			(void)buf_addc(b, ':');
			json_add_bounded(b, value, string_max);
			between = ",";
		}
		(void)buf_addc(b, '}');
	} else if (json_object_is_type(o, json_type_array)) {
		(void)buf_addc(b, '[');
		for (size_t i = 0; i < json_object_array_length(o); i++) {
			(void)buf_adds(b, between);
			json_add_bounded(b, json_object_array_get_idx(o, i), string_max);
			between = ",";
		}
		(void)buf_addc(b, ']');
	} else if (json_object_is_type(o, json_type_string)) {
		add_string(b, json_object_get_string(o), (size_t)json_object_get_string_len(o),
			string_max);
	} else if (json_object_is_type(o, json_type_double)) {
		add_double(b, o);
	} else {
		(void)buf_adds(b, json_object_to_json_string(o));
	}
}

struct json_object *json_share(struct json_object *o)
{
	return json_object_get(o);
}

/* What the recursion of json_cut carries down. */
struct cut {
	size_t string_max, list_max;
	bool was;
};

static struct json_object *cut_value(struct cut *c, const char *name, struct json_object *o);

static struct json_object *cut_list(struct cut *c, const char *name, struct json_object *list)
{
	struct json_object *out = json_new_array();
	size_t n = json_object_array_length(list), keep = n > c->list_max ? c->list_max : n;
	size_t from = !strcmp(name, "trace") ? n - keep : 0;

	c->was = c->was || keep < n;
	for (size_t i = from; i < from + keep; i++)
		json_push(out, cut_value(c, "", json_object_array_get_idx(list, i)));
	return out;
}

static struct json_object *cut_value(struct cut *c, const char *name, struct json_object *o)
{
	struct json_object *out = NULL;

	if (json_object_is_type(o, json_type_object)) {
		out = json_new_object();
		json_object_object_foreach(o, key, value)
		{
			json_add(out, key, cut_value(c, key, value));
		}
		return out;
	}
	if (json_object_is_type(o, json_type_array))
		return cut_list(c, name, o);
	if (json_object_is_type(o, json_type_string) &&
		(size_t)json_object_get_string_len(o) > c->string_max) {
		struct buf b = BUF_INIT(c->string_max + 64);

		add_cut(&b, json_object_get_string(o), (size_t)json_object_get_string_len(o),
			c->string_max);
		out = json_object_new_string_len(b.data, (int)b.len);
		buf_done(&b);
		c->was = true;
		return out;
	}
	return json_share(o);
}

struct json_object *json_cut(struct json_object *o, size_t string_max, size_t list_max, bool *cut)
{
	struct cut c = {.string_max = string_max, .list_max = list_max};
	struct json_object *out = cut_value(&c, "", o);

	*cut = *cut || c.was;
	return out;
}
