/*
 * config.c: layers and their order, the file's grammar, secrets by file, ranges, and the checks
 * between settings; each refusal names the setting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "pool.h"

static char dir[] = "/tmp/test_config.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

static const char *write_file(struct pool *pool, const char *name, const char *text)
{
	const char *path = pool_printf(pool, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fputs(text, f) >= 0, 1);
	assert_int_equal(fclose(f), 0);
	return path;
}

static bool load(
	struct pool *pool, const char *file_text, const struct config **out, struct err *err)
{
	const char *path = write_file(pool, "conf", file_text);
	char name[] = "asb-x", flag[] = "--config";
	char *argv[] = {name, flag, pool_strdup(pool, path), NULL};
	bool ok = config_load(pool, 3, argv, out, err);

	assert_int_equal(unlink(path), 0);
	return ok;
}

static void test_defaults(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct config *cfg = NULL;
	char name[] = "asb-x";
	char *argv[] = {name, NULL};
	struct err err;

	(void)state;
	assert_true(config_load(pool, 1, argv, &cfg, &err));
	assert_string_equal(cfg->url, "http://127.0.0.1:8380");
	assert_string_equal(cfg->operator_token, "");
	assert_int_equal(cfg->lease_ms, 15000);
	assert_int_equal(cfg->upload_max, 256 * 1024 * 1024);
	assert_string_equal(config_db(pool, cfg, "asb_web"),
		"host=/run/agent-sandbox/pg dbname=asb user=asb_web");
}

static void test_layers(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct config *cfg = NULL;
	struct err err;

	(void)state;
	assert_int_equal(setenv("BOX_SLOTS", "3", 1), 0);
	assert_true(load(pool,
		"# c\n; c\n\n BOX_SLOTS = 5 \r\nBOX_CPUS=2\nBOX_IMAGE=\"a b\"\nASB_DB='x y'\n"
		"ASB_DB_PASSFILE=/p\n",
		&cfg, &err));
	assert_int_equal(unsetenv("BOX_SLOTS"), 0);
	assert_int_equal(cfg->box_slots, 3);
	assert_int_equal(cfg->box_cpus, 2);
	assert_string_equal(cfg->box_image, "a b");
	assert_string_equal(config_db(pool, cfg, "r"), "x y user=r passfile=/p");
}

static void test_secret_file(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *path = write_file(pool, "token", "s3cret-s3cret-s3cret\n");
	const struct config *cfg = NULL;
	struct err err;

	(void)state;
	assert_true(load(pool, pool_printf(pool, "MCP_HTTP_TOKEN_FILE=%s\n", path), &cfg, &err));
	assert_string_equal(cfg->operator_token, "s3cret-s3cret-s3cret");
	assert_int_equal(setenv("MCP_HTTP_TOKEN_FILE", path, 1), 0);
	assert_true(load(pool, "", &cfg, &err));
	assert_string_equal(cfg->operator_token, "s3cret-s3cret-s3cret");
	assert_int_equal(setenv("MCP_HTTP_TOKEN", "other", 1), 0);
	assert_false(load(pool, "", &cfg, &err));
	assert_non_null(strstr(err.msg, "both set"));
	assert_int_equal(unsetenv("MCP_HTTP_TOKEN"), 0);
	assert_int_equal(unlink(path), 0);
	assert_false(load(pool, "", &cfg, &err));
	assert_non_null(strstr(err.msg, "MCP_HTTP_TOKEN_FILE"));
	assert_int_equal(unsetenv("MCP_HTTP_TOKEN_FILE"), 0);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"NOPE=1\n", "unknown setting NOPE"},
		{"\nASB_DB_FILE=/x\n", "line 2: unknown setting ASB_DB_FILE"},
		{"just words\n", "KEY=value"},
		{"BOX_CPUS=1\nBOX_CPUS=1\n", "line 2: BOX_CPUS is set twice"},
		{"MCP_HTTP_TOKEN=x\nMCP_HTTP_TOKEN_FILE=/x\n", "set twice"},
		{"BOX_CPUS=1x\n", "BOX_CPUS"},
		{"BOX_CPUS=0\n", "from 1 to 4"},
		{"BOX_CPUS=\n", "BOX_CPUS"},
		{"BOX_SLOTS=99999999999999999999\n", "BOX_SLOTS"},
		{"ASB_SITE=Short\n", "ASB_SITE"},
		{"ASB_URL=ftp://x\n", "ASB_URL"},
		{"ASB_URL=http://example.com\n", "loopback"},
		{"ASB_URL=http://127.0.0.1.evil.example\n", "loopback"},
		{"ASB_URL=https://x/path\n", "nothing more"},
		{"ASB_URL=https://u@x\n", "nothing more"},
		{"ASB_CONFORMANCE=1\nASB_URL=https://example.com\n",
			"ASB_CONFORMANCE: only for tests"},
		{"ASB_LEASE_MS=1000\nASB_RENEW_MS=600\n", "ASB_RENEW_MS"},
		{"BOX_IMAGE=\xff\n", "UTF-8"},
	};
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct config *cfg = NULL;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (load(pool, bad[i].text, &cfg, &err))
			fail_msg("taken: %s", bad[i].text);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.msg);
	}
	assert_null(cfg);
	assert_true(load(pool, "ASB_URL=https://example.com:8443\n", &cfg, &err));
	assert_true(load(pool, "ASB_URL=http://localhost:1\n", &cfg, &err));
	assert_true(load(pool, "ASB_URL=http://[::1]:1\n", &cfg, &err));
}

static void test_usage(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const struct config *cfg = NULL;
	char name[] = "asb-x", flag[] = "--config", odd[] = "--odd", gone[] = "/nonexistent/conf";
	char *lone[] = {name, flag, NULL}, *other[] = {name, odd, NULL},
	     *absent[] = {name, flag, gone, NULL};
	struct err err;

	(void)state;
	assert_false(config_load(pool, 2, lone, &cfg, &err));
	assert_non_null(strstr(err.msg, "usage: asb-x"));
	assert_false(config_load(pool, 2, other, &cfg, &err));
	assert_non_null(strstr(err.msg, "usage: asb-x"));
	assert_false(config_load(pool, 3, absent, &cfg, &err));
	assert_non_null(strstr(err.msg, "/nonexistent/conf"));
}

static void test_print(void **state)
{
	CLEANUP(buf) struct buf b = BUF_INIT(100000);

	(void)state;
	config_print(&b);
	assert_non_null(strstr(b.data, "| `MCP_HTTP_TOKEN`, or `_FILE` |  |"));
	assert_non_null(strstr(b.data, "| `BOX_CPUS` | 1 (1 to 4) |"));
}

static void test_runtimes(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *text = pool_printf(pool, "BOX_RUNTIME=auto\nASB_STATE_DIR=%s\n", dir), *found;
	const struct config *cfg = NULL;
	struct err err;

	(void)state;
	/* before asb doctor has run */
	assert_true(load(pool, text, &cfg, &err));
	assert_string_equal(cfg->box_runtime, "qemu");
	found = write_file(pool, "runtime", "podman\n");
	assert_true(load(pool, text, &cfg, &err));
	assert_string_equal(cfg->box_runtime, "podman");
	assert_int_equal(unlink(found), 0);
	/* words, and not parts of them */
	assert_true(load(pool, "BOX_RUNTIMES=podman  docker\n", &cfg, &err));
	assert_true(config_has_runtime(cfg, "qemu"));
	assert_true(config_has_runtime(cfg, "podman"));
	assert_true(config_has_runtime(cfg, "docker"));
	assert_false(config_has_runtime(cfg, "dock"));
	assert_false(config_has_runtime(cfg, "podman docker"));
	assert_false(config_has_runtime(cfg, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_secret_file),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_runtimes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
