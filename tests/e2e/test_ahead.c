/*
 * A program begun before it is asked for (boxd's exec_ahead.c), in a real guest: that the next run
 * is that process, that it cannot tell, and that whoever looks, kills or forges meanwhile changes
 * nothing.
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

#define WAITING "pgrep -f 'run-[0-9]*x[.]py' || true"

static struct vms vms;
static struct vm vm;

static int setup(void **state)
{
	(void)state;
	vms_init(&vms);
	vms_template(&vms);
	vm_start(&vms, &vms.tpl, &vm);
	vm_open(&vm, "ahead", NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_stop(&vm);
	vms_done(&vms);
	return 0;
}

/* Runs python code as a sandbox's run is, with A in its environment; its output, in the pool. */
static const char *python_as(
	const char *a, const char *code, int timeout_ms, struct boxlink_exit *e)
{
	CLEANUP(buf) struct buf json = BUF_INIT(64 * 1024);
	uint32_t stream = vm.next_stream++;
	const char *path = pool_printf(vms.pool, "/workspace/.run-%u.py", stream);

	(void)buf_addf(&json,
		"{\"argv\":[\"python3\",\"%s\"],\"env\":{\"A\":\"%s\"},\"cwd\":\"/workspace\","
		"\"lane\":\"exec:%u\",\"timeout_ms\":%d,\"ahead\":true,\"code\":\"%s\","
		"\"code_text\":",
		path, a, stream, timeout_ms, path);
	json_add_quoted(&json, code, strlen(code));
	(void)buf_addc(&json, '}');
	assert_done(boxlink_exec_json(&vm.link, stream, json.data, timeout_ms, e, err));
	return pool_memdup(vms.pool, e->out.data ? e->out.data : "", e->out.len);
}

static const char *python(const char *code)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	const char *said = python_as("1", code, 20000, &e);

	if (e.code)
		fail_msg("exit %lld: %s", (long long)e.code, said);
	return said;
}

static const char *pid_of_next(void)
{
	return vm_output(&vms, &vm, WAITING);
}

/* Long enough to have come to where it is held; what is held is proved by being the next run. */
static const char *pid_of_held(void)
{
	return vm_output(&vms, &vm, "sleep 1.5; " WAITING);
}

static void test_the_next_run_is_the_process_that_waits(void **state)
{
	static const char who[] = "import os\nprint(os.getpid())";
	const char *first, *held, *begun;

	(void)state;
	first = python(who);
	held = pid_of_held();
	assert_int_equal(strspn(held, "0123456789"), strlen(held) - 1);
	assert_string_not_equal(held, first);
	assert_string_equal(python(who), held);
	/* also one that has not come so far yet, and is used once */
	begun = pid_of_next();
	assert_string_not_equal(begun, held);
	assert_string_equal(python(who), begun);
}

/* What a program can see of itself, but for the number in its name. */
static const char *seen(const char *a)
{
	static const char code[] =
		"import os, re, sys, traceback\n"
		"def f():\n"
		"    raise ValueError('no')\n"
		"try:\n"
		"    f()\n"
		"except ValueError:\n"
		"    told = traceback.format_exc()\n"
		"all = [sys.argv, __file__, __name__, sys.path, sorted(os.environ.items()), "
		"os.getcwd(),\n"
		"    told, os.stat(__file__).st_size, open(__file__).read(), os.getuid(),\n"
		"    sys.stdin.read(), os.getsid(0) == os.getpid(), "
		"sorted(os.listdir('/proc/self/fd')),\n"
		"    open('/proc/self/oom_score_adj').read(), os.nice(0)]\n"
		"print(re.sub(r'run-\\d+x?', 'run-N', repr(all)).replace(\"('A', '2')\", \"('A', "
		"'1')\"))\n";
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	const char *said = python_as(a, code, 20000, &e);

	assert_int_equal(e.code, 0);
	return said;
}

static void test_it_cannot_tell(void **state)
{
	const char *plain, *held;

	(void)state;
	/* of another environment there is none that waits, and then there is */
	(void)python("pass");
	plain = seen("2");
	assert_non_null(strstr(plain, "ValueError: no"));
	held = pid_of_held();
	assert_string_equal(seen("2"), plain);
	assert_string_not_equal(pid_of_next(), held);
	(void)python("pass");
	held = pid_of_held();
	assert_string_equal(seen("1"), plain);
	assert_string_not_equal(pid_of_next(), held);
}

