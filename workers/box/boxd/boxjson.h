#pragma once
/*
 * JSON of control payloads, without a library: strict, bounded, no recursion. In: one object, the
 * whole input, UTF-8, no duplicate keys, no NUL, integers only, at most BOXJSON_DEPTH deep and
 * BOXJSON_VALUES values. Out: boxjson_add_* into a struct buf.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct buf;
struct pool;

#define BOXJSON_DEPTH 4
#define BOXJSON_VALUES 4096

enum boxjson_type {
	BOXJSON_NULL,
	BOXJSON_BOOL,
	BOXJSON_NUMBER,
	BOXJSON_TEXT,
	BOXJSON_ARRAY,
	BOXJSON_OBJECT,
};

struct boxjson {
	enum boxjson_type type;
	const char *key;  /* of a member, else NULL */
	const char *text; /* BOXJSON_TEXT, NUL-terminated, without NUL inside */
	size_t length;	  /* of text */
	int64_t number;	  /* BOXJSON_NUMBER; BOXJSON_BOOL: 0 or 1 */
	struct boxjson *first, *next, *parent;
	size_t count; /* of children */
};

/* The object in text; everything lives in the pool. ERR_INVALID saying where. */
bool boxjson_parse(struct pool *pool, const void *text, size_t n, const struct boxjson **out,
	struct err *err) NODISCARD;
/* The member, or NULL. */
const struct boxjson *boxjson_find(const struct boxjson *o, const char *key);
/* Members of one type: a default where absent or null, ERR_INVALID where of another type. */
bool boxjson_text(const struct boxjson *o, const char *key, const char *absent, const char **out,
	struct err *err) NODISCARD;
bool boxjson_i64(const struct boxjson *o, const char *key, int64_t min, int64_t max, int64_t absent,
	int64_t *out, struct err *err) NODISCARD;
bool boxjson_bool(const struct boxjson *o, const char *key, bool absent, bool *out,
	struct err *err) NODISCARD;
/* ERR_INVALID naming the first member that is not in the NULL-ended list. */
bool boxjson_only(const struct boxjson *o, const char *const *keys, struct err *err) NODISCARD;

/* Writing: `{`, members, `}` are the caller's; commas are put where the text before needs one. */
void boxjson_add_quoted(struct buf *b, const char *s, size_t n);      /* bad UTF-8 becomes U+FFFD */
void boxjson_add_text(struct buf *b, const char *key, const char *s); /* NULL: null */
void boxjson_add_i64(struct buf *b, const char *key, int64_t v);
void boxjson_add_u64(struct buf *b, const char *key, uint64_t v);
void boxjson_add_bool(struct buf *b, const char *key, bool v);
void boxjson_add_key(struct buf *b, const char *key); /* key NULL: only the comma */
