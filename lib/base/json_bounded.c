/*
 * JSON written again from a tree that came from outside, so that what reads it later cannot choke:
 * long strings cut, numbers that only JSON has no limit for as text.
 */
#include "json.h"

#include <math.h>
#include <string.h>

#include <json-c/json.h>

#include "buf.h"

static void add_string(struct buf *b, const char *s, size_t n, size_t max)
{
	struct buf cut = BUF_INIT(max + 64);
	size_t keep = max;

	if (n <= max) {
		json_add_quoted(b, s, n);
		return;
	}
	while (keep && ((unsigned char)s[keep] & 0xc0) == 0x80)
		keep--;
	(void)buf_add(&cut, s, keep);
	(void)buf_addf(&cut, " [%zu bytes more]", n - keep);
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