static void test_a_failing_run_fails_as_ever(void **state)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	const char *said;

	(void)state;
	(void)python("pass");
	(void)pid_of_held();
	said = python_as("1", "import os\nprint('a', flush=True)\nos._exit(7)", 20000, &e);
	assert_string_equal(said, "a\n");
	assert_int_equal(e.code, 7);
}

static void test_a_look_finds_nothing_and_ends_it(void **state)
{
	struct wire_frame f = {0};
	uint32_t stream = vm.next_stream++;

	(void)state;
	(void)python("open('mine', 'w')");
	assert_string_not_equal(pid_of_held(), "");
	assert_done(boxlink_send(
		&vm.link, WIRE_LIST, stream, "{\"path\":\"/workspace\",\"depth\":1}", err));
	do {
		assert_done(boxlink_next(&vm.link, 20000, &f, err));
		if (f.type == WIRE_DATA && f.stream == stream) {
			assert_null(memmem(f.payload, f.length, "run-", 4));
			assert_non_null(memmem(f.payload, f.length, "mine", 4));
		}
		assert_int_not_equal(f.type, WIRE_ERROR);
	} while (f.type != WIRE_DONE || f.stream != stream);
	assert_string_equal(pid_of_next(), "");
	assert_string_equal(vm_output(&vms, &vm, "ls -A /workspace"), "mine\n");
	assert_string_equal(python("print('still')"), "still\n");
}

static void test_what_others_do_meanwhile_changes_nothing(void **state)
{
	static const char *const doings[] = {
		"pkill -9 -f 'run-[0-9]*x[.]py'",
		"sleep 1.5; pkill -9 -f 'run-[0-9]*x[.]py'",
		"rm -f /workspace/.run-*",
		"sleep 1.5; rm -f /workspace/.run-*",
		"cd /workspace; for f in .run-*; do echo 'print(2)' >/tmp/f; mv /tmp/f $f; done",
		"sleep 1.5; cd /workspace; for f in .run-*; do echo 'print(2)' >/tmp/f; mv /tmp/f "
		"$f; "
		"done",
		"cd /workspace; for f in .run-*; do echo 'print(2)' >>$f; done",
		"sleep 1.5; cd /workspace; for f in .run-*; do echo 'print(2)' >>$f; done",
		/* others are not held where they open it */
		"cd /workspace; ln .run-* /workspace/other; timeout 5 cat other .run-*; rm other",
	};

	(void)state;
	(void)python("pass");
	for (size_t i = 0; i < sizeof(doings) / sizeof(doings[0]); i++) {
		(void)vm_output(&vms, &vm, doings[i]);
		assert_string_equal(python("print('ours')"), "ours\n");
	}
	assert_string_equal(
		vm_output(&vms, &vm, "ls -A /workspace | grep -cv run- || true"), "1\n");
}

static void test_its_time_out_is_its_own_and_reaches_all(void **state)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	(void)state;
	(void)python("pass");
	/* it waits longer than the run may take */
	assert_string_not_equal(vm_output(&vms, &vm, "sleep 3; " WAITING), "");
	(void)python_as("1",
		"import os, time\n"
		"if not os.fork():\n"
		"    os.setsid()\n"
		"    os.execvp('sleep', ['sleep', '4219'])\n"
		"time.sleep(4219)",
		2000, &e);
	assert_true(e.timed_out);
	assert_string_equal(vm_output(&vms, &vm, "pgrep -fc '^sleep 4219' || true"), "0\n");
	assert_string_equal(python("print('usable')"), "usable\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_run_is_the_process_that_waits),
		cmocka_unit_test(test_it_cannot_tell),
		cmocka_unit_test(test_a_failing_run_fails_as_ever),
		cmocka_unit_test(test_a_look_finds_nothing_and_ends_it),
		cmocka_unit_test(test_what_others_do_meanwhile_changes_nothing),
		cmocka_unit_test(test_its_time_out_is_its_own_and_reaches_all),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
