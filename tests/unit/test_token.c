/*
 * Tokens: their form, the CRC against a published value, and what is none; and lists of scopes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scope.h"
#include "token.h"

/* zlib's crc32 of "asb_key_" and 30 zeros is 0x9a7dd45d, and that is this in base 62. */
#define CRC_OF_ZEROS "2pPVNd"
#define KNOWN "asb_key_000000000000000000000000000000" CRC_OF_ZEROS

static void test_form(void **state)
{
	static const struct {
		enum token_kind kind;
		const char *prefix;
	} cases[] = {
		{TOKEN_KEY, "asb_key_"},
		{TOKEN_OAUTH, "asb_oauth_"},
		{TOKEN_REFRESH, "asb_refresh_"},
		{TOKEN_CODE, "asb_code_"},
	};
	char token[TOKEN_SIZE], other[TOKEN_SIZE], prefix[TOKEN_PREFIX_SIZE];
	enum token_kind kind;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].prefix);

		token_make(cases[i].kind, token);
		token_make(cases[i].kind, other);
		assert_string_not_equal(token, other);
		assert_int_equal(strncmp(token, cases[i].prefix, n), 0);
		assert_int_equal(strlen(token), n + 36);
		assert_int_equal(strspn(token + n, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						   "abcdefghijklmnopqrstuvwxyz"),
			36);
		assert_true(token_parse(token, &kind));
		assert_int_equal(kind, cases[i].kind);
		token_prefix(token, prefix);
		assert_int_equal(strlen(prefix), n + 4);
		assert_int_equal(strncmp(token, prefix, n + 4), 0);
	}
}

/* The format is one that scanners know: another program's CRC must be ours. */
static void test_known(void **state)
{
	enum token_kind kind;

	(void)state;
	assert_true(token_parse(KNOWN, &kind));
	assert_int_equal(kind, TOKEN_KEY);
}

/* Each character counts: whichever is another, it is no token. */
static void test_every_character_counts(void **state)
{
	char token[TOKEN_SIZE], bad[TOKEN_SIZE];
	enum token_kind kind;

	(void)state;
	token_make(TOKEN_KEY, token);
	for (size_t i = 0; token[i]; i++) {
		memcpy(bad, token, sizeof(bad));
		bad[i] = bad[i] == 'a' ? 'b' : 'a';
		if (token_parse(bad, &kind))
			fail_msg("%zu: %s passes for %s", i, bad, token);
	}
}

static void test_what_is_none(void **state)
{
	char token[TOKEN_SIZE], text[2 * TOKEN_SIZE];
	enum token_kind kind;

	(void)state;
	token_make(TOKEN_KEY, token);
	(void)snprintf(text, sizeof(text), "%s0", token);
	assert_false(token_parse(text, &kind));
	(void)snprintf(text, sizeof(text), " %s", token);
	assert_false(token_parse(text, &kind));
	(void)snprintf(text, sizeof(text), "%.*s", (int)strlen(token) - 1, token);
	assert_false(token_parse(text, &kind));
	assert_false(token_parse("", &kind));
	assert_false(token_parse("asb_", &kind));
	assert_false(token_parse("asb_key_", &kind));
	assert_false(token_parse("ghp_000000000000000000000000000000000000", &kind));
	/* the same characters under another kind's name are not that kind's token */
	(void)snprintf(text, sizeof(text), "asb_oauth_%s", token + strlen("asb_key_"));
	assert_false(token_parse(text, &kind));
}

static void test_within(void **state)
{
	char token[TOKEN_SIZE], text[3 * TOKEN_SIZE];

	(void)state;
	token_make(TOKEN_KEY, token);
	(void)snprintf(text, sizeof(text), "a=1&asb_=2&k=%s&b=2", token);
	assert_true(token_is_within(text));
	(void)snprintf(text, sizeof(text), "x%sy", token);
	assert_true(token_is_within(text));
	token[20] ^= 1;
	(void)snprintf(text, sizeof(text), "a=1&k=%s", token);
	assert_false(token_is_within(text));
	assert_false(token_is_within(""));
	assert_false(token_is_within("asb_asb_key_asb_code_"));
}

static void test_scopes(void **state)
{
	static const struct {
		const char *list;
		enum scope scope;
	} good[] = {
		{"run:read", SCOPE_RUN_READ},
		{"run:write run:read", SCOPE_RUN_WRITE},
		{" admin  run:read ", SCOPE_ADMIN},
	};
	static const char *const bad[] = {
		"", " ", "run", "run:read,run:write", "RUN:READ", "admin x", "run:reads"};
	enum scope got;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(scope_parse(good[i].list, &got));
		assert_int_equal(got, good[i].scope);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(scope_parse(bad[i], &got));
	/* what is written is read back */
	for (int s = SCOPE_RUN_READ; s < SCOPE__COUNT; s++) {
		assert_true(scope_parse(scope_list((enum scope)s), &got));
		assert_int_equal(got, s);
		assert_true(scope_parse(scope_name((enum scope)s), &got));
		assert_int_equal(got, s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_every_character_counts),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
