/*
 * The printed documents are current, and every row of the table of actions is named in them and has
 * a test that asks its path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "action.h"
#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "verbs.h"

/* make runs tests in the root of the tree. */
static void read_file(const char *path, struct buf *b)
{
	CLEANUP(file) FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		fail_msg("no %s: run make docs", path);
	do {
		char *to = buf_room(b, 65536);

		assert_non_null(to);
		n = fread(to, 1, 65536, f);
		buf_grew(b, n);
	} while (n);
}

static void check(const char *path, const struct buf *want)
{
	CLEANUP(buf) struct buf have = BUF_INIT(1 << 20);

	read_file(path, &have);
	if (strcmp(have.data, want->data) != 0)
		fail_msg("%s is stale: run make docs", path);
}

static void test_api(void **state)
{
	CLEANUP(buf) struct buf want = BUF_INIT(1 << 20);

	(void)state;
	actions_print(&want);
	assert_false(want.failed);
	check("docs/api.md", &want);
}

static void test_config(void **state)
{
	CLEANUP(buf) struct buf want = BUF_INIT(1 << 20);

	(void)state;
	config_print(&want);
	assert_false(want.failed);
	check("docs/config.md", &want);
}

static void test_cli(void **state)
{
	CLEANUP(buf) struct buf want = BUF_INIT(1 << 20);

	(void)state;
	verbs_print_docs(&want);
	assert_false(want.failed);
	check("docs/cli.md", &want);
}

static void test_man(void **state)
{
	CLEANUP(buf) struct buf want = BUF_INIT(1 << 20);

	(void)state;
	verbs_print_man(&want);
	assert_false(want.failed);
	check("docs/asb.1", &want);
}

static void test_every_action(void **state)
{
	CLEANUP(buf) struct buf tests = BUF_INIT(1 << 20);

	(void)state;
	read_file("tests/integration/test_actions.c", &tests);
	read_file("tests/integration/test_access.c", &tests);
	read_file("tests/integration/test_keys.c", &tests);
	read_file("tests/integration/test_secrets.c", &tests);
	read_file("tests/integration/test_oauth.c", &tests);
	read_file("tests/support/oauthclient.c", &tests);
	read_file("tests/integration/test_delegate.c", &tests);
	read_file("tests/integration/test_screens.c", &tests);
	read_file("tests/integration/test_sandbox_actions.c", &tests);
	read_file("tests/integration/test_logs.c", &tests);
	read_file("tests/integration/test_receipts.c", &tests);
	read_file("tests/integration/test_look_actions.c", &tests);
	for (size_t i = 0; actions[i]; i++) {
		const struct action *a = actions[i];

		assert_true(strlen(a->summary) > 10);
		assert_non_null(a->answers);
		assert_ptr_equal(action_find(a->name), a);
		for (size_t k = 0; k < i; k++)
			assert_false(!strcmp(actions[k]->path, a->path) &&
				     !strcmp(actions[k]->method, a->method));
		if (!strstr(tests.data, a->path))
			fail_msg("action %s has no test", a->name);
		for (size_t k = 0; k < a->nfields; k++)
			assert_true(strlen(a->fields[k].help) > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_api),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_cli),
		cmocka_unit_test(test_man),
		cmocka_unit_test(test_every_action),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
