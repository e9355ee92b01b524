/*
 * upstream.c: the operator's list of git hosts, and which repo names it covers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"
#include "upstream.h"

static void test_parse(void **state)
{
	static const char *const bad[] = {"x", "=http://a", "a/b=http://x", "a=ftp://x",
		"a=http://u:p@x", "a=http://x?y", "a=http://x a=http://y"};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct upstreams list = {0};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(upstreams_parse(pool, bad[i], &list, &err));
	assert_int_equal(list.n, 0);
	assert_true(upstreams_parse(pool, "", &list, &err));
	assert_int_equal(list.n, 0);
	assert_true(
		upstreams_parse(pool, " a=http://127.0.0.1:1/git/  b.c=https://x ", &list, &err));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0].name, "a");
	assert_string_equal(list.v[0].url, "http://127.0.0.1:1/git");
	assert_string_equal(list.v[1].name, "b.c");
}

static void test_match(void **state)
{
	static const struct {
		const char *repo, *host, *owner_name;
	} cases[] = {
		{"o/n", "a", "o/n"},
		{"a/o/n", "a", "o/n"},
		{"b.c/o/n", "b.c", "o/n"},
		{"d/o/n", NULL, NULL},
		{"b.cc/o/n", NULL, NULL},
		{"a/o/n/x", NULL, NULL},
		{"a/o/..", NULL, NULL},
		{"n", NULL, NULL},
		{"", NULL, NULL},
		{"https://a/o/n", NULL, NULL},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	struct upstreams list, empty = {0};
	const char *owner_name;
	struct err err;

	(void)state;
	assert_true(upstreams_parse(pool, "a=http://x b.c=http://y", &list, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct upstream *up = upstream_match(&list, cases[i].repo, &owner_name);

		if (!cases[i].host) {
			assert_null(up);
			continue;
		}
		assert_non_null(up);
		assert_string_equal(up->name, cases[i].host);
		assert_string_equal(owner_name, cases[i].owner_name);
	}
	assert_null(upstream_match(&empty, "o/n", &owner_name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
