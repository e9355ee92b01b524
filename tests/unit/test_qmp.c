/* The monitor's client against a QEMU played by the test: what it takes, and what it refuses. */
#include "qmp.h"

#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"

#define SOON_MS 50
#define COMMAND "{\"execute\":\"stop\"}"

struct pair {
	int ours, qemus;
};

static struct pair pair_make(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){fds[0], fds[1]};
}

static void pair_close(struct pair p)
{
	(void)close(p.ours);
	(void)close(p.qemus);
}

static void say(struct pair p, const char *text)
{
	assert_int_equal(write(p.qemus, text, strlen(text)), (ssize_t)strlen(text));
}

static bool command(struct pair p, struct json_object **answer, struct err *err)
{
	return qmp_command(p.ours, COMMAND, -1, SOON_MS, answer, err);
}

static void test_open_negotiates(void **state)
{
	struct pair p = pair_make();
	struct err err = {0};
	char got[256];
	ssize_t n;

	(void)state;
	say(p, "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n{\"return\": {}}\r\n");
	assert_true(qmp_open(p.ours, SOON_MS, &err));
	n = read(p.qemus, got, sizeof(got));
	assert_true(n > 0);
	assert_memory_equal(got, "{\"execute\":\"qmp_capabilities\"}\n", (size_t)n);
	pair_close(p);
}

static void test_open_wants_a_greeting(void **state)
{
	struct pair p = pair_make();
	struct err err = {0};

	(void)state;
	say(p, "{\"return\": {}}\r\n");
	assert_false(qmp_open(p.ours, SOON_MS, &err));
	assert_int_equal(err.code, ERR_UPSTREAM);
	pair_close(p);
}

static void test_events_before_an_answer_are_dropped(void **state)
{
	CLEANUP(json) struct json_object *answer = NULL;
	struct pair p = pair_make();
	struct err err = {0};
	int64_t n = 0;

	(void)state;
	say(p, "{\"event\":\"STOP\"}\n{\"event\":\"RESUME\"}\n{\"return\":{\"n\":7}}\n{\"event\":"
	       "\"LATER\"}\n");
	assert_true(command(p, &answer, &err));
	assert_true(json_get_i64(json_get(answer, "return"), "n", &n));
	assert_int_equal(n, 7);
	/* what came after the answer is still there */
	assert_true(qmp_wait_event(p.ours, "LATER", SOON_MS, &err));
	pair_close(p);
}

static void test_a_refusal_is_told_without_control_characters(void **state)
{
	struct pair p = pair_make();
	struct err err = {0};

	(void)state;
	say(p, "{\"error\":{\"class\":\"GenericError\",\"desc\":\"no \\u001b[31msuch\"}}\n");
	assert_false(command(p, NULL, &err));
	assert_int_equal(err.code, ERR_UPSTREAM);
	assert_non_null(strstr(err.msg, "no such"));
	pair_close(p);
}

static void test_a_silent_or_dead_monitor_is_an_error(void **state)
{
	struct pair p = pair_make();
	struct err err = {0};

	(void)state;
	assert_false(command(p, NULL, &err));
	assert_int_equal(err.code, ERR_TIMEOUT);
	say(p, "{\"return\":"); /* half a line */
	assert_false(command(p, NULL, &err));
	assert_int_equal(err.code, ERR_TIMEOUT);
	(void)shutdown(p.qemus, SHUT_RDWR);
	assert_false(command(p, NULL, &err));
	assert_int_equal(err.code, ERR_UPSTREAM);
	pair_close(p);
}

static void test_lines_are_json_and_bounded(void **state)
{
	CLEANUP(buf) struct buf flood = BUF_INIT(1 << 20);
	struct pair p = pair_make();
	struct err err = {0};
	int room = 1 << 20;

	(void)state;
	say(p, "hello\n");
	assert_false(command(p, NULL, &err));
	assert_int_equal(err.code, ERR_MALFORMED);
	/* more than any answer is long, and no newline: refused, not waited for */
	assert_int_equal(setsockopt(p.qemus, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	while (flood.len < 400 * 1024)
		assert_true(buf_addc(&flood, ' '));
	if (send(p.qemus, flood.data, flood.len, MSG_DONTWAIT) > 300 * 1024) {
		assert_false(command(p, NULL, &err));
		assert_int_equal(err.code, ERR_UPSTREAM);
	}
	pair_close(p);
}

static void test_a_descriptor_goes_along(void **state)
{
	struct pair p = pair_make(), other = pair_make();
	struct err err = {0};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char text[64];
	struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room)};
	int got = -1;

	(void)state;
	say(p, "{\"return\":{}}\n");
	assert_true(qmp_command(p.ours, COMMAND, other.ours, SOON_MS, NULL, &err));
	assert_int_equal(recvmsg(p.qemus, &msg, 0), strlen(COMMAND) + 1);
	assert_int_equal(control.header.cmsg_type, SCM_RIGHTS);
	memcpy(&got, CMSG_DATA(&control.header), sizeof(got));
	assert_int_equal(write(got, "x", 1), 1);
	assert_int_equal(read(other.qemus, text, sizeof(text)), 1);
	(void)close(got);
	pair_close(other);
	pair_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_negotiates),
		cmocka_unit_test(test_open_wants_a_greeting),
		cmocka_unit_test(test_events_before_an_answer_are_dropped),
		cmocka_unit_test(test_a_refusal_is_told_without_control_characters),
		cmocka_unit_test(test_a_silent_or_dead_monitor_is_an_error),
		cmocka_unit_test(test_lines_are_json_and_bounded),
		cmocka_unit_test(test_a_descriptor_goes_along),
	};

	return cmocka_run_group_tests_name("qmp", tests, NULL, NULL);
}
