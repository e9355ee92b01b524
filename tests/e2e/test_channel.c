/*
 * The byte stream to a real guest over virtio-serial: stdin and tars under credit, a flood that is
 * held back until it is credited, and a channel that breaks in the middle of output, after which
 * nothing is lost and nothing comes twice. To break the channel QEMU is given another socket for
 * it through its monitor, which only a test does.
 */
#include <sys/socket.h>

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "encode.h"
#include "json.h"
#include "pool.h"
#include "qmp.h"
#include "random.h"
#include "text.h"
#include "vm.h"

#define KIB 1024u
#define WAIT_MS 60000

static struct vms vms;
static struct vm vm;

static int setup(void **state)
{
	(void)state;
	vms_init(&vms);
	vms_template(&vms);
	vm_start(&vms, &vms.tpl, &vm);
	vm_open(&vm, "box-channel", NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_stop(&vm);
	vms_done(&vms);
	return 0;
}

static uint32_t exec_begin(const char *script, bool wants_stdin)
{
	CLEANUP(buf) struct buf rq = BUF_INIT(4096);
	uint32_t stream = vm.next_stream++;

	(void)buf_adds(&rq, "{\"argv\":[\"/bin/bash\",\"-c\",");
	json_add_quoted(&rq, script, strlen(script));
	(void)buf_addf(&rq, "],\"user\":\"agent\",\"lane\":\"admin\",\"stdin\":%s}",
		wants_stdin ? "true" : "false");
	assert_done(boxlink_send(&vm.link, WIRE_EXEC, stream, rq.data, err));
	return stream;
}

static void credit(uint32_t stream, uint64_t value)
{
	unsigned char bytes[8];

	wire_put_u64(bytes, value);
	assert_done(boxlink_send_bytes(&vm.link, WIRE_CREDIT, stream, bytes, sizeof(bytes), err));
}

/* Sends data as frames of `type`, never more than the box has said it takes, and EOF. */
static void send_all(uint32_t stream, enum wire_type type, const char *data, size_t n)
{
	uint64_t may = WIRE_WINDOW;
	struct wire_frame f;
	size_t at = 0;

	while (at < n) {
		size_t step = n - at < 32 * KIB ? n - at : 32 * KIB;

		if (at + step <= may) {
			assert_done(
				boxlink_send_bytes(&vm.link, type, stream, data + at, step, err));
			at += step;
			continue;
		}
		assert_done(boxlink_next(&vm.link, WAIT_MS, &f, err));
		if (f.type == WIRE_CREDIT && f.stream == stream) {
			uint64_t value = 0;

			assert_true(wire_u64(&f, &value));
			assert_true(value >= may);
			may = value;
		}
	}
	assert_done(boxlink_send(&vm.link, WIRE_EOF, stream, "", err));
}

static void exit_take(uint32_t stream, int64_t want_code)
{
	CLEANUP(json) struct json_object *end = NULL;
	int64_t code = -1;

	assert_done(boxlink_expect(&vm.link, WIRE_EXIT, stream, WAIT_MS, &end, err));
	assert_true(json_get_i64(end, "code", &code));
	assert_int_equal(code, want_code);
	assert_done(boxlink_send(&vm.link, WIRE_ACK_EXIT, stream, "{}", err));
}

static void test_stdin_arrives_whole(void **state)
{
	size_t n = 1500 * KIB; /* several windows */
	CLEANUP(free) char *data = mem_alloc(n);
	unsigned char hash[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];
	uint32_t stream;

	(void)state;
	random_bytes(data, n);
	sha256(data, n, hash);
	hex_encode(hash, sizeof(hash), hex);
	stream = exec_begin("sha256sum >/tmp/stdin.sum", true);
	send_all(stream, WIRE_STDIN, data, n);
	exit_take(stream, 0);
	assert_memory_equal(vm_output(&vms, &vm, "cat /tmp/stdin.sum"), hex, sizeof(hex) - 1);
}

static void test_without_stdin_it_is_empty(void **state)
{
	(void)state;
	assert_string_equal(vm_output(&vms, &vm, "wc -c"), "0\n");
}

struct entry {
	const char *path, *data, *link;
	mode_t mode;
};

static void tar_write(struct buf *out, const struct entry *entries, size_t n)
{
	size_t room = 256 * KIB, used = 0;
	char *to = buf_room(out, room);
	struct archive *a = archive_write_new();

	assert_int_equal(archive_write_set_format_pax_restricted(a), ARCHIVE_OK);
	assert_int_equal(archive_write_open_memory(a, to, room, &used), ARCHIVE_OK);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *e = archive_entry_new();

		archive_entry_set_pathname(e, entries[i].path);
		archive_entry_set_perm(e, entries[i].mode);
		archive_entry_set_filetype(e, entries[i].link ? AE_IFLNK : AE_IFREG);
		if (entries[i].link)
			archive_entry_set_symlink(e, entries[i].link);
		else
			archive_entry_set_size(e, (la_int64_t)strlen(entries[i].data));
		assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
		if (!entries[i].link)
			assert_int_equal(
				archive_write_data(a, entries[i].data, strlen(entries[i].data)),
				strlen(entries[i].data));
		archive_entry_free(e);
	}
	assert_int_equal(archive_write_free(a), ARCHIVE_OK);
	buf_grew(out, used);
}

