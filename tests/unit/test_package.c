/*
 * Package specs: what each language writes is taken apart, what could be more than a name and a
 * version is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "package.h"
#include "pool.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	enum package_manager manager;
	const char *spec, *name, *version;
} good[] = {
	{PACKAGE_PIP, "requests", "requests", ""},
	{PACKAGE_PIP, "requests==2.32.3", "requests", "2.32.3"},
	{PACKAGE_PIP, "zope.interface==6.0", "zope.interface", "6.0"},
	{PACKAGE_PIP, "uvicorn[standard,extra]==0.34.0", "uvicorn", "0.34.0"},
	{PACKAGE_PIP, "torch==2.1.0+cpu", "torch", "2.1.0+cpu"},
	{PACKAGE_PIP, "x==1!2.0rc1.post1", "x", "1!2.0rc1.post1"},
	{PACKAGE_NPM, "left-pad", "left-pad", ""},
	{PACKAGE_NPM, "left-pad@1.3.0", "left-pad", "1.3.0"},
	{PACKAGE_NPM, "@types/node", "@types/node", ""},
	{PACKAGE_NPM, "@types/node@22.1.0-rc.1+b5", "@types/node", "22.1.0-rc.1+b5"},
	{PACKAGE_APT, "jq", "jq", ""},
	{PACKAGE_APT, "jq=1.7.1-6+deb13u1", "jq", "1.7.1-6+deb13u1"},
	{PACKAGE_APT, "g++=4:14.2.0-1", "g++", "4:14.2.0-1"},
	{PACKAGE_APT, "libgtk2.0-0=2.24~rc1", "libgtk2.0-0", "2.24~rc1"},
	{PACKAGE_GO, "github.com/google/uuid", "github.com/google/uuid", ""},
	{PACKAGE_GO, "github.com/google/uuid@v1.6.0", "github.com/google/uuid", "v1.6.0"},
	{PACKAGE_GO, "gopkg.in/yaml.v3@v3.0.1", "gopkg.in/yaml.v3", "v3.0.1"},
	{PACKAGE_GO, "golang.org/x/text@v0.0.0-20240101000000-abcdef012345", "golang.org/x/text",
		"v0.0.0-20240101000000-abcdef012345"},
	{PACKAGE_GO, "example.com/m@v2.0.0+incompatible", "example.com/m", "v2.0.0+incompatible"},
	{PACKAGE_MAVEN, "org.slf4j:slf4j-api:2.0.16", "org.slf4j:slf4j-api", "2.0.16"},
	{PACKAGE_MAVEN, "junit:junit:4.13-beta-3", "junit:junit", "4.13-beta-3"},
};

static void good_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct package p;
		struct err err = {0};

		if (!package_parse(pool, good[i].manager, good[i].spec, &p, &err))
			fail_msg("%s: %s", good[i].spec, err.msg);
		assert_string_equal(p.name, good[i].name);
		assert_string_equal(p.version, good[i].version);
		assert_string_equal(p.spec, good[i].spec);
	}
}

static const struct {
	enum package_manager manager;
	const char *spec;
} bad[] = {
	{PACKAGE_PIP, ""},
	{PACKAGE_PIP, "--index-url=http://evil.example/simple"},
	{PACKAGE_PIP, "--index-url http://evil.example/simple requests"},
	{PACKAGE_PIP, "-e ."},
	{PACKAGE_PIP, "-rrequirements.txt"},
	{PACKAGE_PIP, "requests --index-url=http://evil.example"},
	{PACKAGE_PIP, "requests==2.0 --pre"},
	{PACKAGE_PIP, "requests==2.0\n--index-url=http://evil.example"},
	{PACKAGE_PIP, "git+https://example.com/a.git"},
	{PACKAGE_PIP, "requests @ https://example.com/a.whl"},
	{PACKAGE_PIP, "https://example.com/a.whl"},
	{PACKAGE_PIP, "./a.whl"},
	{PACKAGE_PIP, "/tmp/a.whl"},
	{PACKAGE_PIP, "a/b"},
	{PACKAGE_PIP, ".."},
	{PACKAGE_PIP, "requests>=2.0"},
	{PACKAGE_PIP, "requests==2.*"},
	{PACKAGE_PIP, "requests=="},
	{PACKAGE_PIP, "requests===2.0"},
	{PACKAGE_PIP, "==2.0"},
	{PACKAGE_PIP, "a[]==1"},
	{PACKAGE_PIP, "a[x==1"},
	{PACKAGE_PIP, "a[x]y==1"},
	{PACKAGE_PIP, "a[--pre]"},
	{PACKAGE_PIP, "requests; python_version<'3'"},
	{PACKAGE_PIP, "$(id)"},
	{PACKAGE_PIP, "requests==$(id)"},
	{PACKAGE_NPM, "-g"},
	{PACKAGE_NPM, "--registry=http://evil.example"},
	{PACKAGE_NPM, "left-pad@^1.3.0"},
	{PACKAGE_NPM, "left-pad@1"},
	{PACKAGE_NPM, "left-pad@latest"},
	{PACKAGE_NPM, "left-pad@"},
	{PACKAGE_NPM, "left-pad@npm:other@1.0.0"},
	{PACKAGE_NPM, "owner/repo"},
	{PACKAGE_NPM, "@a/b/c"},
	{PACKAGE_NPM, "@/a"},
	{PACKAGE_NPM, "@"},
	{PACKAGE_NPM, "github:owner/repo"},
	{PACKAGE_NPM, "git+ssh://git@example.com/a.git"},
	{PACKAGE_NPM, "file:../a"},
	{PACKAGE_NPM, "../a"},
	{PACKAGE_NPM, "a.tgz/../../b"},
	{PACKAGE_NPM, "https://example.com/a.tgz"},
	{PACKAGE_NPM, "Left-Pad"},
	{PACKAGE_APT, "-o=APT::Get::AllowUnauthenticated=true"},
	{PACKAGE_APT, "jq-"},
	{PACKAGE_APT, "jq/sid"},
	{PACKAGE_APT, "jq:i386"},
	{PACKAGE_APT, "./a.deb"},
	{PACKAGE_APT, "jq="},
	{PACKAGE_APT, "jq=1=2"},
	{PACKAGE_APT, "jq=-1"},
	{PACKAGE_APT, "^python.*"},
	{PACKAGE_APT, "lib*"},
	{PACKAGE_GO, "-u"},
	{PACKAGE_GO, "fmt"},
	{PACKAGE_GO, "./x"},
	{PACKAGE_GO, "../x.y/z"},
	{PACKAGE_GO, "example.com/../x@v1.0.0"},
	{PACKAGE_GO, "example.com//x@v1.0.0"},
	{PACKAGE_GO, "example.com/x@latest"},
	{PACKAGE_GO, "example.com/x@master"},
	{PACKAGE_GO, "example.com/x@v1"},
	{PACKAGE_GO, "example.com/x@>=v1.0.0"},
	{PACKAGE_GO, "https://example.com/x"},
	{PACKAGE_MAVEN, "junit:junit"},
	{PACKAGE_MAVEN, "junit"},
	{PACKAGE_MAVEN, "a:b:c:1.0"},
	{PACKAGE_MAVEN, "a:b:[1.0,2.0)"},
	{PACKAGE_MAVEN, "a/b:c:1.0"},
	{PACKAGE_MAVEN, "-Dx:b:1.0"},
	{PACKAGE_MAVEN, "a:b:1.0 -X"},
};

static void bad_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		CLEANUP(pool) struct pool *pool = pool_new();
		struct package p;
		struct err err = {0};

		if (package_parse(pool, bad[i].manager, bad[i].spec, &p, &err))
			fail_msg("%s was taken", bad[i].spec);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(err.reason, "invalid_package");
		assert_non_null(strstr(err.fix, "write "));
	}
}

static void many(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *specs[PACKAGES_MAX + 1];
	struct package p[PACKAGES_MAX + 1];
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(specs); i++)
		specs[i] = pool_printf(pool, "p%zu==1.%zu", i, i);
	assert_true(packages_parse(pool, PACKAGE_PIP, specs, PACKAGES_MAX, p, &err));
	assert_string_equal(p[PACKAGES_MAX - 1].name, "p24");
	assert_false(packages_parse(pool, PACKAGE_PIP, specs, PACKAGES_MAX + 1, p, &err));
	assert_non_null(strstr(err.msg, "at most 25"));
	specs[1] = "P0==2";
	assert_false(packages_parse(pool, PACKAGE_PIP, specs, 2, p, &err));
	assert_non_null(strstr(err.msg, "twice"));
}

static void managers(void **state)
{
	enum package_manager m;

	(void)state;
	assert_true(package_manager_find("maven", &m));
	assert_int_equal(m, PACKAGE_MAVEN);
	assert_false(package_manager_find("cargo", &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones),
		cmocka_unit_test(bad_ones),
		cmocka_unit_test(many),
		cmocka_unit_test(managers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
