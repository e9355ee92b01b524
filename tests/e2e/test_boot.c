/*
 * asb-boxd as PID 1 of a real QEMU guest, spoken to over virtio-serial: who it is, what execs,
 * signals and time-outs do, and that there is no network. One guest, booted cold, serves all tests;
 * the stream's own guarantees (stdin, tars, credit, a channel that breaks) are in test_channel.c.
 */
#include <sys/utsname.h>

#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "qmp.h"
#include "text.h"
#include "vm.h"

#define MIB (INT64_C(1) << 20)

static struct vms vms;
static struct vm vm;
static struct json_object *hello;

static int setup(void **state)
{
	struct err err = {0};

	(void)state;
	vms_init(&vms);
	vm_start(&vms, NULL, &vm);
	if (!boxlink_hello(&vm.link, 180000, &hello, &err)) {
		(void)fprintf(stderr, "%s\nconsole: %s\n", err.msg, vm.link.console_tail.data);
		return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_free(hello);
	vm_stop(&vm);
	vms_done(&vms);
	return 0;
}

static void run(struct boxlink_exit *e, const char *user, const char *script, int timeout_ms)
{
	assert_done(boxlink_exec(&vm.link, vm.next_stream++, user,
		(const char *const[]){"/bin/bash", "-c", script, NULL}, timeout_ms, e, err));
}

/* Before WELCOME: this test must be the first. */
static void test_nothing_runs_before_ready(void **state)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	const char *const argv[] = {"/bin/true", NULL};
	struct err refusal = {0};

	(void)state;
	assert_false(boxlink_exec(&vm.link, vm.next_stream++, "agent", argv, 5000, &e, &refusal));
	assert_non_null(strstr(refusal.msg, "READY"));
	assert_done(boxlink_welcome(&vm.link, "box-test", time_now_ms(), 60000, NULL, err));
	cleanup_boxlink_exit(&e);
	assert_done(boxlink_exec(&vm.link, vm.next_stream++, "agent", argv, 5000, &e, err));
	assert_int_equal(e.code, 0);
}

static void test_hello_says_what_the_machine_is(void **state)
{
	struct json_object *machine = json_get(hello, "machine");
	int64_t protocol = 0, memory = 0, cpus = 0, nics = -1, uid = -1;

	(void)state;
	assert_true(json_get_i64(hello, "protocol", &protocol));
	assert_int_equal(protocol, WIRE_PROTOCOL);
	assert_true(json_get_i64(machine, "memory_bytes", &memory));
	/* the kernel keeps some for itself */
	assert_in_range(memory, vms.size->memory_bytes - 128 * MIB, vms.size->memory_bytes);
	assert_true(json_get_i64(machine, "cpus", &cpus));
	assert_int_equal(cpus, vms.size->cpus);
	assert_true(json_get_i64(machine, "nics", &nics));
	assert_int_equal(nics, 0);
	assert_true(json_get_i64(machine, "uid", &uid));
	assert_int_equal(uid, 0);
}

static void test_the_kernel_is_not_the_hosts(void **state)
{
	const char *boot_id = "", *kernel = "";
	const char *host_boot_id = host_file(vms.pool, "/proc/sys/kernel/random/boot_id");
	struct utsname host;

	(void)state;
	assert_int_equal(uname(&host), 0);
	assert_true(json_get_text(hello, "boot_id", &boot_id));
	assert_true(json_get_text(hello, "kernel", &kernel));
	assert_int_equal(strlen(boot_id), 36);
	assert_string_not_equal(kernel, host.release);
	assert_int_not_equal(strncmp(boot_id, host_boot_id, 36), 0);
	/* and what a program sees is what boxd said, or fresher */
	assert_string_equal(vm_output(&vms, &vm, "uname -r | tr -d '\\n'"), kernel);
	assert_int_not_equal(strncmp(vm_output(&vms, &vm, "cat /proc/sys/kernel/random/boot_id"),
				     host_boot_id, 36),
		0);
}