static void test_a_tar_goes_in_and_comes_out(void **state)
{
	static const struct entry entries[] = {
		{"a.txt", "hello\n", NULL, 0644},
		{"deep/er/run.sh", "#!/bin/sh\necho ran\n", NULL, 0755},
		{"link", NULL, "a.txt", 0777},
	};
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20), back = BUF_INIT(4 << 20);
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	struct wire_frame f = {0};
	uint32_t stream = vm.next_stream++;
	int files = 0;

	(void)state;
	tar_write(&tar, entries, 3);
	assert_done(boxlink_send(&vm.link, WIRE_TAR_IN, stream,
		"{\"path\":\"/workspace/t\",\"user\":\"agent\"}", err));
	send_all(stream, WIRE_DATA, tar.data, tar.len);
	assert_done(boxlink_expect(&vm.link, WIRE_DONE, stream, WAIT_MS, NULL, err));
	assert_string_equal(
		vm_output(&vms, &vm,
			"cd /workspace/t && cat link && deep/er/run.sh && stat -c %U a.txt"),
		"hello\nran\nagent\n");
	stream = vm.next_stream++;
	assert_done(boxlink_send(&vm.link, WIRE_TAR_OUT, stream,
		"{\"path\":\"/workspace/t\",\"max_bytes\":1048576}", err));
	while (f.type != WIRE_DONE) {
		assert_done(boxlink_next(&vm.link, WAIT_MS, &f, err));
		assert_int_not_equal(f.type, WIRE_ERROR);
		if (f.type != WIRE_DATA || f.stream != stream)
			continue;
		assert_true(buf_add(&back, f.payload, f.length));
		credit(stream, back.len + WIRE_WINDOW);
	}
	assert_int_equal(archive_read_support_format_tar(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_memory(a, back.data, back.len), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK)
		files += archive_entry_filetype(e) != AE_IFDIR;
	assert_int_equal(files, 3);
	(void)archive_read_free(a);
}

static void test_a_hostile_tar_is_refused_by_name(void **state)
{
	static const struct entry entries[] = {{"../../etc/evil", "x", NULL, 0644}};
	CLEANUP(buf) struct buf tar = BUF_INIT(1 << 20);
	uint32_t stream = vm.next_stream++;
	struct wire_frame f = {0};

	(void)state;
	tar_write(&tar, entries, 1);
	assert_done(boxlink_send(&vm.link, WIRE_TAR_IN, stream,
		"{\"path\":\"/workspace/u\",\"user\":\"agent\"}", err));
	send_all(stream, WIRE_DATA, tar.data, tar.len);
	while (f.stream != stream || (f.type != WIRE_ERROR && f.type != WIRE_DONE))
		assert_done(boxlink_next(&vm.link, WAIT_MS, &f, err));
	assert_int_equal(f.type, WIRE_ERROR);
	assert_non_null(memmem(f.payload, f.length, "evil", 4));
	assert_string_equal(
		vm_output(&vms, &vm, "ls /etc/evil 2>/dev/null || echo none"), "none\n");
}

static void test_a_flood_waits_for_credit(void **state)
{
	uint32_t stream = exec_begin("head -c 1000000 /dev/zero", false);
	uint64_t got = 0, offset = 0;
	struct err none = {0};
	struct wire_frame f;

	(void)state;
	while (boxlink_next(&vm.link, 3000, &f, &none)) {
		if (f.stream != stream || f.type != WIRE_STDOUT)
			continue;
		assert_true(wire_u64(&f, &offset));
		assert_int_equal(offset, got);
		got += f.length - WIRE_OFFSET;
	}
	/* it has filled its window and stands still; others do not */
	assert_int_equal(none.code, ERR_TIMEOUT);
	assert_true(got <= WIRE_WINDOW);
	assert_true(got > WIRE_WINDOW / 2);
	credit(stream, got);
	while (got < 1000000) {
		assert_done(boxlink_next(&vm.link, WAIT_MS, &f, err));
		if (f.stream != stream || f.type != WIRE_STDOUT)
			continue;
		assert_true(wire_u64(&f, &offset));
		assert_int_equal(offset, got);
		got += f.length - WIRE_OFFSET;
		credit(stream, got);
	}
	exit_take(stream, 0);
	assert_int_equal(got, 1000000);
}

