/*
 * Signing and checking of receipts. No rows here: what stands in a body is PostgreSQL's business,
 * and a receipt is checked where there is no site.
 */
#include "receipt.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "pool.h"
#include "text.h"

#define KEY_PREFIX "ed25519:"
/* Faults that are listed; a document that is another altogether has one for each member. */
#define FAULTS_MAX 200
/* Bytes of a value that a fault quotes. */
#define QUOTE_MAX 120

static_assert(RECEIPT_SIGNATURE == crypto_sign_BYTES, "what libsodium makes");
static_assert(sizeof(((struct receipt_key *)0)->secret) == crypto_sign_SECRETKEYBYTES, "its key");

bool receipt_key_read(const char *seed, struct receipt_key *out, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(RECEIPT_KEY_SIZE);
	unsigned char bytes[crypto_sign_SEEDBYTES], public[crypto_sign_PUBLICKEYBYTES];
	size_t n;

	if (sodium_base642bin(bytes, sizeof(bytes), seed, strlen(seed), NULL, &n, NULL,
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING) ||
		n != sizeof(bytes))
		return err_set(err, ERR_INVALID,
			"ASB_RECEIPT_KEY: 32 bytes in base64 for URLs are wanted");
	(void)crypto_sign_seed_keypair(public, out->secret, bytes);
	sodium_memzero(bytes, sizeof(bytes));
	(void)buf_adds(&text, KEY_PREFIX);
	base64_add(&text, public, sizeof(public));
	memcpy(out->name, text.data, text.len + 1);
	return true;
}

static bool key_decode(const char *name, unsigned char public[crypto_sign_PUBLICKEYBYTES])
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(256);
	const size_t prefix = sizeof(KEY_PREFIX) - 1;

	if (!text_has_prefix(name, KEY_PREFIX) || strlen(name) >= RECEIPT_KEY_SIZE ||
		!base64_decode(name + prefix, strlen(name) - prefix, &bytes) ||
		bytes.len != crypto_sign_PUBLICKEYBYTES)
		return false;
	memcpy(public, bytes.data, bytes.len);
	return true;
}

bool receipt_key_is_name(const char *name)
{
	unsigned char public[crypto_sign_PUBLICKEYBYTES];

	return key_decode(name, public);
}

void receipt_sign(const struct receipt_key *key, const char *body, size_t n,
	unsigned char signature[RECEIPT_SIGNATURE])
{
	(void)crypto_sign_detached(signature, NULL, (const unsigned char *)body, n, key->secret);
}

/* --- checking --- */

struct check {
	struct pool *pool;
	const char *text; /* the document, ended by a NUL */
	const char **faults;
	size_t nfaults;
};

static const char *quoted(struct check *c, struct json_object *o)
{
	const char *s = json_text(o, c->pool);

	return strlen(s) <= QUOTE_MAX ? s : pool_printf(c->pool, "%.*s...", QUOTE_MAX, s);
}

static void fault(struct check *c, const char *path, const char *what)
{
	if (c->nfaults < FAULTS_MAX)
		c->faults[c->nfaults++] = pool_printf(c->pool, "%s: %s", path, what);
}

static bool has(struct json_object *o, const char *key)
{
	const char *k;

	for (size_t i = 0; (k = json_key_at(o, i)); i++)
		if (!strcmp(k, key))
			return true;
	return false;
}

static const char *path_of(struct check *c, const char *path, const char *key)
{
	return path[0] ? pool_printf(c->pool, "%s.%s", path, key) : key;
}

static void value_compare(
	struct check *c, const char *path, struct json_object *is, struct json_object *was);

/* Both are objects. */
static void members_compare(
	struct check *c, const char *path, struct json_object *is, struct json_object *was)
{
	const char *key;

	for (size_t i = 0; (key = json_key_at(was, i)); i++)
		if (has(is, key))
			value_compare(
				c, path_of(c, path, key), json_get(is, key), json_get(was, key));
		else
			fault(c, path_of(c, path, key),
				pool_printf(c->pool, "is missing, was signed as %s",
					quoted(c, json_get(was, key))));
	for (size_t i = 0; (key = json_key_at(is, i)); i++)
		if (!has(was, key) && (path[0] || strcmp(key, "signature") != 0))
			fault(c, path_of(c, path, key), "was not signed");
}

static void value_compare(
	struct check *c, const char *path, struct json_object *is, struct json_object *was)
{
	if (json_key_at(is, 0) && json_key_at(was, 0)) {
		members_compare(c, path, is, was);
		return;
	}
	if (json_count(was) && json_count(is) == json_count(was)) {
		for (size_t i = 0; i < json_count(was); i++)
			value_compare(c, pool_printf(c->pool, "%s[%zu]", path, i), json_at(is, i),
				json_at(was, i));
		return;
	}
	/* the text tells types apart too: "1" and 1, 1 and 1.0 */
	if (strcmp(json_text(is, c->pool), json_text(was, c->pool)) != 0)
		fault(c, path,
			pool_printf(c->pool, "says %s, was signed as %s", quoted(c, is),
				quoted(c, was)));
}

