#pragma once
/*
 * JSON over json-c, strict both ways. In: the whole input, UTF-8, depth 32, no duplicate keys, no
 * NaN, no single quotes, no \u0000, no integer out of int64. Out: built bottom-up; json_add takes
 * over what it is given.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct json_object; /* json-c's */
struct pool;
struct buf;

#define JSON_DEPTH 32

/* ERR_MALFORMED with what is wrong and where. The caller owns *out (json_free). */
bool json_parse(const char *text, size_t n, struct json_object **out, struct err *err) NODISCARD;
/* For a text that we made ourselves, as PostgreSQL's answers are: any depth up to 128, and no check
 * but json-c's. */
bool json_parse_ours(
	const char *text, size_t n, struct json_object **out, struct err *err) NODISCARD;
void json_free(struct json_object *o);
void cleanup_json(struct json_object **o);

/* Readers: false unless the member is there and of that type. Text is o's memory and without NUL.
 */
struct json_object *json_get(struct json_object *o, const char *key); /* NULL: absent */
bool json_has(struct json_object *o, const char *key);		      /* also where it is null */
bool json_is_object(struct json_object *o);
bool json_get_text(struct json_object *o, const char *key, const char **out);
bool json_get_i64(struct json_object *o, const char *key, int64_t *out);
bool json_get_bool(struct json_object *o, const char *key, bool *out);
bool json_get_f64(struct json_object *o, const char *key, double *out); /* finite; an integer too */
/* Members of an array; 0 and NULL where o is NULL or another type. */
size_t json_count(struct json_object *o);
struct json_object *json_at(struct json_object *o, size_t i);
bool json_as_text(struct json_object *o, const char **out);
bool json_as_i64(struct json_object *o, int64_t *out);

/* Writers. */
struct json_object *json_new_object(void);
struct json_object *json_new_array(void);
void json_add(struct json_object *o, const char *key, struct json_object *value_taken);
void json_add_text(struct json_object *o, const char *key, const char *s); /* NULL: null */
void json_add_text_n(struct json_object *o, const char *key, const char *s, size_t n);
void json_add_i64(struct json_object *o, const char *key, int64_t v);
void json_add_bool(struct json_object *o, const char *key, bool v);
/* A value whose text is there: it is printed as json, which outlives it, and cannot be read. */
struct json_object *json_new_printed(const char *json);
void json_push(struct json_object *array, struct json_object *value_taken);
void json_push_text(struct json_object *array, const char *s);
/* One line, no escaped slashes; memory of the pool. */
const char *json_text(struct json_object *o, struct pool *pool);
/* The same, appended. */
void json_write(struct buf *b, struct json_object *o);
/* The keys of an object, in its order: NULL past the last. */
const char *json_key_at(struct json_object *o, size_t i);
/* Appends o as JSON that every reader takes, jsonb among them: strings are cut after string_max
 * bytes with a remark, a number that no double holds exactly becomes a string. */
void json_add_bounded(struct buf *b, struct json_object *o, size_t string_max);
/* A copy in which strings longer than string_max bytes are cut, with a remark, and lists longer
 * than list_max items too, without one. Of a list named `trace` the last ones are kept, of others
 * the first. *cut is set where anything was. */
struct json_object *json_cut(struct json_object *o, size_t string_max, size_t list_max, bool *cut);
/* The same value once more, to be given away. */
struct json_object *json_share(struct json_object *o);
/* Appends s as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. No json-c involved. */
void json_add_quoted(struct buf *b, const char *s, size_t n);
/* The same without the quotes, for a string that comes in parts. */
void json_add_escaped(struct buf *b, const char *s, size_t n);
