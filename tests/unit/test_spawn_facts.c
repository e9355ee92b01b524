/*
 * What is read back of a process that is in the middle of its exec: it has no arguments for an
 * instant, which is waited out; one that has ended is not waited for.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "size_class.h"
#include "spawn_site.h"
#include "text.h"

#define EMPTY_MS 150

static char first[64];

static bool inspect(char *const *argv, size_t argc, struct runtime_facts *out, struct err *err)
{
	(void)err;
	(void)snprintf(first, sizeof(first), "%s", argc ? argv[0] : "");
	*out = (struct runtime_facts){0};
	return true;
}

static const struct runtime plain = {.name = "plain", .inspect = inspect};

static bool facts(pid_t pid, struct buf *out, struct err *err)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	CLEANUP(json) struct json_object *report = json_new_object();
	const struct spawn_request rq = {
		.box = "box-a", .runtime = &plain, .size = size_class_find("s")};

	first[0] = '\0';
	json_add_i64(report, "pid", pid);
	json_add_i64(report, "device_nics", 0);
	json_add(report, "fds", json_new_array());
	return facts_read(pool, &rq, report, out, err);
}

/* Our memory as proc(5) numbers it in /proc/self/stat. */
static bool map_read(struct prctl_mm_map *map)
{
	char text[2048], *p;
	CLEANUP(file) FILE *f = fopen("/proc/self/stat", "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	unsigned long long field[52] = {0};

	text[n] = '\0';
	p = strrchr(text, ')');
	for (int i = 3; p && i < 52; i++) {
		p = strchr(p + 1, ' ');
		field[i] = p ? strtoull(p + 1, NULL, 10) : 0;
	}
	*map = (struct prctl_mm_map){
		.start_code = field[26],
		.end_code = field[27],
		.start_stack = field[28],
		.start_data = field[45],
		.end_data = field[46],
		.start_brk = field[47],
		.brk = (uintptr_t)sbrk(0),
		.arg_start = field[48],
		.arg_end = field[49],
		.env_start = field[50],
		.env_end = field[51],
		.exe_fd = (uint32_t)-1,
	};
	return p != NULL;
}

static bool arguments_end_at(struct prctl_mm_map *map, uint64_t end)
{
	map->arg_end = end;
	return !prctl(PR_SET_MM, PR_SET_MM_MAP, map, sizeof(*map), 0);
}

/* Takes its arguments away, says so, and has them back after a while, as an exec does. */
static void without_arguments(int said)
{
	struct prctl_mm_map map;
	bool ok = map_read(&map);
	uint64_t end = map.arg_end;

	ok = ok && arguments_end_at(&map, map.arg_start);
	if (write(said, ok ? "y" : "n", 1) != 1 || !ok)
		_exit(1);
	(void)usleep(EMPTY_MS * 1000);
	if (!arguments_end_at(&map, end))
		_exit(1);
	for (;;)
		(void)pause();
}

static void test_in_the_middle_of_its_exec(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);
	int64_t began = time_boot_ms();
	struct err err = {0};
	int pair[2], status;
	char word = 0;
	pid_t pid;
	bool ok;

	(void)state;
	assert_int_equal(pipe(pair), 0);
	pid = fork();
	if (!pid)
		without_arguments(pair[1]);
	assert_int_equal(read(pair[0], &word, 1), 1);
	ok = word == 'y' && facts(pid, &out, &err);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(word, 'y');
	if (!ok)
		fail_msg("%s", err.msg);
	assert_true(time_boot_ms() - began >= EMPTY_MS);
	assert_non_null(strstr(first, "test_spawn_facts"));
	assert_non_null(strstr(out.data, "\"no_new_privs\":"));
}

static void test_one_that_has_ended(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(65536);
	struct err err = {0};
	siginfo_t info;
	int64_t began;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	began = time_boot_ms();
	assert_false(facts(pid, &out, &err));
	assert_non_null(strstr(err.msg, "has ended"));
	assert_true(time_boot_ms() - began < 1000);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_middle_of_its_exec),
		cmocka_unit_test(test_one_that_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