/* The member of a JSON text, known to be good, that its byte `at` belongs to. */
static const char *member_at(struct pool *pool, const char *json, size_t at)
{
	const char *keys[JSON_DEPTH + 2] = {0}, *path = "";
	size_t depth = 0;
	bool wants_key = false;

	for (size_t i = 0; i <= at && json[i]; i++) {
		size_t from = i + 1;

		if (json[i] == '{' || json[i] == '[') {
			wants_key = json[i] == '{';
			keys[++depth] = NULL;
		} else if (json[i] == '}' || json[i] == ']') {
			depth--;
		} else if (json[i] == ',') {
			/* in an array there are no keys, and the array is named */
			wants_key = keys[depth] != NULL;
		} else if (json[i] == '"') {
			for (i++; json[i] != '"'; i++)
				i += json[i] == '\\';
			if (wants_key)
				keys[depth] = pool_memdup(pool, json + from, i - from);
			wants_key = false;
		}
	}
	for (size_t d = 1; d <= depth; d++)
		if (keys[d])
			path = path[0] ? pool_printf(pool, "%s.%s", path, keys[d]) : keys[d];
	return path;
}

/* Of a document that a changed byte made no JSON: it is laid out as it was signed, and the first
 * byte that differs tells the member. */
static void member_seek(struct check *c, const char *message)
{
	size_t at = 0;

	while (message[at] && message[at] == c->text[at])
		at++;
	if (at && message[at])
		fault(c, member_at(c->pool, message, at),
			pool_printf(c->pool, "was changed at byte %zu", at));
}

/* The text of "signature", also where the document is no JSON any more; NULL: there is none. */
static const char *signature_find(struct check *c, struct json_object *doc, size_t *n)
{
	static const char name[] = "\"signature\"";
	const char *s;

	if (doc) {
		if (!json_get_text(doc, "signature", &s))
			return NULL;
		*n = strlen(s);
		return s;
	}
	s = strstr(c->text, name);
	s = s ? strchr(s + sizeof(name) - 1, '"') : NULL;
	if (!s)
		return NULL;
	*n = strcspn(s + 1, "\"");
	return s + 1;
}

static void body_free(void *arg)
{
	json_free(arg);
}

/* What the signature signs, *message its text, if it holds for the key that is wanted or else for
 * the one that it names itself; *key says for which. */
static struct json_object *body_open(struct check *c, const char *signature, size_t n,
	const char *wanted, const char **key, const char **message)
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(RECEIPT_MAX);
	unsigned char public[crypto_sign_PUBLICKEYBYTES];
	struct json_object *body = NULL;
	const char *format, *named;
	struct err ignored;

	if (!base64_decode(signature, n, &bytes) || bytes.len <= RECEIPT_SIGNATURE)
		return NULL;
	*message =
		pool_memdup(c->pool, bytes.data + RECEIPT_SIGNATURE, bytes.len - RECEIPT_SIGNATURE);
	if (!json_parse(*message, bytes.len - RECEIPT_SIGNATURE, &body, &ignored))
		return NULL;
	pool_defer(c->pool, body_free, body);
	if (!json_get_text(body, "format", &format) || strcmp(format, RECEIPT_FORMAT) != 0 ||
		!json_get_text(body, "key", &named))
		return NULL;
	for (int i = 0; i < 2; i++) {
		*key = i || !wanted ? named : wanted;
		if (key_decode(*key, public) &&
			!crypto_sign_verify_detached((unsigned char *)bytes.data,
				(const unsigned char *)*message, bytes.len - RECEIPT_SIGNATURE,
				public))
			return body;
	}
	*key = NULL;
	return NULL;
}

bool receipt_verify(struct pool *pool, const char *text, size_t n, const char *key,
	struct receipt_verdict *out, struct err *err)
{
	struct check c = {.pool = pool, .text = pool_memdup(pool, text, n)};
	CLEANUP(json) struct json_object *doc = NULL;
	struct receipt_verdict v = {0};
	const char *signature, *message = "";
	size_t size = 0;
	bool is_json;

	c.faults = POOL_ARRAY(pool, const char *, FAULTS_MAX + 1);
	is_json = json_parse(text, n, &doc, err);
	signature = signature_find(&c, doc, &size);
	if (!is_json && !signature)
		return err_wrap(err, "not a receipt");
	if (!signature)
		fault(&c, "signature", "is missing");
	else if (!(v.signed_body = body_open(&c, signature, size, key, &v.key, &message)))
		fault(&c, "signature", "was changed, or was made with another key");
	else if (key && strcmp(v.key, key) != 0)
		fault(&c, "key", pool_printf(pool, "signed by %s, not by %s", v.key, key));
	if (v.signed_body && !is_json) {
		member_seek(&c, message);
		/* whatever it is, it is not what was signed */
		if (!c.nfaults)
			fault(&c, "the document", err->msg);
	} else if (v.signed_body) {
		members_compare(&c, "", doc, v.signed_body);
	}
	v.faults = c.faults;
	v.nfaults = c.nfaults;
	v.valid = !c.nfaults;
	*out = v;
	return true;
}
