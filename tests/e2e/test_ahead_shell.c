/*
 * The shell that a template holds (boxd's exec_shell.c), in real guests: the first script of a
 * clone is that process, cannot tell, and shares nothing with another clone's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "vm.h"

#define TASK "/run/asb/task.sh"
#define WAITING "pgrep -f '^/bin/bash /run/asb/task.sh' || true"

static struct vms vms;
static struct vm vm;

static int setup(void **state)
{
	(void)state;
	vms_init(&vms);
	vms_template(&vms);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vms_done(&vms);
	return 0;
}

static int clone_open(void **state)
{
	(void)state;
	vm_start(&vms, &vms.tpl, &vm);
	vm_open(&vm, "a-shell", NULL);
	return 0;
}

static int clone_close(void **state)
{
	(void)state;
	vm_stop(&vm);
	return 0;
}

/* Runs a task as the agent `script` does; its output, in the pool. */
static const char *script(const char *cwd, const char *text, struct boxlink_exit *e)
{
	CLEANUP(buf) struct buf json = BUF_INIT(64 * 1024);

	(void)buf_addf(&json,
		"{\"argv\":[\"/bin/bash\",\"" TASK "\"],\"env\":{},\"cwd\":\"%s\",\"user\":"
		"\"agent\",\"lane\":\"drive\",\"stdin\":false,\"ask\":\"block\",\"code\":\"" TASK
		"\",\"code_text\":",
		cwd);
	json_add_quoted(&json, text, strlen(text));
	(void)buf_addc(&json, '}');
	assert_done(boxlink_exec_json(&vm.link, vm.next_stream++, json.data, 20000, e, err));
	return pool_memdup(vms.pool, e->out.data ? e->out.data : "", e->out.len);
}

static const char *said(const char *cwd, const char *text)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	const char *out = script(cwd, text, &e);

	if (e.code)
		fail_msg("exit %lld: %s", (long long)e.code, out);
	return out;
}

static void test_the_first_script_is_the_process_that_waits(void **state)
{
	const char *held = vm_output(&vms, &vm, WAITING);

	(void)state;
	assert_int_equal(strspn(held, "0123456789"), strlen(held) - 1);
	assert_string_equal(said("/workspace", "echo $$"), held);
	assert_string_equal(vm_output(&vms, &vm, WAITING), "");
	assert_string_equal(vm_output(&vms, &vm, "ls /run/asb"), "ask.sock\n");
	/* and there is one only */
	assert_string_not_equal(said("/workspace", "echo $$"), held);
}

/* Whatever a script can see of its shell. */
static const char seen[] =
	"echo "
	"\"$_|$0|${BASH_SOURCE[0]}|$LINENO|$-|$PWD|${OLDPWD-none}|${BASH_ENV-none}|$#|$?|$HOSTNAME|"
	"$SHLVL|$PPID|$BASHOPTS|$SHELLOPTS|${FUNCNAME[0]-}|${BASH_ARGV0-}|$IFS|"
	"$((SECONDS < 3))|$UID|$EUID\"\n"
	"env | sort; export -p; shopt; set -o; trap; alias; umask; ulimit -a; compgen -v | sort\n"
	"ls /proc/self/fd | wc -l; readlink /proc/$$/cwd; tr '\\0' ' ' </proc/$$/cmdline\n"
	"ps -o sid= -p $$ | grep -qx \" *$$\" && echo leads; cat \"$0\" | md5sum; nosuch; cd /tmp\n"
	"env | grep OLDPWD; declare -F; cat </dev/stdin; return 3 2>&1; echo \"$?\"\n";

static void test_it_cannot_tell(void **state)
{
	const char *first, *plain;

	(void)state;
	(void)vm_output(&vms, &vm, "mkdir -p \"/workspace/it's a tree\"");
	first = said("/workspace/it's a tree", seen);
	assert_non_null(strstr(first, "|/workspace/it's a tree|none|none|0|0|a-shell|"));
	assert_non_null(strstr(first, TASK ": line 4: nosuch: command not found"));
	plain = said("/workspace/it's a tree", seen);
	if (strcmp(first, plain) != 0) {
		size_t i = 0, from;

		while (first[i] == plain[i])
			i++;
		from = i > 60 ? i - 60 : 0;
		fail_msg("held: %.120s\nplain: %.120s", first + from, plain + from);
	}
}