static void test_identity_and_clock_are_ours(void **state)
{
	const char *seconds;
	int64_t before_s, guest_s = 0;

	(void)state;
	assert_string_equal(vm_output(&vms, &vm, "hostname | tr -d '\\n'"), "box-test");
	before_s = time_now_ms() / 1000;
	seconds = vm_output(&vms, &vm, "date +%s | tr -d '\\n'");
	assert_true(text_to_i64(seconds, 0, INT64_MAX, &guest_s));
	assert_true(guest_s >= before_s - 2);
	assert_true(guest_s <= time_now_ms() / 1000 + 2);
	assert_string_equal(vm_output(&vms, &vm, "id -un | tr -d '\\n'"), "agent");
}

static void test_exit_codes_are_exact(void **state)
{
	static const int codes[] = {0, 1, 2, 7, 126, 127, 128, 137, 255};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
		char script[32];

		(void)snprintf(script, sizeof(script), "exit %d", codes[i]);
		run(&e, "agent", script, 10000);
		assert_int_equal(e.code, codes[i]);
		assert_int_equal(e.signal, 0);
		assert_false(e.timed_out);
	}
}

static void test_a_signal_is_not_an_exit_code(void **state)
{
	static const int signals[] = {SIGTERM, SIGSEGV, SIGKILL, SIGABRT};

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
		char script[32];

		(void)snprintf(script, sizeof(script), "kill -%d $$; sleep 5", signals[i]);
		run(&e, "agent", script, 10000);
		assert_int_equal(e.code, -1);
		assert_int_equal(e.signal, signals[i]);
	}
}

static void test_output_of_both_streams_is_in_order(void **state)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	(void)state;
	run(&e, "agent",
		"for i in 1 2 3; do echo out$i; sleep 0.1; echo err$i >&2; sleep 0.1; done", 10000);
	assert_int_equal(e.code, 0);
	assert_string_equal(e.out.data, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
	assert_int_equal(e.end, e.out.len);
}

/* Starts a script on a stream of its own and waits for its first line. */
static uint32_t start_and_wait(const char *script)
{
	CLEANUP(buf) struct buf rq = BUF_INIT(4096);
	uint32_t stream = vm.next_stream++;

	(void)buf_adds(&rq, "{\"argv\":[\"/bin/bash\",\"-c\",");
	json_add_quoted(&rq, script, strlen(script));
	(void)buf_adds(&rq, "],\"user\":\"agent\",\"lane\":\"admin\",\"timeout_ms\":60000}");
	assert_done(boxlink_send(&vm.link, WIRE_EXEC, stream, rq.data, err));
	assert_done(boxlink_expect(&vm.link, WIRE_STDOUT, stream, 20000, NULL, err));
	return stream;
}

static void test_signals_from_the_host_arrive(void **state)
{
	CLEANUP(json) struct json_object *end = NULL;
	uint32_t stream;
	int64_t code = 0;

	(void)state;
	stream = start_and_wait("trap 'exit 42' USR1; echo ready; while :; do sleep 0.1; done");
	assert_done(boxlink_send(&vm.link, WIRE_SIGNAL, stream, "{\"signal\":10}", err));
	assert_done(boxlink_expect(&vm.link, WIRE_EXIT, stream, 20000, &end, err));
	assert_true(json_get_i64(end, "code", &code));
	assert_int_equal(code, 42);
	assert_done(boxlink_send(&vm.link, WIRE_ACK_EXIT, stream, "{}", err));
}

static void test_a_signal_to_all_reaches_other_sessions(void **state)
{
	CLEANUP(json) struct json_object *end = NULL;
	uint32_t stream;

	(void)state;
	stream = start_and_wait("setsid sleep 4217 & until pgrep -f '^sleep 4217' >/dev/null; do "
				"sleep 0.1; done; echo ready; wait");
	assert_string_equal(vm_output(&vms, &vm, "pgrep -fc '^sleep 4217' || true"), "1\n");
	assert_done(
		boxlink_send(&vm.link, WIRE_SIGNAL, stream, "{\"signal\":9,\"all\":true}", err));
	assert_done(boxlink_expect(&vm.link, WIRE_EXIT, stream, 20000, &end, err));
	assert_done(boxlink_send(&vm.link, WIRE_ACK_EXIT, stream, "{}", err));
	assert_string_equal(vm_output(&vms, &vm, "pgrep -fc '^sleep 4217' || true"), "0\n");
}

