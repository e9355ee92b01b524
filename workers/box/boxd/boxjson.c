/*
 * The strict reader and writer of control payloads. The reader walks with an explicit stack (the
 * parent pointers), so depth costs no C stack; every value is a node of the caller's pool.
 */
#include "boxjson.h"

#include <string.h>

#include "buf.h"
#include "pool.h"
#include "text.h"

struct reader {
	struct pool *pool;
	const char *start, *p, *end;
	size_t values;
};

static bool bad(const struct reader *r, const char *what, struct err *err)
{
	return err_set(err, ERR_INVALID, "json: %s at byte %zu", what, (size_t)(r->p - r->start));
}

static void space_skip(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static int peek(const struct reader *r)
{
	return r->p < r->end ? (unsigned char)*r->p : -1;
}

static bool hex4(struct reader *r, uint32_t *out)
{
	uint32_t v = 0;

	if (r->end - r->p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *r->p++;

		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v |= (uint32_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v |= (uint32_t)(c - 'A' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

static char *utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* After the backslash. */
static bool escape_read(struct reader *r, char **to, struct err *err)
{
	static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
	int c = peek(r);
	const char *at = c > 0 ? strchr(from, c) : NULL;
	uint32_t u, low;

	if (at) {
		r->p++;
		*(*to)++ = is[at - from];
		return true;
	}
	if (c != 'u')
		return bad(r, "no such escape", err);
	r->p++;
	if (!hex4(r, &u) || u == 0)
		return bad(r, "bad \\u escape", err);
	if (u >= 0xd800 && u <= 0xdfff) {
		if (u >= 0xdc00 || r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u')
			return bad(r, "lone surrogate", err);
		r->p += 2;
		if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
			return bad(r, "lone surrogate", err);
		u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
	}
	*to = utf8_put(*to, u);
	return true;
}

/* At the opening quote. No escape grows, so that the room up to the closing quote is enough. */
static bool text_read(struct reader *r, const char **out, size_t *length, struct err *err)
{
	const char *q = ++r->p;
	char *text, *to;

	while (q < r->end && *q != '"')
		q += *q == '\\' ? 2 : 1;
	if (q >= r->end)
		return bad(r, "string without end", err);
	to = text = pool_alloc(r->pool, (size_t)(q - r->p) + 1);
	while (*r->p != '"') {
		unsigned char c = (unsigned char)*r->p;

		if (c < 0x20)
			return bad(r, "control character in a string", err);
		r->p++;
		if (c != '\\')
			*to++ = (char)c;
		else if (!escape_read(r, &to, err))
			return false;
	}
	r->p++;
	*out = text;
	*length = (size_t)(to - text);
	return true;
}

static bool number_read(struct reader *r, int64_t *out, struct err *err)
{
	char text[24];
	size_t n = 0;

	while (r->p + n < r->end && n < sizeof(text) - 1 &&
		(r->p[n] == '-' || (r->p[n] >= '0' && r->p[n] <= '9'))) {
		text[n] = r->p[n];
		n++;
	}
	text[n] = '\0';
	if ((text[0] == '0' && n > 1) || (text[0] == '-' && text[1] == '0') ||
		!text_to_i64(text, INT64_MIN, INT64_MAX, out))
		return bad(r, "not an integer", err);
	r->p += n;
	return true;
}

static bool word_read(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

static bool value_read(struct reader *r, struct boxjson *v, struct err *err)
{
	switch (peek(r)) {
	case '"':
		v->type = BOXJSON_TEXT;
		return text_read(r, &v->text, &v->length, err);
	case '{':
		v->type = BOXJSON_OBJECT;
		r->p++;
		return true;
	case '[':
		v->type = BOXJSON_ARRAY;
		r->p++;
		return true;
	case 't':
	case 'f':
		v->type = BOXJSON_BOOL;
		v->number = *r->p == 't';
		return word_read(r, v->number ? "true" : "false") ? true : bad(r, "no value", err);
	case 'n':
		return word_read(r, "null") ? true : bad(r, "no value", err);
	default:
		v->type = BOXJSON_NUMBER;
		return number_read(r, &v->number, err);
	}
}

static bool key_read(struct reader *r, struct boxjson *in, struct boxjson *v, struct err *err)
{
	size_t n;

	if (peek(r) != '"')
		return bad(r, "a key is wanted", err);
	if (!text_read(r, &v->key, &n, err))
		return false;
	if (boxjson_find(in, v->key))
		return bad(r, "the same key twice", err);
	space_skip(r);
	if (peek(r) != ':')
		return bad(r, "a colon is wanted", err);
	r->p++;
	space_skip(r);
	return true;
}

/* Reads the next child of `in`; *next is where to go on: the child if it is a container. */
static bool child_read(struct reader *r, struct boxjson *in, struct boxjson **last,
	struct boxjson **next, struct err *err)
{
	struct boxjson *v;
	int depth = 1;

	if (++r->values > BOXJSON_VALUES)
		return bad(r, "too many values", err);
	v = POOL_NEW(r->pool, struct boxjson);
	v->parent = in;
	if (in->type == BOXJSON_OBJECT && !key_read(r, in, v, err))
		return false;
	if (!value_read(r, v, err))
		return false;
	if (*last)
		(*last)->next = v;
	else
		in->first = v;
	*last = v;
	in->count++;
	*next = in;
	if (v->type >= BOXJSON_ARRAY) {
		for (const struct boxjson *up = in; up; up = up->parent)
			depth++;
		if (depth > BOXJSON_DEPTH)
			return bad(r, "too deep", err);
		*next = v;
		*last = NULL;
	}
	return true;
}

bool boxjson_parse(
	struct pool *pool, const void *text, size_t n, const struct boxjson **out, struct err *err)
{
	struct reader r = {.pool = pool, .start = text, .p = text, .end = (const char *)text + n};
	struct boxjson *root = POOL_NEW(pool, struct boxjson), *in = root, *last = NULL;

	if (!text_is_utf8(text, n))
		return bad(&r, "not UTF-8", err);
	space_skip(&r);
	if (peek(&r) != '{')
		return bad(&r, "an object is wanted", err);
	if (!value_read(&r, root, err))
		return false;
	while (in) {
		char close = in->type == BOXJSON_OBJECT ? '}' : ']';

		space_skip(&r);
		if (peek(&r) == close) {
			r.p++;
			last = in;
			in = in->parent;
			continue;
		}
		if (in->first) {
			if (peek(&r) != ',')
				return bad(&r, "a comma or an end is wanted", err);
			r.p++;
			space_skip(&r);
		}
		if (!child_read(&r, in, &last, &in, err))
			return false;
	}
	space_skip(&r);
	if (r.p != r.end)
		return bad(&r, "something after the end", err);
	*out = root;
	return true;
}

const struct boxjson *boxjson_find(const struct boxjson *o, const char *key)
{
	const struct boxjson *v;

	for (v = o->first; v; v = v->next)
		if (v->key && strcmp(v->key, key) == 0)
			break;
	return v;
}

/* The member if it is there and of that type; NULL with *ok where absent or null. */
static const struct boxjson *member(const struct boxjson *o, const char *key,
	enum boxjson_type type, const char *what, bool *ok, struct err *err)
{
	const struct boxjson *v = boxjson_find(o, key);

	*ok = true;
	if (!v || v->type == BOXJSON_NULL)
		return NULL;
	if (v->type != type) {
		*ok = err_set(err, ERR_INVALID, "%s: %s is wanted", key, what);
		return NULL;
	}
	return v;
}

bool boxjson_text(const struct boxjson *o, const char *key, const char *absent, const char **out,
	struct err *err)
{
	bool ok;
	const struct boxjson *v = member(o, key, BOXJSON_TEXT, "a text", &ok, err);

	if (ok)
		*out = v ? v->text : absent;
	return ok;
}

bool boxjson_i64(const struct boxjson *o, const char *key, int64_t min, int64_t max, int64_t absent,
	int64_t *out, struct err *err)
{
	bool ok;
	const struct boxjson *v = member(o, key, BOXJSON_NUMBER, "a number", &ok, err);

	if (v && (v->number < min || v->number > max))
		return err_set(err, ERR_INVALID, "%s: out of range", key);
	if (ok)
		*out = v ? v->number : absent;
	return ok;
}

bool boxjson_bool(const struct boxjson *o, const char *key, bool absent, bool *out, struct err *err)
{
	bool ok;
	const struct boxjson *v = member(o, key, BOXJSON_BOOL, "true or false", &ok, err);

	if (ok)
		*out = v ? v->number != 0 : absent;
	return ok;
}

bool boxjson_only(const struct boxjson *o, const char *const *keys, struct err *err)
{
	for (const struct boxjson *v = o->first; v; v = v->next) {
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], v->key) != 0)
			i++;
		if (!keys[i])
			return err_set(err, ERR_INVALID, "unknown member %.64s", v->key);
	}
	return true;
}

void boxjson_add_quoted(struct buf *b, const char *s, size_t n)
{
	(void)buf_addc(b, '"');
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		size_t len = 1;

		if (c == '"' || c == '\\') {
			(void)buf_addf(b, "\\%c", c);
		} else if (c == '\n') {
			(void)buf_adds(b, "\\n");
		} else if (c < 0x20) {
			(void)buf_addf(b, "\\u%04x", c);
		} else if (c < 0x80) {
			(void)buf_addc(b, (char)c);
		} else {
			for (len = 2; len <= 4 && len <= n - i; len++)
				if (text_is_utf8(s + i, len))
					break;
			if (len <= 4 && len <= n - i) {
				(void)buf_add(b, s + i, len);
			} else {
				(void)buf_adds(b, "\xef\xbf\xbd");
				len = 1;
			}
		}
		i += len;
	}
	(void)buf_addc(b, '"');
}

void boxjson_add_key(struct buf *b, const char *key)
{
	char before = b->len ? b->data[b->len - 1] : '{';

	if (before != '{' && before != '[')
		(void)buf_addc(b, ',');
	if (key)
		(void)buf_addf(b, "\"%s\":", key);
}

void boxjson_add_text(struct buf *b, const char *key, const char *s)
{
	boxjson_add_key(b, key);
	if (s)
		boxjson_add_quoted(b, s, strlen(s));
	else
		(void)buf_adds(b, "null");
}

void boxjson_add_i64(struct buf *b, const char *key, int64_t v)
{
	boxjson_add_key(b, key);
	(void)buf_addf(b, "%lld", (long long)v);
}

void boxjson_add_u64(struct buf *b, const char *key, uint64_t v)
{
	boxjson_add_key(b, key);
	(void)buf_addf(b, "%llu", (unsigned long long)v);
}

void boxjson_add_bool(struct buf *b, const char *key, bool v)
{
	boxjson_add_key(b, key);
	(void)buf_adds(b, v ? "true" : "false");
}
