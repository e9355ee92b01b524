/*
 * Clones of one template wake with one memory. What must not be the same is not: random bytes,
 * machine-id, boot id, host name; the clock is the host's, also where the template's was a year
 * behind; and no box can write what the next one starts from.
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "vm.h"

#define CLONES 20
#define YEAR_MS (INT64_C(365) * 24 * 3600 * 1000)

static struct vms vms;

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

struct seen {
	const char *random, *machine_id, *boot_id, *hostname;
};

static const char *line_of(const char **text)
{
	const char *start = *text, *end = strchr(start, '\n');

	assert_non_null(end);
	*text = end + 1;
	return pool_memdup(vms.pool, start, (size_t)(end - start));
}

/* The clock as the guest's programs see it, against ours around the question. */
static void clock_check(struct vm *vm)
{
	int64_t before_ms = time_now_ms(), guest_ms = 0;
	const char *text = vm_output(&vms, vm, "date +%s%3N | tr -d '\\n'");

	assert_true(text_to_i64(text, 0, INT64_MAX, &guest_ms));
	assert_true(guest_ms >= before_ms - 2000);
	assert_true(guest_ms <= time_now_ms() + 2000);
}

static void look(struct vm *vm, struct seen *s)
{
	const char *text = vm_output(&vms, vm,
		"head -c 32 /dev/urandom | base64 -w0; echo; cat /etc/machine-id;"
		"cat /proc/sys/kernel/random/boot_id; hostname");

	s->random = line_of(&text);
	s->machine_id = line_of(&text);
	s->boot_id = line_of(&text);
	s->hostname = line_of(&text);
	assert_int_equal(strlen(s->random), 44);
	assert_int_equal(strlen(s->machine_id), 32);
	assert_int_equal(strlen(s->boot_id), 36);
}

static void test_clones_share_nothing_that_must_differ(void **state)
{
	struct seen seen[CLONES];
	const char *host_boot_id = host_file(vms.pool, "/proc/sys/kernel/random/boot_id");

	(void)state;
	for (int i = 0; i < CLONES; i++) {
		struct vm vm;
		char name[32];

		(void)snprintf(name, sizeof(name), "box-%d", i);
		vm_start(&vms, &vms.tpl, &vm);
		vm_open(&vm, name, NULL);
		look(&vm, &seen[i]);
		clock_check(&vm);
		vm_stop(&vm);
		assert_string_equal(seen[i].hostname, name);
		assert_int_not_equal(strncmp(seen[i].boot_id, host_boot_id, 36), 0);
	}
	for (int i = 0; i < CLONES; i++)
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(seen[i].random, seen[j].random);
			assert_string_not_equal(seen[i].machine_id, seen[j].machine_id);
			assert_string_not_equal(seen[i].boot_id, seen[j].boot_id);
		}
}

static void test_clones_do_not_share_disk_or_memory(void **state)
{
	struct vm a, b;

	(void)state;
	vm_start(&vms, &vms.tpl, &a);
	vm_start(&vms, &vms.tpl, &b);
	vm_open(&a, "box-a", NULL);
	vm_open(&b, "box-b", NULL);
	(void)vm_output(&vms, &a, "echo of-a >/workspace/file; echo of-a >/dev/shm/file; sync");
	assert_string_equal(
		vm_output(&vms, &a, "cat /workspace/file /dev/shm/file"), "of-a\nof-a\n");
	assert_string_equal(
		vm_output(&vms, &b, "ls /workspace /dev/shm | grep file || echo none"), "none\n");
	vm_stop(&a);
	vm_stop(&b);
}

/* A template of our own, whose guest was told that it is a year ago. */
static void test_a_year_old_template_wakes_today(void **state)
{
	CLEANUP(fd) int mem = memfd_create("old", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CLEANUP(json) struct json_object *hello = NULL;
	struct template old = {.key = "old",
		.disk = pool_printf(vms.pool, "%s/old.disk", vms.dir),
		.state = pool_printf(vms.pool, "%s/old.state", vms.dir),
		.mem_fd = mem};
	CLEANUP(fd) int state_fd = open(old.state, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CLEANUP(fd) int disk = open(old.disk, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int64_t then_ms = 0;
	struct vm vm;

	(void)state;
	assert_true(mem >= 0 && state_fd >= 0 && disk >= 0);
	assert_int_equal(ftruncate(mem, vms.size->memory_bytes), 0);
	vm_start_shared(&vms, pool_printf(vms.pool, "/proc/%d/fd/%d", (int)getpid(), mem), &vm);
	assert_done(boxlink_hello(&vm.link, 180000, &hello, err));
	assert_done(boxlink_welcome(&vm.link, "old", time_now_ms() - YEAR_MS, 60000, NULL, err));
	/* it does believe so */
	assert_true(text_to_i64(
		vm_output(&vms, &vm, "date +%s%3N | tr -d '\\n'"), 0, INT64_MAX, &then_ms));
	assert_true(then_ms < time_now_ms() - YEAR_MS / 2);
	assert_done(qemu_save(&vm.q, state_fd, err));
	assert_done(disk_copy(vm.disk, disk, err));
	vm_stop(&vm);

	vm_start(&vms, &old, &vm);
	vm_open(&vm, "new", NULL);
	clock_check(&vm);
	vm_stop(&vm);
}

/* The descriptor that a box's QEMU holds, as it holds it. */
static void test_a_box_cannot_write_its_template(void **state)
{
	struct vm vm;
	char path[64], byte = 'x', before, after;
	void *map;

	(void)state;
	vm_start(&vms, &vms.tpl, &vm);
	vm_open(&vm, "box-w", NULL);
	/* 6 is where qemu.c puts the memory */
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/6", (int)vm.q.child.pid);
	CLEANUP(fd) int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &before, 1, 1 << 20), 1);
	assert_int_equal(pwrite(fd, &byte, 1, 1 << 20), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_equal(map, MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(pread(fd, &after, 1, 1 << 20), 1);
	assert_int_equal(before, after);
	/* a private mapping, which is what QEMU makes, works and changes nothing */
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 1 << 20);
	assert_ptr_not_equal(map, MAP_FAILED);
	*(char *)map = (char)(before + 1);
	assert_int_equal(pread(fd, &after, 1, 1 << 20), 1);
	assert_int_equal(before, after);
	(void)munmap(map, 4096);
	vm_stop(&vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clones_share_nothing_that_must_differ),
		cmocka_unit_test(test_clones_do_not_share_disk_or_memory),
		cmocka_unit_test(test_a_year_old_template_wakes_today),
		cmocka_unit_test(test_a_box_cannot_write_its_template),
	};

	return cmocka_run_group_tests_name("clone", tests, setup, teardown);
}
