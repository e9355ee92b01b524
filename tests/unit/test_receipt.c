/*
 * Receipts: one that is whole, and ones in which something was changed, by accident or by somebody
 * who may rewrite everything but the signature.
 */
#include "receipt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "buf.h"
#include "cleanup.h"
#include "encode.h"
#include "pool.h"

#define SEED "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define OTHER_SEED "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh4"

/* As PostgreSQL writes jsonb; %s: the key. The values of a body, and where they stand. */
static const char body_format[] =
	"{\"of\": \"exec\", \"key\": \"%s\", \"box\": {\"name\": \"box-a\", \"image\": \"base\"}, "
	"\"turn\": null, \"epoch\": 17, \"format\": \"" RECEIPT_FORMAT
	"\", \"receipt\": \"receipt-abc\", \"packages\": [{\"name\": \"requests\", \"version\": "
	"\"2.32.3\"}, {\"name\": \"idna\", \"version\": \"3.7\"}], \"outcome\": {\"oom\": false, "
	"\"exit_code\": 0, \"timed_out\": true, \"duration_ms\": 1234}, \"said\": \"a \\\"b\\\\\"}";
static const struct {
	const char *path, *before, *value;
} values[] = {
	{"of", "\"of\": ", "\"exec\""},
	{"box.name", "\"box\": {\"name\": ", "\"box-a\""},
	{"box.image", "\"image\": ", "\"base\""},
	{"turn", "\"turn\": ", "null"},
	{"epoch", "\"epoch\": ", "17"},
	{"format", "\"format\": ", "\"" RECEIPT_FORMAT "\""},
	{"receipt", "\"receipt\": ", "\"receipt-abc\""},
	{"packages", "[{\"name\": ", "\"requests\""},
	{"packages", "\"requests\", \"version\": ", "\"2.32.3\""},
	{"packages", "\"idna\", \"version\": ", "\"3.7\""},
	{"outcome.oom", "\"oom\": ", "false"},
	{"outcome.exit_code", "\"exit_code\": ", "0"},
	{"outcome.timed_out", "\"timed_out\": ", "true"},
	{"outcome.duration_ms", "\"duration_ms\": ", "1234"},
	{"said", "\"said\": ", "\"a \\\"b\\\\\""},
};

struct made {
	struct pool *pool;
	struct receipt_key key;
	char *doc;
	size_t n;
};

/* The body as it is shown, another one signed where `shown` is given. */
static void made_open(struct made *m, const char *seed)
{
	CLEANUP(buf) struct buf bytes = BUF_INIT(1 << 16);
	CLEANUP(buf) struct buf doc = BUF_INIT(1 << 16);
	unsigned char signature[RECEIPT_SIGNATURE];
	const char *body;
	struct err err;

	*m = (struct made){.pool = pool_new()};
	assert_true(receipt_key_read(seed, &m->key, &err));
	assert_true(receipt_key_is_name(m->key.name));
	body = pool_printf(m->pool, body_format, m->key.name);
	receipt_sign(&m->key, body, strlen(body), signature);
	(void)buf_add(&bytes, signature, sizeof(signature));
	(void)buf_adds(&bytes, body);
	(void)buf_add(&doc, body, strlen(body) - 1);
	(void)buf_adds(&doc, ", \"signature\": \"");
	base64_add(&doc, bytes.data, bytes.len);
	(void)buf_adds(&doc, "\"}");
	m->doc = pool_memdup(m->pool, doc.data, doc.len);
	m->n = doc.len;
}

static struct receipt_verdict verdict(struct made *m, const char *doc, const char *key)
{
	struct receipt_verdict v;
	struct err err = {0};

	if (!receipt_verify(m->pool, doc, strlen(doc), key, &v, &err))
		fail_msg("%s", err.msg);
	return v;
}

/* Some fault is about this member. */
static bool names(const struct receipt_verdict *v, const char *path)
{
	const size_t n = strlen(path);

	for (size_t i = 0; i < v->nfaults; i++)
		if (!strncmp(v->faults[i], path, n) && strchr(":[.", v->faults[i][n]))
			return true;
	return false;
}

static const char *replaced(struct made *m, const char *what, const char *by)
{
	const char *at = strstr(m->doc, what);

	assert_non_null(at);
	return pool_printf(m->pool, "%.*s%s%s", (int)(at - m->doc), m->doc, by, at + strlen(what));
}

static void test_whole(void **state)
{
	struct receipt_verdict v;
	struct made m;

	(void)state;
	made_open(&m, SEED);
	v = verdict(&m, m.doc, m.key.name);
	assert_true(v.valid);
	assert_string_equal(v.key, m.key.name);
	assert_true(verdict(&m, m.doc, NULL).valid);
	/* laid out anew and in another order it is the same record */
	assert_true(verdict(&m, replaced(&m, "{\"of\": \"exec\", ", "{\n\t\"of\" :\"exec\","), NULL)
			    .valid);
	pool_free(m.pool);
}

static void test_a_byte_of_each_value(void **state)
{
	struct made m;

	(void)state;
	made_open(&m, SEED);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char *doc = pool_strdup(m.pool, m.doc);
		char *at = strstr(doc, values[i].before);

		assert_non_null(at);
		at += strlen(values[i].before);
		assert_memory_equal(at, values[i].value, strlen(values[i].value));
		for (size_t k = 0; k < strlen(values[i].value); k++)
			for (int bit = 0; bit < 7; bit++) {
				struct receipt_verdict v;

				/* the CLI takes no file with a NUL */
				if (at[k] == 1 << bit)
					continue;
				at[k] = (char)(at[k] ^ 1 << bit);
				v = verdict(&m, doc, m.key.name);
				if (v.valid || !names(&v, values[i].path))
					fail_msg("%s: byte %zu as 0x%02x: %s", values[i].path, k,
						at[k], v.nfaults ? v.faults[0] : "valid");
				at[k] = (char)(at[k] ^ 1 << bit);
			}
	}
	assert_true(verdict(&m, pool_strdup(m.pool, m.doc), m.key.name).valid);
	pool_free(m.pool);
}

