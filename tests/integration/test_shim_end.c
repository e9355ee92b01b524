/*
 * How boxes end, and how asb-shim takes what a box or a peer should not say: each refusal beside a
 * control that shows the same thing allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shimrig.h"
#include "text.h"

/* What goes, goes at once: only a failure, or a machine that has other things to do, takes that
 * long. */
#define GONE_MS 10000

static void test_shim_killed(void **state)
{
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	assert_false(gone_within(rig.box, 50));
	(void)kill(rig.shim, SIGKILL);
	assert_true(gone_within(rig.box, GONE_MS));
	shimrig_stop(&rig);
}

static void test_box_killed(void **state)
{
	struct peerlink p, late;
	struct wire_frame f;
	struct rig rig;
	int64_t start;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	shimrig_exec(&rig, &p, 3);
	send_output(&rig.link, 3, 0, "last words", 10);
	want_frame(&p.link, WIRE_STDOUT, 3, &f);
	send_output(&rig.link, 3, 10, "of it", 5);
	start = time_boot_ms();
	(void)kill(rig.box, SIGKILL);
	want_frame(&p.link, WIRE_STDOUT, 3, &f);
	want_error(&p, "box_lost");
	assert_true(time_boot_ms() - start < GONE_MS);
	/* acknowledged also after the end; a later one gets the rest and then the same news */
	send_credit(&p.link, 3, 10);
	peer_end(&p);
	peer_hello(&rig, &late, "drive", 2, NULL);
	want_frame(&late.link, WIRE_STDOUT, 3, &f);
	assert_memory_equal(f.payload + WIRE_OFFSET, "of it", 5);
	want_error(&late, "box_lost");
	assert_false(gone_within(rig.shim, 50));
	peer_end(&late);
	shimrig_stop(&rig);
}

static void test_lingers(void **state)
{
	static const char *const env[] = {"ASB_SHIM_LINGER_MS=300", NULL};
	struct rig rig;
	int64_t start;

	(void)state;
	shimrig_start(&rig, env);
	shimrig_greet(&rig, 0);
	assert_false(gone_within(rig.shim, 500));
	/* its time begins after this: not before 300 ms are over, however late we look */
	start = time_boot_ms();
	(void)kill(rig.box, SIGKILL);
	assert_true(gone_within(rig.shim, GONE_MS));
	assert_true(time_boot_ms() - start >= 300);
	shimrig_stop(&rig);
}

static void test_bye(void **state)
{
	struct peerlink p;
	struct wire_frame f;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "admin", 1, NULL);
	send_json(&p.link, WIRE_BYE, 0, "{}");
	want_frame(&rig.link, WIRE_BYE, 0, &f);
	(void)kill(rig.box, SIGKILL);
	assert_true(gone_within(rig.shim, GONE_MS));
	peer_end(&p);
	shimrig_stop(&rig);
}

static void test_deadman(void **state)
{
	static const char *const env[] = {"ASB_SHIM_DEADMAN_MS=2500", NULL};
	struct peerlink p;
	struct wire_frame f;
	struct rig rig;

	(void)state;
	shimrig_start(&rig, env);
	shimrig_greet(&rig, 0);
	peer_connect(&rig, &p);
	/* pings of a worker, which needs no lane, keep it; silence ends it */
	for (int i = 0; i < 8; i++) {
		send_json(&p.link, WIRE_PING, 0, "x");
		want_frame(&p.link, WIRE_PONG, 0, &f);
		(void)usleep(400000);
	}
	assert_false(gone_within(rig.box, 1));
	assert_true(gone_within(rig.box, GONE_MS));
	peer_attach(&p, "drive", 1);
	want_frame(&p.link, WIRE_HELLO, 0, &f);
	want_error(&p, "worker_lost");
	peer_end(&p);
	shimrig_stop(&rig);
}

static void say_garbage(struct rig *rig)
{
	assert_int_equal(
		write(rig->link.fd, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12), 12);
}

static void say_unknown_stream(struct rig *rig)
{
	send_output(&rig->link, 99, 0, "x", 1);
}

static void say_gap(struct rig *rig)
{
	send_output(&rig->link, 3, 1, "x", 1);
}

/* Up to the last byte of the credit that a full spool leaves, and then one frame more. */
static void say_too_much(struct rig *rig)
{
	static const char data[60000];
	uint64_t at = 0, credit = 0;
	struct wire_frame f;
	struct err err;

	/* the runner acknowledges nothing, so credit ends where the spool is full. What was said
	 * before a PING has been taken by its PONG, and its credit given by the next one */
	for (int idle = 0; idle < 2; idle++) {
		for (; at + sizeof(data) <= credit + WIRE_WINDOW; at += sizeof(data), idle = 0)
			send_output(&rig->link, 3, at, data, sizeof(data));
		send_json(&rig->link, WIRE_PING, 0, "x");
		do {
			assert_true(boxlink_next(&rig->link, 20000, &f, &err));
			if (f.type == WIRE_CREDIT)
				(void)wire_u64(&f, &credit);
		} while (f.type != WIRE_PONG);
	}
	assert_false(gone_within(rig->box, 1));
	send_output(&rig->link, 3, at, data, sizeof(data));
}

