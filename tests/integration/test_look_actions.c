/*
 * The actions that look into boxes, through router_serve: what each asks of a runner, and what is
 * refused before one is asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *sandbox(struct pool *pool)
{
	struct answer a =
		testweb_operator(pool, "POST", "/create_sandbox.json", "{\"language\":\"python\"}");

	assert_int_equal(a.status, 202);
	return testweb_get(pool, &a, "sandbox_id");
}

static const struct {
	const char *path, *query, *op, *request;
} asked[] = {
	{"/list_files.json", "", "list", "{\"depth\": 1, \"limit\": 200, \"offset\": 0}"},
	{"/list_files.json", "&path=a&depth=3&offset=5&limit=7", "list",
		"{\"path\": \"a\", \"depth\": 3, \"limit\": 7, \"offset\": 5}"},
	{"/read_file.json", "&path=/tmp/x", "read",
		"{\"path\": \"/tmp/x\", \"offset\": 0, \"encoding\": \"text\", \"max_bytes\": "
		"65536}"},
	{"/search_files.json", "&text=a%20b&ignore_case=true", "search",
		"{\"text\": \"a b\", \"limit\": 200, \"ignore_case\": true}"},
	{"/diff.json", "", "diff", "{}"},
	{"/diff.json", "&tree=side", "diff", "{\"tree\": \"side\"}"},
	{"/get_files.json", "&path=out", "get", "{\"path\": \"out\"}"},
};

static void test_each_asks_a_runner(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *box = sandbox(pool);

	(void)state;
	for (size_t i = 0; i < COUNT(asked); i++) {
		const char *url =
			pool_printf(pool, "%s?sandbox_id=%s%s", asked[i].path, box, asked[i].query);
		struct answer a =
			testweb_operator(pool, "GET", pool_printf(pool, "%s&wait_ms=0", url), NULL);
		const char *look = testweb_get(pool, &a, "look");

		assert_int_equal(a.status, 202);
		assert_string_equal(testweb_get(pool, &a, "state"), "queued");
		assert_string_equal(testweb_get(pool, &a, "op"), asked[i].op);
		assert_string_equal(
			testdb_text("SELECT request FROM looks WHERE name = '%s'", look),
			asked[i].request);
		assert_int_equal(testdb_i64("SELECT count(*) FROM jobs WHERE kind = 'look' AND "
					    "lane = 'look' AND payload->>'look' = (SELECT id::text "
					    "FROM looks WHERE name = '%s')",
					 look),
			1);
		/* and waits by default */
		a = testweb_operator(pool, "GET", url, NULL);
		assert_non_null(a.internal);
		assert_non_null(strstr(a.internal, "wait_ms=10000"));
	}
}

static void test_what_is_refused(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *box = sandbox(pool);
	const struct {
		const char *url;
		int status;
	} refused[] = {
		{"/list_files.json", 422},
		{pool_printf(pool, "/list_files.json?sandbox_id=%s&session=run-x", box), 422},
		{"/list_files.json?sandbox_id=box-aaaaaaaaaaaaaaaa", 404},
		{"/list_files.json?session=run-aaaaaaaaaaaaaaaa", 404},
		{pool_printf(pool, "/list_files.json?sandbox_id=%s&depth=65", box), 422},
		{pool_printf(pool, "/list_files.json?sandbox_id=%s&limit=1001", box), 422},
		{pool_printf(pool, "/read_file.json?sandbox_id=%s", box), 422},
		{pool_printf(pool, "/read_file.json?sandbox_id=%s&path=a&max_bytes=262145", box),
			422},
		{pool_printf(pool, "/read_file.json?sandbox_id=%s&path=a&encoding=hex", box), 422},
		{pool_printf(pool, "/search_files.json?sandbox_id=%s", box), 422},
		{pool_printf(pool, "/search_files.json?sandbox_id=%s&text=a%%0Ab", box), 422},
		{pool_printf(pool, "/diff.json?sandbox_id=%s&tree=..", box), 422},
		{"/look.json?look=look-aaaaaaaaaaaaaaaa", 404},
	};
	int64_t looks = testdb_i64("SELECT count(*) FROM looks");

	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct answer a = testweb_operator(pool, "GET", refused[i].url, NULL);

		if (a.status != refused[i].status)
			fail_msg("%s: %d", refused[i].url, a.status);
		if (!*testweb_get(pool, &a, "error.fix"))
			fail_msg("%s: no fix", refused[i].url);
	}
	assert_int_equal(testdb_i64("SELECT count(*) FROM looks"), looks);
}

static void test_a_look_by_its_name(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *box = sandbox(pool), *look, *url;
	struct answer a;

	(void)state;
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/list_files.json?sandbox_id=%s&wait_ms=0", box), NULL);
	look = testweb_get(pool, &a, "look");
	url = pool_printf(pool, "/look.json?look=%s&wait_ms=0", look);
	assert_int_equal(testweb_operator(pool, "GET", url, NULL).status, 202);
	testdb_exec("UPDATE looks SET state = 'done', result = '{\"total\": 3}' WHERE name = '%s'",
		look);
	a = testweb_operator(pool, "GET", url, NULL);
	assert_int_equal(a.status, 200);
	assert_string_equal(testweb_get(pool, &a, "total"), "3");
	a = testweb_operator(pool, "GET",
		pool_printf(pool, "/list_files.json?sandbox_id=%s&wait_ms=0", box), NULL);
	look = testweb_get(pool, &a, "look");
	testdb_exec("UPDATE looks SET state = 'failed', code = 'not_found', reason = '', "
		    "detail = '/workspace/a: not there' WHERE name = '%s'",
		look);
	a = testweb_operator(pool, "GET", pool_printf(pool, "/look.json?look=%s", look), NULL);
	assert_int_equal(a.status, 404);
	assert_string_equal(testweb_get(pool, &a, "error.message"), "/workspace/a: not there");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_asks_a_runner),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_a_look_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
