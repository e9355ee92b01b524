/*
 * readback_check: the good read-back passes, and each field made wrong in turn is refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "container.h"
#include "pool.h"
#include "runtimes.h"
#include "size_class.h"
#include "spawn.h"

#define GIB 1073741824

static const char good[] =
	"{\"uid\":1900000019,\"seccomp\":2,\"no_new_privs\":1,\"cap_eff\":\"0000000000000000\","
	"\"nics\":0,"
	"\"memory_bytes\":1073741824,\"cpus\":1,\"fds\":[\"/dev/"
	"null\",\"log\",\"socket\",\"anon_inode:[eventfd]\","
	"\"/memfd:asb-template (deleted)\",\"/c/images/k/root.img\",\"/s/box/b/disk.img\"],"
	"\"disk_mode\":\"0600\"}";
static const char machine[] = "{\"memory_bytes\":1000000000,\"cpus\":1,\"nics\":0,\"uid\":0}";

/* `text` with `from` replaced by `to`. */
static const char *with(struct pool *pool, const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return pool_printf(pool, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static struct spawn_reply reply(const char *readback)
{
	return (struct spawn_reply){
		.pid = 2, .uid = 1900000019, .isolation = "emulated-vm", .readback = readback};
}

static void test_good(void **state)
{
	struct spawn_reply r = reply(good);
	struct err err;

	(void)state;
	assert_true(readback_check(&r, machine, true, GIB, 1, &err));
}

static void test_each_field(void **state)
{
	static const struct {
		const char *from, *to, *field;
	} rows[] = {
		{"\"uid\":1900000019", "\"uid\":0", "uid is 0"},
		{"\"seccomp\":2", "\"seccomp\":0", "seccomp is 0"},
		{"\"seccomp\":2,", "", "seccomp is missing"},
		{"\"no_new_privs\":1", "\"no_new_privs\":0", "no_new_privs is 0"},
		{"0000000000000000", "00000000000000c0", "cap_eff is 00000000000000c0"},
		{"\"nics\":0", "\"nics\":1", "nics is 1"},
		{"1073741824", "2147483648", "memory_bytes is 2147483648"},
		{"\"cpus\":1", "\"cpus\":2", "cpus is 2"},
		{"\"log\"", "\"/etc/shadow\"", "fds is /etc/shadow"},
		{"/s/box/b/disk.img", "/dev/net/tun", "fds is /dev/net/tun"},
		{"0600", "0644", "disk_mode is 0644"},
		{"{\"uid\"", "[\"uid\"", "readback is not JSON"},
	};
	struct pool *pool = pool_new();
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spawn_reply r = reply(with(pool, good, rows[i].from, rows[i].to));

		assert_false(readback_check(&r, machine, true, GIB, 1, &err));
		assert_int_equal(err.code, ERR_FORBIDDEN);
		assert_string_equal(err.reason, "policy");
		if (!strstr(err.msg, rows[i].field))
			fail_msg("row %zu: %s", i, err.msg);
	}
	pool_free(pool);
}

static void test_machine(void **state)
{
	static const struct {
		const char *from, *to, *field;
	} rows[] = {
		{"\"nics\":0", "\"nics\":1", "nics is 1"},
		{"\"cpus\":1", "\"cpus\":4", "cpus is 4"},
		{"1000000000", "2000000000", "memory_bytes is 2000000000"},
		{"1000000000", "500000000", "memory_bytes is 500000000"},
		{"\"memory_bytes\":1000000000,", "", "memory_bytes is -1"},
	};
	struct pool *pool = pool_new();
	struct spawn_reply r = reply(good);
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(readback_check(
			&r, with(pool, machine, rows[i].from, rows[i].to), true, GIB, 1, &err));
		if (!strstr(err.msg, rows[i].field) || !strstr(err.msg, "in the box"))
			fail_msg("row %zu: %s", i, err.msg);
	}
	pool_free(pool);
}

static void test_isolation(void **state)
{
	struct pool *pool = pool_new();
	struct spawn_reply r = reply(good);
	struct err err;

	(void)state;
	/* a machine's read-back does not make a container */
	r.isolation = "container";
	assert_false(readback_check(&r, machine, true, GIB, 1, &err));
	assert_non_null(strstr(err.msg, "memory_swap_bytes is missing"));
	r.isolation = "jail";
	assert_false(readback_check(&r, machine, true, GIB, 1, &err));
	assert_non_null(strstr(err.msg, "isolation is jail"));
	/* slots that share a uid: root's is then right, and only then */
	r = reply(with(pool, good, "1900000019", "0"));
	r.uid = 0;
	r.isolation = "emulated-vm, slots not separated";
	assert_true(readback_check(&r, machine, false, GIB, 1, &err));
	/* the box says what it is, or is not taken */
	r.isolation = "emulated-vm";
	assert_false(readback_check(&r, machine, false, GIB, 1, &err));
	assert_non_null(strstr(err.msg, "isolation is emulated-vm"));
	assert_false(readback_check(&r, machine, true, GIB, 1, &err));
	pool_free(pool);
}

