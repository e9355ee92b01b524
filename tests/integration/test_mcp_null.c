/*
 * null among a tool's arguments, as clients send it for what their model did not say: each tool is
 * called without what need not be there, and with null for it, and answers the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "action.h"
#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "testdb.h"
#include "testweb.h"

static struct pool *pool;

static int make_pool(void **state)
{
	*state = pool = pool_new();
	return 0;
}

/* Something for each argument that must be there, and null for all others, or nothing. */
static struct answer call(const struct action *a, bool nulls)
{
	CLEANUP(json) struct json_object *args = json_new_object();

	for (size_t i = 0; i < a->nfields; i++) {
		const struct field *f = &a->fields[i];

		if (f->required && f->kind == FIELD_KIND_INT)
			json_add_i64(args, f->name, f->min);
		else if (f->required)
			json_add_text(args, f->name, "null-test");
		else if (nulls)
			json_add(args, f->name, NULL);
	}
	/* not the action's own, but of both doors */
	if (nulls)
		json_add(args, "elicit", NULL);
	return testweb_mcp(
		pool, &(struct testweb_mcp){.name = a->name,
			      .params = pool_printf(pool, "\"name\":\"%s\",\"arguments\":%s",
				      a->name, json_text(args, pool))});
}

static const char *text(const struct answer *a)
{
	return testweb_get(pool, a, "result.content.0.text");
}

static void test_left_out(void **state)
{
	int tools = 0;

	(void)state;
	for (size_t i = 0; actions[i]; i++) {
		const struct action *a = actions[i];
		struct answer without, with;

		/* a call that waits has no answer yet */
		if (!a->tool.title || a->tool.once_ms || !strcmp(a->name, "create_sandbox"))
			continue;
		without = call(a, false);
		with = call(a, true);
		assert_int_equal(with.status, 200);
		/* the first line: the others may say when it was */
		if (strncmp(text(&with), text(&without), strcspn(text(&without), "\n")) != 0)
			fail_msg("%s: %s\n%s", a->name, with.body, without.body);
		assert_null(strstr(text(&with), "must "));
		tools++;
	}
	assert_true(tools > 10);
}

/* The same call, and so the same run. */
static void test_the_same_call(void **state)
{
	const struct action *a = action_find_tool("delegate");
	struct answer without = call(a, false), with = call(a, true);

	(void)state;
	assert_non_null(without.internal);
	assert_non_null(with.internal);
	assert_int_equal(testdb_i64("SELECT count(*) FROM runs WHERE task = 'null-test'"), 1);
}

/* What must be there is not there as null, and the JSON route is as strict as it says. */
static void test_refused(void **state)
{
	struct answer a =
		testweb_mcp(pool, &(struct testweb_mcp){.name = "delegate",
					  .params = "\"name\":\"delegate\",\"arguments\":{"
						    "\"task\":null}"});

	(void)state;
	assert_non_null(strstr(text(&a), "error:invalid task: is missing"));
	a = testweb_operator(pool, "POST", "/run.json",
		"{\"sandbox_id\":\"box-none\",\"code\":\"1\",\"timeout\":null}");
	assert_int_equal(a.status, 422);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_pool, testweb_drop_pool)
	const struct CMUnitTest tests[] = {
		TEST(test_left_out),
		TEST(test_the_same_call),
		TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, testweb_end);
}
