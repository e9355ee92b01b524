/*
 * Lock files: what the language's own tools write passes, what would fetch from elsewhere is
 * refused by the line that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "package_file.h"
#include "pool.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	enum package_manager manager;
	const char *text;
	const char *refused; /* a part of the message; NULL: it passes */
} cases[] = {
	{PACKAGE_PIP, "", NULL},
	{PACKAGE_PIP, "# a comment\n\nrequests==2.32.3\nidna==3.7  # via requests\r\n", NULL},
	{PACKAGE_PIP,
		"requests==2.32.3 \\\n    --hash=sha256:70761c \\\n    --hash=sha256:55365d\n"
		"colorama==0.4.6 ; sys_platform == \"win32\"\n",
		NULL},
	{PACKAGE_PIP, "uvicorn[standard]==0.34.0", NULL},
	{PACKAGE_PIP, "requests\n", "requests"},
	{PACKAGE_PIP, "requests>=2\n", "requests>=2"},
	{PACKAGE_PIP, "idna==3.7\n--index-url http://evil.example/\n", "--index-url"},
	{PACKAGE_PIP, "-r other.txt\n", "-r other.txt"},
	{PACKAGE_PIP, "-e .\n", "-e ."},
	{PACKAGE_PIP, "git+https://example.com/a.git\n", "git+https"},
	{PACKAGE_PIP, "a @ https://example.com/a.whl\n", "https"},
	{PACKAGE_PIP, "./a.whl\n", "./a.whl"},
	{PACKAGE_PIP, "a==1 --config-settings=x\n", "a==1"},
	{PACKAGE_PIP, "a==1 --hash=sha256:zz; --x\n", "a==1"},
	{PACKAGE_PIP, "a==1 \\\n--index-url=http://evil.example\n", "a==1"},
	{PACKAGE_NPM,
		"{\"lockfileVersion\":3,\"packages\":{\"\":{\"name\":\"x\"},\"node_modules/a\":"
		"{\"version\":\"1.0.0\",\"resolved\":\"https://registry.npmjs.org/a/-/"
		"a-1.0.0.tgz\"}}}",
		NULL},
	{PACKAGE_NPM, "{\"lockfileVersion\":1,\"dependencies\":{}}", "older"},
	{PACKAGE_NPM, "{", "not JSON"},
	{PACKAGE_NPM,
		"{\"lockfileVersion\":3,\"packages\":{\"node_modules/a\":{\"resolved\":"
		"\"git+ssh://git@example.com/a.git#1\"}}}",
		"node_modules/a"},
	{PACKAGE_NPM,
		"{\"lockfileVersion\":3,\"packages\":{\"node_modules/a\":{\"resolved\":"
		"\"https://evil.example/a.tgz\"}}}",
		"node_modules/a"},
	{PACKAGE_NPM,
		"{\"lockfileVersion\":3,\"packages\":{\"node_modules/a\":{\"resolved\":\"b\","
		"\"link\":true}}}",
		"node_modules/a"},
	{PACKAGE_NPM, "{\"lockfileVersion\":3,\"packages\":{\"../a\":{}}}", "../a"},
	{PACKAGE_GO,
		"github.com/google/uuid v1.6.0 h1:abc=\ngithub.com/google/uuid v1.6.0/go.mod "
		"h1:d=\n",
		NULL},
	{PACKAGE_GO, "github.com/google/uuid v1.6.0\n", "go.sum"},
	{PACKAGE_GO, "-x v1.6.0 h1:abc=\n", "go.sum"},
	{PACKAGE_MAVEN, "<project/>", NULL},
	{PACKAGE_APT, "jq", "no lock file"},
};

static void checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct err err = {0};
		bool ok = package_file_check(
			pool, cases[i].manager, cases[i].text, strlen(cases[i].text), &err);

		if (ok != !cases[i].refused)
			fail_msg("%zu: %s: %s", i, cases[i].text, ok ? "passed" : err.msg);
		if (ok)
			continue;
		assert_string_equal(err.reason, "invalid_package");
		if (!strstr(err.msg, cases[i].refused))
			fail_msg("%zu: %s does not name %s", i, err.msg, cases[i].refused);
	}
}

static void not_text(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct err err;

	(void)state;
	assert_true(package_file_check(pool, PACKAGE_PIP, "a==1\n", 5, &err));
	assert_false(package_file_check(pool, PACKAGE_PIP, "a==1\0", 5, &err));
	assert_false(package_file_check(pool, PACKAGE_PIP, "a==1\xff", 5, &err));
}

static void names(void **state)
{
	enum package_manager m;

	(void)state;
	assert_true(package_file_manager("go.sum", &m));
	assert_int_equal(m, PACKAGE_GO);
	assert_false(package_file_manager("sub/go.sum", &m));
	assert_false(package_file_manager("setup.py", &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checked),
		cmocka_unit_test(not_text),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