static void test_inspect(void **state)
{
	char *const argv[] = {(char[]){"qemu"}, (char[]){"-m"}, (char[]){"1024M"}, (char[]){"-smp"},
		(char[]){"2"}, (char[]){"-device"}, (char[]){"virtio-blk-pci,drive=root"},
		(char[]){"-device"}, (char[]){"e1000"}, (char[]){"-netdev"}, (char[]){"user,id=n"},
		(char[]){"-nic"}, (char[]){"none"}, NULL};
	struct runtime_facts facts;
	struct err err;

	(void)state;
	assert_true(runtime_find("qemu")->inspect(argv, 13, &facts, &err));
	assert_int_equal(facts.memory_bytes, GIB);
	assert_int_equal(facts.cpus, 2);
	assert_int_equal(facts.nics, 2);
	assert_false(runtime_find("qemu")->inspect(argv, 1, &facts, &err));
	assert_null(runtime_find("lxc"));
}

static const char container[] =
	"{\"uid\":3183509504,\"seccomp\":2,\"no_new_privs\":1,\"cap_eff\":\"00000000000800ef\","
	"\"nics\":0,\"memory_bytes\":1073741824,\"memory_swap_bytes\":1073741824,\"pids\":512,"
	"\"cpu_milli\":1000,\"fds\":[\"/dev/null\",\"socket:[1]\"],\"engine\":{\"name\":\"podman\","
	"\"memory_bytes\":1073741824,\"memory_swap_bytes\":1073741824,\"pids\":512,"
	"\"cpu_milli\":1000,\"privileged\":0,\"mounts\":0,\"network\":\"none\"}}";