/* An archive: up to the last byte of the credit, and then one byte more. */
static void say_archive(struct rig *rig, size_t more)
{
	static const char data[WIRE_WINDOW / 8];
	struct err err;

	for (int i = 0; i < 8; i++)
		assert_true(boxlink_send_bytes(&rig->link, WIRE_DATA, 5, data, sizeof(data), &err));
	if (more)
		assert_true(boxlink_send_bytes(&rig->link, WIRE_DATA, 5, data, more, &err));
}

/* The box sends an archive under the runner's credits, which it keeps and then does not. */
static void test_archive_credit(void **state)
{
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;
	size_t got;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	send_json(&p.link, WIRE_TAR_OUT, 5, "{\"path\":\"/x\",\"max_bytes\":1}");
	want_frame(&rig.link, WIRE_TAR_OUT, 5, &f);
	say_archive(&rig, 0);
	for (got = 0; got < WIRE_WINDOW; got += f.length)
		want_frame(&p.link, WIRE_DATA, 5, &f);
	send_credit(&p.link, 5, 2 * WIRE_WINDOW);
	want_frame(&rig.link, WIRE_CREDIT, 5, &f);
	say_archive(&rig, 0);
	for (got = 0; got < WIRE_WINDOW; got += f.length)
		want_frame(&p.link, WIRE_DATA, 5, &f);
	assert_false(gone_within(rig.box, 1));
	/* the runner allows another window, and says nothing more */
	send_credit(&p.link, 5, 3 * WIRE_WINDOW);
	want_frame(&rig.link, WIRE_CREDIT, 5, &f);
	say_archive(&rig, 1);
	for (got = 0; got < WIRE_WINDOW; got += f.length)
		want_frame(&p.link, WIRE_DATA, 5, &f);
	want_error(&p, "protocol");
	assert_true(gone_within(rig.box, GONE_MS));
	peer_end(&p);
	shimrig_stop(&rig);
}

/* A box whose process takes its time to end after its channel did. */
static void test_ends_slowly(void **state)
{
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	(void)shutdown(rig.link.fd, SHUT_RDWR);
	(void)usleep(1500000);
	(void)kill(rig.box, SIGKILL);
	want_error(&p, "box_lost");
	peer_end(&p);
	shimrig_stop(&rig);
}

/* What a box says of its end on its console cannot be played here (a process has none): whoever
 * speaks for it going, while its process lives, can. */
static void test_agent_lost(void **state)
{
	static const char *const env[] = {"ASB_SHIM_MUTE_MS=3000", NULL};
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	(void)shutdown(rig.link.fd, SHUT_RDWR);
	assert_false(gone_within(rig.box, 300));
	want_error(&p, "agent_lost");
	assert_true(gone_within(rig.box, GONE_MS));
	peer_end(&p);
	shimrig_stop(&rig);

	/* and one that still has its channel, and does not answer */
	shimrig_start(&rig, env);
	shimrig_greet(&rig, 0);
	peer_hello(&rig, &p, "drive", 1, NULL);
	for (int i = 0; i < 12; i++) {
		want_frame(&rig.link, WIRE_PING, 0, &f);
		send_json(&rig.link, WIRE_PONG, 0, "");
	}
	assert_false(gone_within(rig.box, 1));
	want_error(&p, "agent_lost");
	assert_true(gone_within(rig.box, GONE_MS));
	peer_end(&p);
	shimrig_stop(&rig);
}

static void say_runners_words(struct rig *rig)
{
	send_json(&rig->link, WIRE_EXEC, 3, "{}");
}

static void say_questions(struct rig *rig)
{
	for (int i = 0; i < 125; i++)
		send_json(
			&rig->link, WIRE_QUESTION, 0, "{\"id\":\"q\",\"stream\":3,\"text\":\"?\"}");
}

static void say_bad_question(struct rig *rig)
{
	send_json(&rig->link, WIRE_QUESTION, 0, "{\"id\":\"q\",\"stream\":3}");
}

static void say_question_of_nobody(struct rig *rig)
{
	send_json(&rig->link, WIRE_QUESTION, 0, "{\"id\":\"q\",\"stream\":77,\"text\":\"?\"}");
}

static void say_unasked(struct rig *rig)
{
	send_json(&rig->link, WIRE_DONE, 0, "{}");
}

static void say_after_exit(struct rig *rig)
{
	send_json(&rig->link, WIRE_EXIT, 3, "{\"code\":0}");
	send_output(&rig->link, 3, 0, "x", 1);
}

static void say_open_twice(struct rig *rig)
{
	/* an egress number outside the egress range is a stream that is not there */
	send_json(&rig->link, WIRE_OPEN, 12, "{}");
}