static void test_a_time_out_reaches_everything_started(void **state)
{
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};
	static const char script[] =
		"setsid -f bash -c 'while :; do echo x >>/tmp/beat; sleep 0.1; done'\n"
		"(trap '' TERM HUP; exec nohup setsid sleep 4218 >/dev/null 2>&1) &\n"
		"bash -c '(sleep 4218 &) ; exit 0'\n"
		"sleep 4218\n";
	double start = now_ms();
	const char *beats, *later;

	(void)state;
	run(&e, "agent", script, 4000);
	assert_true(e.timed_out);
	assert_int_equal(e.code, -1);
	assert_true(now_ms() - start < 20000);
	/* the loop did run, and does no more; nothing that was started is left */
	beats = vm_output(&vms, &vm, "wc -l </tmp/beat");
	assert_string_not_equal(beats, "0\n");
	later = vm_output(&vms, &vm, "sleep 1; wc -l </tmp/beat");
	assert_string_equal(beats, later);
	assert_string_equal(vm_output(&vms, &vm, "pgrep -fc '^sleep 4218' || true"), "0\n");
}

static int64_t nics_by_qemu(void)
{
	struct qemu_facts facts = {.nics = -1};

	assert_done(qemu_inspect(&vm.q, &facts, err));
	assert_int_equal(facts.memory_bytes, vms.size->memory_bytes);
	assert_int_equal(facts.cpus, vms.size->cpus);
	return facts.nics;
}

static void test_there_is_no_network_card(void **state)
{
	CLEANUP(json) struct json_object *probe = NULL;
	bool sealed = false;

	(void)state;
	assert_string_equal(vm_output(&vms, &vm, "ls /sys/class/net"), "lo\n");
	assert_string_equal(
		vm_output(&vms, &vm, "cat /sys/bus/pci/devices/*/class | grep -c ^0x02 || true"),
		"0\n");
	assert_int_equal(nics_by_qemu(), 0);
	assert_done(vm_probe(&vm, &probe, err));
	assert_true(json_get_bool(probe, "sealed", &sealed));
	assert_true(sealed);
	/* the counting sees a card where there is one */
	assert_done(qmp_command(vm.q.qmp,
		"{\"execute\":\"device_add\",\"arguments\":{\"driver\":\"virtio-net-pci\",\"id\":"
		"\"nic\"}}",
		-1, 10000, NULL, err));
	assert_int_equal(nics_by_qemu(), 1);
}

static void test_the_root_image_cannot_be_written(void **state)
{
	(void)state;
	/* the box's own view is writable, the image below is not: also for root */
	assert_string_equal(vm_output(&vms, &vm, "touch /workspace/x && echo yes"), "yes\n");
	CLEANUP(boxlink_exit) struct boxlink_exit e = {0};

	run(&e, "root", "cat /proc/cmdline; dd if=/dev/zero of=/dev/vda bs=4k count=1 2>&1", 20000);
	assert_int_not_equal(e.code, 0);
	assert_non_null(strstr(e.out.data, "init_on_free=1"));
}

/* The last one: the guest ends. */
static void test_bye_powers_off(void **state)
{
	struct pollfd p = {.fd = vm.q.child.pidfd, .events = POLLIN};

	(void)state;
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_done(boxlink_send(&vm.link, WIRE_BYE, 0, "{}", err));
	assert_int_equal(poll(&p, 1, 20000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_runs_before_ready),
		cmocka_unit_test(test_hello_says_what_the_machine_is),
		cmocka_unit_test(test_the_kernel_is_not_the_hosts),
		cmocka_unit_test(test_identity_and_clock_are_ours),
		cmocka_unit_test(test_exit_codes_are_exact),
		cmocka_unit_test(test_a_signal_is_not_an_exit_code),
		cmocka_unit_test(test_output_of_both_streams_is_in_order),
		cmocka_unit_test(test_signals_from_the_host_arrive),
		cmocka_unit_test(test_a_signal_to_all_reaches_other_sessions),
		cmocka_unit_test(test_a_time_out_reaches_everything_started),
		cmocka_unit_test(test_there_is_no_network_card),
		cmocka_unit_test(test_the_root_image_cannot_be_written),
		cmocka_unit_test(test_bye_powers_off),
	};

	return cmocka_run_group_tests_name("boot", tests, setup, teardown);
}
