/*
 * What is called docker, or podman, and what it is: programs of that name which answer as each kind
 * does, and one that answers nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "container.h"
#include "pool.h"

#define PODMAN "{\"Client\":{\"APIVersion\":\"4.3.1\",\"Version\":\"4.3.1\",\"Os\":\"linux\"}}"
#define DOCKER_CLIENT \
	"\"Client\":{\"Version\":\"28.2.2\",\"ApiVersion\":\"1.50\",\"Context\":\"default\"}"
#define DOCKER                                                                      \
	"{" DOCKER_CLIENT                                                           \
	",\"Server\":{\"Version\":\"28.2.2\",\"Components\":[{\"Name\":\"Engine\"," \
	"\"Version\":\"28.2.2\"}]}}"
#define DOCKER_ALONE "{" DOCKER_CLIENT ",\"Server\":null}"
#define DOCKER_OF_PODMAN                                                                  \
	"{" DOCKER_CLIENT ",\"Server\":{\"Version\":\"4.3.1\",\"Components\":[{\"Name\":" \
	"\"Podman Engine\"}]}}"

#define MSB "msb 0.6.18"

static char dir[] = "/tmp/asb-engine.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return !mkdtemp(dir) || setenv("PATH", dir, 1);
}

static void program_path(const char *name, char out[128])
{
	(void)snprintf(out, 128, "%s/%s", dir, name);
}

/* A program that prints what it is to say, and then ends with this status. */
static void program_make(const char *name, const char *says, int status)
{
	char path[128];

	program_path(name, path);
	CLEANUP(file) FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "#!/bin/sh\nprintf '%%s\\n' '%s'\necho a warning >&2\nexit %d\n",
			    says, status) > 0);
	assert_int_equal(fchmod(fileno(f), 0755), 0);
}

static int teardown(void **state)
{
	char path[128];

	(void)state;
	program_path("docker", path);
	(void)unlink(path);
	program_path("podman", path);
	(void)unlink(path);
	program_path("msb", path);
	(void)unlink(path);
	return rmdir(dir);
}

static void test_names(void **state)
{
	static const struct {
		const char *name, *says;
		int status;
		const char *error; /* NULL: it is what it is called */
	} rows[] = {
		{"podman", PODMAN, 0, NULL},
		{"docker", DOCKER, 0, NULL},
		{"docker", PODMAN, 0, "podman under another name"},
		{"docker", DOCKER_OF_PODMAN, 0, "podman under another name"},
		{"docker", DOCKER_ALONE, 1, "daemon does not answer"},
		{"docker", "no json", 0, "no such engine"},
		{"docker", "", 0, "no such engine"},
		{"podman", DOCKER, 0, "not podman"},
		{"podman", "{}", 0, "not podman"},
		{"msb", MSB, 0, NULL},
		{"msb", "msb 0.6.14", 0, NULL},
		{"msb", "msb 0.10.0", 0, NULL},
		{"msb", "msb 1.0.0", 0, NULL},
		{"msb", MSB " (stand-in: anything)", 0, NULL},
		{"msb", "msb 0.6.13", 0, "older than 0.6.14"},
		{"msb", "msb 0.5.99", 0, "older than 0.6.14"},
		{"msb", MSB " or so", 0, "not microsandbox"},
		{"msb", "msb 0.6", 0, "not microsandbox"},
		{"msb", "podman version 4.3.1", 0, "not microsandbox"},
		{"msb", PODMAN, 0, "not microsandbox"},
		{"msb", "", 0, "not microsandbox"},
		{"msb", MSB, 1, "msb: msb 0.6.18"},
	};
	struct pool *pool = pool_new();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *version = NULL;
		struct err err = {0};
		bool fine;

		program_make(rows[i].name, rows[i].says, rows[i].status);
		fine = engine_probe(pool, engine_find(rows[i].name), &version, &err);
		if (fine != !rows[i].error)
			fail_msg("row %zu: %s", i, fine ? "accepted" : err.msg);
		if (fine) {
			assert_non_null(strstr(version, rows[i].name));
			continue;
		}
		if (!strstr(err.msg, rows[i].error))
			fail_msg("row %zu: %s", i, err.msg);
		/* each says what to do */
		assert_true(strlen(err.fix) > 10);
	}
	pool_free(pool);
}

static void test_absent(void **state)
{
	struct pool *pool = pool_new();
	const char *version;
	struct err err = {0};
	char path[128];

	(void)state;
	program_path("docker", path);
	(void)unlink(path);
	assert_false(engine_probe(pool, engine_find("docker"), &version, &err));
	assert_string_equal(err.reason, "no_engine");
	assert_null(engine_find("qemu"));
	assert_null(engine_find("lxc"));
	pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