static void test_it_ends_as_ever(void **state)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	(void)state;
	assert_string_equal(script("/workspace", "echo a; exit 7", &e), "a\n");
	assert_int_equal(e.code, 7);
}

static void test_its_numbers_are_its_own(void **state)
{
	static const char numbers[] = "echo $RANDOM$RANDOM$RANDOM";
	const char *first = said("/workspace", numbers);

	(void)state;
	vm_stop(&vm);
	(void)clone_open(NULL);
	assert_string_not_equal(said("/workspace", numbers), first);
}

/* What it is not for is begun as ever, and the shell that waited is gone. */
static void test_others_are_begun_as_ever(void **state)
{
	static const char *const doings[] = {
		"pkill -9 -f '^/bin/bash /run/asb/task.sh'",
		"rm -f /run/asb/begin",
		"echo 'echo theirs' >/run/asb/begin",
		"echo 'echo theirs' >/tmp/x; mv /tmp/x /run/asb/begin",
	};
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(doings) / sizeof(doings[0]); i++) {
		(void)vm_output(&vms, &vm, doings[i]);
		assert_string_equal(said("/workspace", "echo ours"), "ours\n");
		(void)clone_close(NULL);
		(void)clone_open(NULL);
	}
	/* the steps that place a tree leave it */
	assert_done(boxlink_exec_json(&vm.link, vm.next_stream++,
		"{\"argv\":[\"/bin/true\"],\"cwd\":\"/\",\"lane\":\"drive\"}", 20000, &e, err));
	assert_string_not_equal(vm_output(&vms, &vm, WAITING), "");
	cleanup_boxlink_exit(&e);
	assert_done(boxlink_exec_json(&vm.link, vm.next_stream++,
		"{\"argv\":[\"/bin/true\"],\"cwd\":\"/\",\"lane\":\"drive\",\"stdin\":true}", 20000,
		&e, err));
	assert_int_equal(e.code, 0);
	assert_string_equal(vm_output(&vms, &vm, WAITING), "");
	assert_string_equal(said("/workspace", "echo on"), "on\n");
}

/* A task that is longer than a frame lies there before its EXEC: no shell waits beside it, nor for
 * what comes after it. */
static void test_a_long_task_is_alone(void **state)
{
	static const char alone[] = "pgrep -fc '^/bin/bash " TASK "'";
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	const char *held = vm_output(&vms, &vm, WAITING);

	(void)state;
	assert_string_not_equal(held, "");
	(void)vm_output(&vms, &vm,
		"echo \"sleep 0.5; pgrep -f '^/bin/bash " TASK
		"' | grep -vx \\$\\$; echo \\$\\$\" >" TASK);
	assert_done(boxlink_exec_json(&vm.link, vm.next_stream++,
		"{\"argv\":[\"/bin/bash\",\"" TASK "\"],\"cwd\":\"/workspace\",\"lane\":\"drive\"}",
		20000, &e, err));
	assert_int_equal(e.code, 0);
	/* its own number and no other's */
	assert_int_equal(memchr(e.out.data, '\n', e.out.len) == e.out.data + e.out.len - 1, 1);
	assert_string_not_equal(pool_memdup(vms.pool, e.out.data, e.out.len), held);
	assert_string_equal(said("/workspace", alone), "1\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, clone_open, clone_close)
	const struct CMUnitTest tests[] = {
		TEST(test_the_first_script_is_the_process_that_waits),
		TEST(test_it_cannot_tell),
		TEST(test_it_ends_as_ever),
		TEST(test_its_numbers_are_its_own),
		TEST(test_others_are_begun_as_ever),
		TEST(test_a_long_task_is_alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