static void test_any_byte(void **state)
{
	struct made m;
	char *doc;

	(void)state;
	made_open(&m, SEED);
	doc = pool_strdup(m.pool, m.doc);
	for (size_t i = 0; i < m.n; i++) {
		struct receipt_verdict v;
		struct err err;

		doc[i] ^= 1;
		if (receipt_verify(m.pool, doc, m.n, m.key.name, &v, &err) && v.valid)
			fail_msg("byte %zu may be %c", i, doc[i]);
		doc[i] ^= 1;
	}
	pool_free(m.pool);
}

static void test_signature(void **state)
{
	struct receipt_verdict v;
	struct made m;
	char *doc;

	(void)state;
	made_open(&m, SEED);
	doc = pool_strdup(m.pool, m.doc);
	/* of the 64 bytes, and of what they sign */
	for (size_t at = 0; at < 400; at += 3) {
		char *p = strstr(doc, "\"signature\": \"") + 14 + at, was = *p;

		*p = was == 'A' ? 'B' : 'A';
		v = verdict(&m, doc, m.key.name);
		assert_false(v.valid);
		assert_true(names(&v, "signature"));
		assert_null(v.signed_body);
		*p = was;
	}
	v = verdict(&m, replaced(&m, ", \"signature\": \"", ", \"signed\": \""), m.key.name);
	assert_false(v.valid);
	assert_true(names(&v, "signature"));
	pool_free(m.pool);
}

static void test_members_come_and_go(void **state)
{
	struct receipt_verdict v;
	struct made m;

	(void)state;
	made_open(&m, SEED);
	v = verdict(&m, replaced(&m, "\"epoch\": 17, ", ""), m.key.name);
	assert_true(!v.valid && names(&v, "epoch") && v.nfaults == 1);
	v = verdict(
		&m, replaced(&m, "\"epoch\": 17, ", "\"epoch\": 17, \"more\": 1, "), m.key.name);
	assert_true(!v.valid && names(&v, "more") && v.nfaults == 1);
	v = verdict(&m, replaced(&m, "\"oom\": false, ", "\"oom\": false, \"host\": \"x\", "),
		m.key.name);
	assert_true(!v.valid && names(&v, "outcome.host") && v.nfaults == 1);
	v = verdict(
		&m, replaced(&m, ", {\"name\": \"idna\", \"version\": \"3.7\"}", ""), m.key.name);
	assert_true(!v.valid && names(&v, "packages") && v.nfaults == 1);
	v = verdict(&m, replaced(&m, "\"epoch\": 17", "\"epoch\": 17.0"), m.key.name);
	assert_true(!v.valid && names(&v, "epoch"));
	v = verdict(&m, replaced(&m, "\"epoch\": 17", "\"epoch\": \"17\""), m.key.name);
	assert_true(!v.valid && names(&v, "epoch"));
	/* a member twice: readers differ in which one counts */
	v = verdict(&m, replaced(&m, "\"epoch\": 17", "\"epoch\": 18, \"epoch\": 17"), m.key.name);
	assert_true(!v.valid && names(&v, "epoch"));
	pool_free(m.pool);
}

/* Whoever has a key of his own can sign what he likes, but not with the site's. */
static void test_another_key(void **state)
{
	struct made m, forged;
	struct receipt_verdict v;

	(void)state;
	made_open(&m, SEED);
	made_open(&forged, OTHER_SEED);
	assert_string_not_equal(m.key.name, forged.key.name);
	v = verdict(&m, forged.doc, m.key.name);
	assert_true(!v.valid && names(&v, "key"));
	/* control: it is whole, by the key that it names */
	v = verdict(&m, forged.doc, NULL);
	assert_true(v.valid);
	assert_string_equal(v.key, forged.key.name);
	/* the site's key named on it does not make it the site's */
	forged.doc = pool_strdup(forged.pool, forged.doc);
	memcpy(strstr(forged.doc, forged.key.name), m.key.name, strlen(m.key.name));
	v = verdict(&forged, forged.doc, NULL);
	assert_true(!v.valid && names(&v, "key"));
	v = verdict(&forged, forged.doc, m.key.name);
	assert_true(!v.valid && names(&v, "key"));
	pool_free(forged.pool);
	pool_free(m.pool);
}

static void test_what_is_none(void **state)
{
	static const char *const texts[] = {"", "x", "{", "\"signature\"", "{\"a\":"};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct receipt_verdict v;
	struct receipt_key key;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (receipt_verify(pool, texts[i], strlen(texts[i]), NULL, &v, &err))
			assert_false(v.valid);
	assert_true(receipt_verify(pool, "{}", 2, NULL, &v, &err));
	assert_true(!v.valid && names(&v, "signature"));
	assert_false(receipt_key_read("", &key, &err));
	assert_false(receipt_key_read("AAEC", &key, &err));
	assert_false(receipt_key_read(SEED "AA", &key, &err));
	assert_false(receipt_key_is_name("ed25519:"));
	assert_false(receipt_key_is_name("ed25519:AAEC"));
	assert_false(receipt_key_is_name("rsa:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_a_byte_of_each_value),
		cmocka_unit_test(test_any_byte),
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_members_come_and_go),
		cmocka_unit_test(test_another_key),
		cmocka_unit_test(test_what_is_none),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