/* QEMU lets go of the channel's socket and takes this one. */
static int channel_replace(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_done(qmp_command(vm.q.qmp,
		"{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"again\"}}", pair[1], 10000,
		NULL, err));
	assert_done(qmp_command(vm.q.qmp,
		"{\"execute\":\"chardev-change\",\"arguments\":{\"id\":\"asb\",\"backend\":{"
		"\"type\":\"socket\",\"data\":{\"server\":false,\"addr\":{\"type\":\"fd\",\"data\":"
		"{"
		"\"str\":\"again\"}}}}}}",
		-1, 10000, NULL, err));
	(void)close(pair[1]);
	return pair[0];
}

/* Everything the guest had in flight to the old socket is gone; boxd sends it again. */
static void channel_break(void)
{
	(void)close(vm.q.channel);
	vm.q.channel = channel_replace();
	boxlink_done(&vm.link);
	boxlink_init(&vm.link, vm.q.channel, vm.q.console);
}

/* Reads output of the stream until `until` bytes or the exit, checking that it goes on exactly
 * where it was; every other frame is credited, so that some of it is always unacknowledged. */
static bool output_read(uint32_t stream, struct buf *out, size_t until, uint64_t *credited)
{
	struct wire_frame f;
	uint64_t offset = 0;
	int n = 0;

	while (out->len < until) {
		assert_done(boxlink_next(&vm.link, WAIT_MS, &f, err));
		if (f.stream != stream)
			continue;
		if (f.type == WIRE_EXIT)
			return true;
		if (f.type != WIRE_STDOUT)
			continue;
		assert_true(wire_u64(&f, &offset));
		if (offset + f.length - WIRE_OFFSET <= out->len)
			continue; /* sent again, all of it was here already */
		assert_true(offset <= out->len);
		assert_true(buf_add(out, f.payload + WIRE_OFFSET + (out->len - offset),
			f.length - WIRE_OFFSET - (out->len - offset)));
		if (++n % 2) {
			credit(stream, out->len);
			*credited = out->len;
		}
	}
	return false;
}

static void test_a_broken_channel_loses_and_repeats_nothing(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(4 << 20), want = BUF_INIT(4 << 20);
	uint32_t stream = exec_begin(
		"for ((i = 1; i <= 20000; i++)); do echo \"line $i of many\"; done", false);
	uint64_t credited = 0;

	(void)state;
	for (int round = 1; round <= 3; round++) {
		CLEANUP(json) struct json_object *hello = NULL;
		struct json_object *e;
		int64_t n = -1;

		assert_false(output_read(stream, &out, (size_t)round * 60 * KIB, &credited));
		channel_break();
		assert_done(boxlink_hello(&vm.link, WAIT_MS, &hello, err));
		assert_int_equal(json_count(json_get(hello, "execs")), 1);
		e = json_at(json_get(hello, "execs"), 0);
		assert_true(json_get_i64(e, "stream", &n));
		assert_int_equal(n, stream);
		assert_true(json_get_i64(e, "acked", &n));
		assert_true((uint64_t)n <= credited);
		assert_done(boxlink_welcome(
			&vm.link, "box-channel", time_now_ms(), WAIT_MS, NULL, err));
	}
	while (!output_read(stream, &out, out.max, &credited))
		;
	assert_done(boxlink_send(&vm.link, WIRE_ACK_EXIT, stream, "{}", err));
	for (int i = 1; i <= 20000; i++)
		(void)buf_addf(&want, "line %d of many\n", i);
	assert_int_equal(out.len, want.len);
	assert_memory_equal(out.data, want.data, want.len);
	/* and the box is as good as before */
	assert_string_equal(vm_output(&vms, &vm, "echo on"), "on\n");
}

/* The host is gone for good: the guest ends by itself. The last test. */
static void test_without_a_host_the_guest_powers_off(void **state)
{
	struct err err = {0};
	int status = 0;

	(void)state;
	(void)close(vm.q.channel);
	vm.q.channel = -1;
	assert_true(child_wait(&vm.q.child, 30000, &status, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stdin_arrives_whole),
		cmocka_unit_test(test_without_stdin_it_is_empty),
		cmocka_unit_test(test_a_tar_goes_in_and_comes_out),
		cmocka_unit_test(test_a_hostile_tar_is_refused_by_name),
		cmocka_unit_test(test_a_flood_waits_for_credit),
		cmocka_unit_test(test_a_broken_channel_loses_and_repeats_nothing),
		cmocka_unit_test(test_without_a_host_the_guest_powers_off),
	};

	return cmocka_run_group_tests_name("channel", tests, setup, teardown);
}