static void test_container(void **state)
{
	static const struct {
		const char *from, *to, *field;
	} rows[] = {
		{"\"uid\":3183509504", "\"uid\":0", "uid is 0"},
		{"\"seccomp\":2", "\"seccomp\":0", "seccomp is 0"},
		{"\"no_new_privs\":1", "\"no_new_privs\":0", "no_new_privs is 0"},
		{"800ef", "801ef", "cap_eff is 00000000000801ef"},
		{"\"nics\":0", "\"nics\":1", "nics is 1"},
		{"\"memory_bytes\":1073741824", "\"memory_bytes\":-1", "memory_bytes is -1"},
		{"\"memory_swap_bytes\":1073741824", "\"memory_swap_bytes\":2147483648",
			"memory_swap_bytes is 2147483648"},
		{"\"pids\":512", "\"pids\":-1", "pids is -1"},
		{"\"cpu_milli\":1000", "\"cpu_milli\":2000", "cpu_milli is 2000"},
		{"socket:[1]", "/var/run/docker.sock", "fds is /var/run/docker.sock"},
		{"\"none\"", "\"bridge\"", "engine: read back: network is bridge"},
		{"\"privileged\":0", "\"privileged\":1", "privileged is 1"},
		{"\"mounts\":0", "\"mounts\":1", "mounts is 1"},
		{"\"engine\":{", "\"other\":{", "engine: read back: memory_bytes is missing"},
	};
	struct pool *pool = pool_new();
	struct spawn_reply r = {.uid = 3183509504, .isolation = "container", .readback = container};
	struct err err;

	(void)state;
	assert_true(readback_check(&r, machine, true, GIB, 1, &err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.readback = with(pool, container, rows[i].from, rows[i].to);
		assert_false(readback_check(&r, machine, true, GIB, 1, &err));
		assert_string_equal(err.reason, "policy");
		if (!strstr(err.msg, rows[i].field))
			fail_msg("row %zu: %s", i, err.msg);
	}
	/* without ids of its own: its root is the host's, and the box says so */
	r = (struct spawn_reply){.isolation = "container, slots not separated",
		.readback = with(pool, with(pool, container, "3183509504", "0"), "800ef", "800eb")};
	assert_true(readback_check(&r, machine, true, GIB, 1, &err));
	r.isolation = "container";
	assert_false(readback_check(&r, machine, true, GIB, 1, &err));
	pool_free(pool);
}

static const char msb[] =
	"{\"uid\":0,\"engine\":{\"name\":\"msb\",\"status\":\"Running\",\"security_profile\":"
	"\"default\","
	"\"memory_mib\":1024,\"max_memory_mib\":1024,\"cpus\":1,\"max_cpus\":1,\"disk_mib\":4096,"
	"\"network\":\"deny\",\"rules\":0,\"ports\":0,\"mounts\":0}}";

static void test_msb(void **state)
{
	static const struct {
		const char *from, *to, *field;
	} rows[] = {
		{"\"uid\":0", "\"uid\":7", "uid is 7"},
		{"Running", "Stopped", "status is Stopped"},
		{"\"deny\"", "\"open\"", "network is open"},
		{"\"rules\":0", "\"rules\":1", "rules is 1"},
		{"\"ports\":0", "\"ports\":1", "ports is 1"},
		{"\"mounts\":0", "\"mounts\":1", "mounts is 1"},
		{"\"memory_mib\":1024", "\"memory_mib\":2048", "memory_mib is 2048"},
		{"\"max_memory_mib\":1024", "\"max_memory_mib\":2048", "max_memory_mib is 2048"},
		{"\"cpus\":1", "\"cpus\":2", "cpus is 2"},
		{"\"max_cpus\":1", "\"max_cpus\":2", "max_cpus is 2"},
		/* another engine's words do not make it one of microsandbox */
		{"\"msb\"", "\"podman\"", "isolation is hardware-vm, slots not separated"},
	};
	struct pool *pool = pool_new();
	struct spawn_reply r = {.isolation = "hardware-vm, slots not separated", .readback = msb};
	struct err err;

	(void)state;
	assert_true(readback_check(&r, machine, true, GIB, 1, &err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.readback = with(pool, msb, rows[i].from, rows[i].to);
		assert_false(readback_check(&r, machine, true, GIB, 1, &err));
		if (!strstr(err.msg, rows[i].field))
			fail_msg("row %zu: %s", i, err.msg);
	}
	r.readback = msb;
	/* its command line leaves the machine a network card: counted from inside, and refused */
	assert_false(readback_check(
		&r, with(pool, machine, "\"nics\":0", "\"nics\":1"), true, GIB, 1, &err));
	assert_non_null(strstr(err.msg, "nics is 1"));
	r.isolation = CONTAINER_STAND_IN ", slots not separated";
	assert_true(readback_check(&r, machine, true, GIB, 1, &err));
	/* but a stand-in is no machine, and nothing else is a stand-in */
	r.isolation = "container, slots not separated";
	assert_false(readback_check(&r, machine, true, GIB, 1, &err));
	r = (struct spawn_reply){
		.uid = 3183509504, .isolation = CONTAINER_STAND_IN, .readback = container};
	assert_false(readback_check(&r, machine, true, GIB, 1, &err));
	pool_free(pool);
}

static void test_slots(void **state)
{
	const uid_t first = 1900000016;

	(void)state;
	for (int slot = 0; slot < 240; slot++)
		assert_int_equal(container_slot(container_uid(first + (uid_t)slot), first), slot);
	assert_int_equal(container_slot(first, first), -1);
	assert_int_equal(container_slot(0, first), -1);
	/* no two share an id */
	assert_true(container_uid(first + 1) - container_uid(first) == CONTAINER_UIDS);
}

static void test_limits(void **state)
{
	static const char limits[] =
		"{\"sealed\":true,\"limits\":{\"memory_bytes\":900000000,\"swap_bytes\":0,"
		"\"pids\":1024,\"cpus\":1,\"disk_bytes\":4100000000}}";
	static const struct {
		const char *from, *to, *field;
	} rows[] = {
		{"900000000", "-1", "memory_bytes is -1"},
		{"900000000", "1200000000", "memory_bytes is 1200000000"},
		{"\"memory_bytes\":900000000,", "", "memory_bytes is missing"},
		{"\"swap_bytes\":0", "\"swap_bytes\":4096", "swap_bytes is 4096"},
		{"\"pids\":1024", "\"pids\":-1", "pids is -1"},
		{"\"cpus\":1", "\"cpus\":2", "cpus is 2"},
		{"4100000000", "8200000000", "disk_bytes is 8200000000"},
		{"\"limits\"", "\"other\"", "memory_bytes is missing"},
		{"{\"sealed\"", "[\"sealed\"", "probe is not JSON"},
	};
	struct spawn_reply machine_reply = reply(good), box = reply(good);
	struct pool *pool = pool_new();
	struct err err;

	(void)state;
	box.isolation = "container";
	assert_true(readback_limits(&machine_reply, limits, size_class_find("s"), &err));
	assert_true(readback_limits(&box, "{}", size_class_find("s"), &err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(readback_limits(&machine_reply,
			with(pool, limits, rows[i].from, rows[i].to), size_class_find("s"), &err));
		assert_string_equal(err.reason, "policy");
		if (!strstr(err.msg, rows[i].field))
			fail_msg("%s: %s", rows[i].field, err.msg);
	}
	pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_each_field),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_isolation),
		cmocka_unit_test(test_inspect),
		cmocka_unit_test(test_container),
		cmocka_unit_test(test_msb),
		cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