static void test_protocol(void **state)
{
	static void (*const wrongs[])(struct rig *) = {say_garbage, say_unknown_stream, say_gap,
		say_too_much, say_runners_words, say_questions, say_bad_question,
		say_question_of_nobody, say_unasked, say_after_exit, say_open_twice};
	struct wire_frame f;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct peerlink p;
		struct rig rig;

		shimrig_ready(&rig);
		peer_hello(&rig, &p, "drive", 1, NULL);
		shimrig_exec(&rig, &p, 3);
		/* the control: what an honest box says goes through */
		send_json(&rig.link, WIRE_PING, 0, "x");
		want_frame(&rig.link, WIRE_PONG, 0, &f);
		assert_false(gone_within(rig.box, 1));
		wrongs[i](&rig);
		do
			if (!boxlink_next(&p.link, 5000, &f, &err))
				fail_msg("wrong %zu: %s", i, err.msg);
		while (f.type != WIRE_ERROR || f.stream);
		if (!memmem(f.payload, f.length, "\"protocol\"", 10))
			fail_msg("wrong %zu: %.*s", i, (int)f.length, (const char *)f.payload);
		assert_true(gone_within(rig.box, GONE_MS));
		assert_false(gone_within(rig.shim, 1));
		peer_end(&p);
		shimrig_stop(&rig);
	}
}

static void test_handshake_is_checked(void **state)
{
	static const char *const late[] = {"ASB_SHIM_START_MS=300", NULL};
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_start(&rig, NULL);
	peer_connect(&rig, &p);
	peer_attach(&p, "drive", 1);
	shimrig_greet(&rig, -10000);
	want_error(&p, "protocol");
	peer_end(&p);
	shimrig_stop(&rig);

	shimrig_start(&rig, NULL);
	peer_connect(&rig, &p);
	peer_attach(&p, "drive", 1);
	want_frame(&rig.link, WIRE_ATTACH, 0, &f);
	send_json(&rig.link, WIRE_HELLO, 0,
		"{\"protocol\":1,\"nonce\":\"00\",\"boot_id\":\"x\",\"kernel\":\"x\",\"machine\":{}"
		"}");
	want_error(&p, "protocol");
	peer_end(&p);
	shimrig_stop(&rig);

	shimrig_start(&rig, late);
	peer_connect(&rig, &p);
	peer_attach(&p, "drive", 1);
	want_error(&p, "not_ready");
	peer_end(&p);
	shimrig_stop(&rig);
}

/* A connection as another uid; true: it was let in. */
static bool asks_as(struct rig *rig, uid_t uid)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		struct peerlink p;
		struct wire_frame f;
		struct err err;

		alarm(10);
		if (uid && setuid(uid))
			_exit(9);
		peer_connect(rig, &p);
		if (!boxlink_send(&p.link, WIRE_PING, 0, "x", &err))
			_exit(1);
		_exit(boxlink_next(&p.link, 3000, &f, &err) && f.type == WIRE_PONG ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static void test_foreign_uid(void **state)
{
	char path[128];
	struct rig rig;

	(void)state;
	if (geteuid())
		skip();
	shimrig_ready(&rig);
	assert_int_equal(chmod(rig.dir, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/shim.sock", rig.dir);
	assert_int_equal(chmod(path, 0777), 0);
	assert_true(asks_as(&rig, 0));
	assert_false(asks_as(&rig, 12345));
	shimrig_stop(&rig);
}

/* Somebody who listens where the gate should, as uid; never returns. */
static _Noreturn void impostor(const char *dir, uid_t uid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;
	char byte;

	alarm(10);
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/gate.sock", dir);
	if ((uid && setuid(uid)) || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 8))
		_exit(9);
	peer = accept(fd, NULL, NULL);
	/* the shim says its name at once to a gate that it believes */
	_exit(read(peer, &byte, 1) == 1 ? 0 : 1);
}

static int gate_as(uid_t uid)
{
	struct rig rig;
	int status = 0;
	pid_t pid;

	shimrig_ready(&rig);
	assert_int_equal(chmod(rig.dir, 0777), 0);
	pid = fork();
	if (!pid)
		impostor(rig.dir, uid);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	shimrig_stop(&rig);
	return status;
}

static void test_gate_is_checked(void **state)
{
	(void)state;
	assert_int_equal(gate_as(0), 0);
	if (geteuid())
		skip();
	assert_int_equal(WEXITSTATUS(gate_as(12345)), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shim_killed),
		cmocka_unit_test(test_box_killed),
		cmocka_unit_test(test_lingers),
		cmocka_unit_test(test_bye),
		cmocka_unit_test(test_deadman),
		cmocka_unit_test(test_protocol),
		cmocka_unit_test(test_archive_credit),
		cmocka_unit_test(test_ends_slowly),
		cmocka_unit_test(test_agent_lost),
		cmocka_unit_test(test_gate_is_checked),
		cmocka_unit_test(test_handshake_is_checked),
		cmocka_unit_test(test_foreign_uid),
	};

	shimrig_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
