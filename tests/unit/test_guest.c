/*
 * The runner's side of a box that never stops talking: a request is over at its deadline, whatever
 * still comes. The box is a child on the other end of a socketpair.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tar_out),
		cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
