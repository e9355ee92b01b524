/*
 * Sealed secrets: what is sealed for one row of one site opens there, and nowhere else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "cleanup.h"
#include "pool.h"
#include "secret.h"

#define SEED "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define OTHER_SEED "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh4"
#define NAME "anthropic_api_key"
#define VALUE "sk-ant-a-key"

static void test_sealing(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	unsigned char *sealed, *again;
	struct seal_key key, other;
	const char *value = NULL;
	struct err err;
	size_t n;

	(void)state;
	assert_true(sodium_init() >= 0);
	assert_true(seal_key_read(SEED, &key, &err));
	assert_true(seal_key_read(OTHER_SEED, &other, &err));
	assert_string_not_equal(key.name, other.name);
	assert_true(secret_seal(pool, key.name, 7, NAME, VALUE, &sealed, &n, &err));
	assert_null(memmem(sealed, n, VALUE, strlen(VALUE)));
	assert_true(secret_open(pool, &key, 7, NAME, sealed, n, &value, &err));
	assert_string_equal(value, VALUE);
	/* twice is not the same bytes: nobody sees that two are alike */
	assert_true(secret_seal(pool, key.name, 7, NAME, VALUE, &again, &n, &err));
	assert_memory_not_equal(sealed, again, n);
	/* of another account, another name, another site */
	assert_false(secret_open(pool, &key, 8, NAME, sealed, n, &value, &err));
	assert_int_equal(err.code, ERR_FORBIDDEN);
	assert_string_equal(err.reason, "secret_unreadable");
	assert_null(strstr(err.msg, "sk-"));
	assert_false(secret_open(pool, &key, 77, NAME, sealed, n, &value, &err));
	assert_false(secret_open(pool, &key, 7, NAME "s", sealed, n, &value, &err));
	assert_false(secret_open(pool, &other, 7, NAME, sealed, n, &value, &err));
	/* changed, cut, none at all */
	for (size_t i = 0; i < n; i++) {
		sealed[i] ^= 1;
		assert_false(secret_open(pool, &key, 7, NAME, sealed, n, &value, &err));
		sealed[i] ^= 1;
	}
	assert_false(secret_open(pool, &key, 7, NAME, sealed, n - 1, &value, &err));
	assert_false(secret_open(pool, &key, 7, NAME, sealed, 0, &value, &err));
	assert_true(secret_open(pool, &key, 7, NAME, sealed, n, &value, &err));
	/* whoever may seal cannot put a line's end into a header by it */
	assert_true(secret_seal(pool, key.name, 7, NAME, "a\r\nHost: x", &sealed, &n, &err));
	assert_false(secret_open(pool, &key, 7, NAME, sealed, n, &value, &err));
}

static void test_keys(void **state)
{
	static const char *const bad[] = {"", "x", SEED "A", SEED "=",
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+", " " SEED};
	static const char *const bad_names[] = {"", "x25519:", "x25519:AAAA", "ed25519:AAAA",
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="};
	CLEANUP(pool) struct pool *pool = pool_new();
	unsigned char *sealed;
	struct seal_key key;
	struct err err;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (seal_key_read(bad[i], &key, &err))
			fail_msg("%s is taken", bad[i]);
	for (size_t i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++)
		if (secret_seal(pool, bad_names[i], 1, NAME, VALUE, &sealed, &n, &err))
			fail_msg("%s is sealed to", bad_names[i]);
}

static void test_values(void **state)
{
	char longest[SECRET_VALUE_MAX + 2];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[SECRET_VALUE_MAX + 1] = '\0';
	assert_false(secret_is_value(longest));
	longest[SECRET_VALUE_MAX] = '\0';
	assert_true(secret_is_value(longest));
	assert_true(secret_is_value("sk-ant-api03_~!"));
	assert_false(secret_is_value(""));
	assert_false(secret_is_value("a b"));
	assert_false(secret_is_value("a\n"));
	assert_false(secret_is_value("\x7f"));
	assert_false(secret_is_value("caf\xc3\xa9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sealing),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
