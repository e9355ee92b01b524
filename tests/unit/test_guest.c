/*
 * The runner's side of a box. One that never stops talking: a request is over at its deadline,
 * whatever still comes; that box is a child on the other end of a socketpair. And an exec with its
 * input, which no death of the runner parts.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "guest.h"
#include "pool.h"
#include "runner.h"
#include "text.h"

#define STREAM 5u
#define DEADLINE_MS 400

struct fixture {
	struct runner r;
	struct guest g;
	pid_t box;
	size_t got;
};

/* The child: `frames` frames of `type` on `stream` (-1: for ever), then DONE of the request. */
static _Noreturn void talk(int fd, enum wire_type type, uint32_t stream, int frames)
{
	struct buf one = BUF_INIT(4096), done = BUF_INIT(64);
	char bytes[1024] = {0};

	(void)wire_add(&one, type, stream, bytes, sizeof(bytes));
	(void)wire_add(&done, WIRE_DONE, STREAM, "{}", 2);
	for (int i = 0; frames < 0 || i < frames; i++) {
		if (write(fd, one.data, one.len) != (ssize_t)one.len)
			_exit(0);
		while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	}
	(void)!write(fd, done.data, done.len);
	(void)pause();
	_exit(0);
}

static void box_start(struct fixture *f, enum wire_type type, uint32_t stream, int frames)
{
	int pair[2];

	memset(f, 0, sizeof(*f));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	f->box = fork();
	if (!f->box) {
		(void)close(pair[0]);
		/* a runner that waits for ever fails the test and does not hang it */
		(void)alarm(10);
		talk(pair[1], type, stream, frames);
	}
	(void)close(pair[1]);
	f->r = (struct runner){.pool = pool_new(), .worker = -1};
	f->g = GUEST_INIT(&f->r);
	f->g.fd = pair[0];
	f->g.next_stream = STREAM;
	f->g.end_stream = STREAM + 1;
	wire_decoder_init(&f->g.in);
}

static void box_end(struct fixture *f)
{
	guest_detach(&f->g);
	(void)kill(f->box, SIGKILL);
	(void)waitpid(f->box, NULL, 0);
	pool_free(f->r.pool);
}

static bool count(void *arg, int stream, const void *data, size_t n, struct err *err)
{
	struct fixture *f = arg;

	(void)stream;
	(void)data;
	(void)err;
	f->got += n;
	/* as a write to the database would: the box is always ahead */
	(void)usleep(1000);
	return true;
}

static void test_tar_out(void **state)
{
	struct fixture f;
	struct err err = {0};

	(void)state;
	box_start(&f, WIRE_DATA, STREAM, 3);
	assert_true(guest_tar_out(&f.g, "/x", 1 << 20, count, &f, time_boot_ms() + 5000, &err));
	assert_int_equal(f.got, 3 * 1024);
	box_end(&f);
}

static void test_flood(void **state)
{
	struct fixture f;
	struct err err = {0};
	int64_t start = time_boot_ms();

	(void)state;
	box_start(&f, WIRE_DATA, STREAM, -1);
	assert_false(guest_tar_out(&f.g, "/x", 1 << 20, count, &f, start + DEADLINE_MS, &err));
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_true(time_boot_ms() - start < DEADLINE_MS + 3000);
	box_end(&f);
}

/* The next frame of what one packet holds, which must be this one. */
static void want(struct wire_decoder *in, enum wire_type type, const void *payload, size_t n)
{
	struct wire_frame f;
	struct err err;
	bool got;

	assert_true(wire_decode(in, &f, &got, &err) && got);
	assert_int_equal(f.type, type);
	assert_int_equal(f.stream, STREAM);
	assert_int_equal(f.length, n);
	assert_memory_equal(f.payload, payload, n);
}

/* On a socket that keeps each write apart from the next, up to the longest input. */
static void test_exec_is_one_write(void **state)
{
	static const char input[WIRE_PAYLOAD_MAX] = "the longest";
	static const struct {
		const char *input;
		size_t n;
	} rows[] = {{NULL, 0}, {"", 0}, {"a line\n", 7}, {input, sizeof(input)}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runner r = {.worker = -1};
		struct guest g = GUEST_INIT(&r);
		struct wire_decoder in;
		struct err err = {0};
		struct wire_frame f;
		int pair[2];
		bool got;

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		g.fd = pair[0];
		assert_true(guest_send_exec(&g, STREAM, "{}", rows[i].input, rows[i].n, &err));
		wire_decoder_init(&in);
		wire_decoder_grew(
			&in, (size_t)read(pair[1], wire_decoder_room(&in, 2 * WIRE_PAYLOAD_MAX),
				     2 * WIRE_PAYLOAD_MAX));
		want(&in, WIRE_EXEC, "{}", 2);
		if (rows[i].n)
			want(&in, WIRE_STDIN, rows[i].input, rows[i].n);
		if (rows[i].input)
			want(&in, WIRE_EOF, "", 0);
		assert_true(wire_decode(&in, &f, &got, &err) && !got);
		wire_decoder_done(&in);
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tar_out),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_exec_is_one_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
