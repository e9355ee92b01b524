/*
 * asb-boxd over a socketpair: execs and their exact ends, stdin, output under credit across a new
 * attach, freezing, and what ends the connection. As root, so that users are real; each story runs
 * with cgroups and with /proc where both matter. Questions are test_boxd_question.c's.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"

static const char *const both[] = {"cgroup", "proc"};

#define ROOT_ONLY                                                                       \
	do {                                                                            \
		if (geteuid() != 0) {                                                   \
			print_message("skipped: users can be switched by root only\n"); \
			skip();                                                         \
		}                                                                       \
	} while (0)

static void test_exit_codes(void **state)
{
	static const struct {
		const char *script, *says;
	} rows[] = {
		{"exit 0", "\"code\":0,\"signal\":null"},
		{"exit 1", "\"code\":1,\"signal\":null"},
		{"exit 255", "\"code\":255,\"signal\":null"},
		{"kill -9 $$", "\"code\":null,\"signal\":9"},
		{"kill -TERM $$", "\"code\":null,\"signal\":15"},
		{"kill -SEGV $$", "\"code\":null,\"signal\":11"},
	};
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *exit = boxd_script(&p, i + 1, "", rows[i].script, NULL);

		if (!strstr(exit, rows[i].says))
			fail_msg("%s: %s", rows[i].script, exit);
		assert_non_null(
			strstr(exit, "\"timed_out\":false,\"oom\":false,\"killed_rest\":0"));
	}
	boxd_say(&p, WIRE_EXEC, 90, "{\"argv\":[\"/no/such\"],\"cwd\":\"/\"}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 90), "\"code\":\"not_found\""));
	boxd_say(&p, WIRE_EXEC, 91, "{\"argv\":[\"/bin/true\"],\"cwd\":\"/no/such\"}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 91), "chdir"));
	boxd_say(&p, WIRE_EXEC, 92, "{\"argv\":[\"/bin/true\"],\"user\":\"nobody\"}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 92), "no user nobody"));
	boxd_say(&p, WIRE_EXEC, 93, "{\"argv\":[\"/bin/true\"],\"colour\":1}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 93), "unknown member colour"));
	boxd_close(&p);
}

static void test_user_and_environment(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
	struct boxd_peer p;

	(void)state;
	ROOT_ONLY;
	boxd_open(&p, "cgroup");
	assert_int_equal(setenv("SECRET_OF_HOST", "x", 1), 0);
	(void)boxd_script(&p, 1, ",\"env\":{\"EXTRA\":\"a b\",\"TERM\":\"other\"}",
		"id -u; id -G; env; grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status;"
		" cat /proc/self/oom_score_adj; ulimit -c",
		&out);
	assert_true(text_has_prefix(out.data, "1000\n1000\n"));
	assert_non_null(strstr(out.data, "EXTRA=a b\n"));
	assert_non_null(strstr(out.data, "TERM=other\n"));
	assert_null(strstr(out.data, "TERM=dumb"));
	assert_non_null(strstr(out.data, "http_proxy=http://127.0.0.1:"));
	assert_non_null(strstr(out.data, "NO_PROXY=127.0.0.1,localhost,::1\n"));
	assert_non_null(strstr(out.data, "ASB_ARTIFACTS=/artifacts\n"));
	assert_null(strstr(out.data, "SECRET_OF_HOST"));
	assert_non_null(strstr(out.data, "NoNewPrivs:\t1"));
	assert_non_null(strstr(out.data, "CapEff:\t0000000000000000"));
	assert_non_null(strstr(out.data, "CapBnd:\t0000000000000000"));
	assert_non_null(strstr(out.data, "\n500\n0\n"));
	buf_reset(&out);
	(void)boxd_script(&p, 2, ",\"user\":\"git\"",
		"id -u; grep -E 'CapEff|CapAmb' /proc/self/status", &out);
	assert_true(text_has_prefix(out.data, "1002\n"));
	assert_non_null(strstr(out.data, "CapEff:\t0000000000000004"));
	assert_non_null(strstr(out.data, "CapAmb:\t0000000000000004"));
	boxd_close(&p);
}

static void test_time_out_reaches_everything(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct boxd_peer p;
		char script[256];
		const char *exit;
		pid_t pid;

		boxd_open(&p, both[i]);
		(void)snprintf(script, sizeof(script),
			"setsid sh -c 'echo $$ > %s/pid; trap : TERM; while :; do sleep 1; done' & "
			"sleep 60",
			p.dir);
		exit = boxd_script(&p, 1, ",\"timeout_ms\":700", script, NULL);
		assert_non_null(strstr(exit, "\"signal\":9,\"timed_out\":true"));
		assert_true(boxd_number(exit, "killed_rest") >= 2);
		assert_true(boxd_number(exit, "duration_ms") >= 700);
		assert_true(boxd_number(exit, "duration_ms") < 30000); /* of the sixty */
		pid = boxd_pid(&p, "pid");
		assert_int_equal(kill(pid, 0), -1);
		assert_int_equal(errno, ESRCH);
		/* the control: without a time-out the same child outlives nothing but the drain */
		exit = boxd_script(&p, 2, "", "sleep 60 & exit 7", NULL);
		assert_non_null(strstr(exit, "\"code\":7,\"signal\":null,\"timed_out\":false"));
		assert_int_equal(boxd_number(exit, "killed_rest"), 1);
		boxd_close(&p);
	}
}

/* The group of the exec, as the kernel tells it. */
static void group_read(struct boxd_peer *p, uint32_t stream, const char *members, char out[256])
{
	CLEANUP(buf) struct buf said = BUF_INIT(4096);
	const char *at;

	(void)boxd_script(p, stream, members, "grep '^0::' /proc/self/cgroup", &said);
	at = strstr(said.data, "0::");
	assert_non_null(at);
	(void)snprintf(out, 256, "%.*s", (int)strcspn(at, "\n"), at);
}

/* A group is used again, but never one that had limits or was killed. */
static void test_groups_again(void **state)
{
	char first[256], now[256];
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	group_read(&p, 1, "", first);
	if (!strstr(first, "/driver/")) { /* no cgroup tree that we may write */
		boxd_close(&p);
		skip();
	}
	group_read(&p, 2, "", now);
	assert_string_equal(now, first);
	group_read(&p, 3, ",\"lane\":\"exec:1\"", now);
	assert_non_null(strstr(now, "/exec/"));
	group_read(&p, 4, ",\"pids\":50", now);
	assert_string_equal(now, first);
	group_read(&p, 5, "", now);
	assert_string_not_equal(now, first);
	memcpy(first, now, sizeof(first));
	/* what is left behind is killed */
	assert_non_null(strstr(boxd_script(&p, 6, "", "sleep 60 & exit 7", NULL), "\"code\":7"));
	group_read(&p, 7, "", now);
	assert_string_not_equal(now, first);
	boxd_close(&p);
}

static void test_signals(void **state)
{
	struct boxd_peer p;

	(void)state;
	boxd_open(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1,
		"{\"argv\":[\"/bin/sh\",\"-c\",\"trap 'exit 9' USR1; echo up; while :; do sleep "
		"0.05; done\"],"
		"\"cwd\":\"/\"}");
	(void)boxd_expect(&p, WIRE_STDOUT, 1);
	boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":10,\"all\":false}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_EXIT, 1), "\"code\":9"));
	boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":10}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 1), "has ended"));
	boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":65}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 1), "out of range"));
	boxd_say(&p, WIRE_EXEC, 2,
		"{\"argv\":[\"/bin/sh\",\"-c\",\"sleep 50 & echo up; wait\"],\"cwd\":\"/\"}");
	(void)boxd_expect(&p, WIRE_STDOUT, 2);
	boxd_say(&p, WIRE_SIGNAL, 2, "{\"signal\":9,\"all\":true}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_EXIT, 2), "\"signal\":9,\"timed_out\":false"));
	boxd_close(&p);
}

static void test_stdin_echo(void **state)
{
	enum { SIZE = 1 << 20 };
	CLEANUP(buf) struct buf out = BUF_INIT(2 * SIZE);
	struct boxd_peer p;
	static char data[SIZE];
	uint64_t sent = 0, allowed = WIRE_WINDOW;
	bool eof = false;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 31 >> 7);
	boxd_open(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1, "{\"argv\":[\"/bin/cat\"],\"cwd\":\"/\",\"stdin\":true}");
	for (;;) {
		while (sent < SIZE && sent < allowed) {
			size_t n = SIZE - sent < 10000 ? SIZE - sent : 10000;

			n = n < allowed - sent ? n : allowed - sent;
			boxd_send(&p, WIRE_STDIN, 1, data + sent, n);
			sent += n;
		}
		if (sent == SIZE && !eof) {
			boxd_send(&p, WIRE_EOF, 1, NULL, 0);
			eof = true;
		}
		assert_true(boxd_next(&p));
		if (p.frame.type == WIRE_EXIT)
			break;
		if (p.frame.type == WIRE_CREDIT)
			assert_true(wire_u64(&p.frame, &allowed));
		if (p.frame.type == WIRE_STDOUT) {
			assert_true(wire_get_u64(p.frame.payload) == out.len);
			(void)buf_add(&out, p.frame.payload + 8, p.frame.length - 8);
			boxd_credit(&p, 1, out.len);
		}
	}
	assert_int_equal(out.len, SIZE);
	assert_memory_equal(out.data, data, SIZE);
	boxd_close(&p);
}

/* Reads stream 1 until `want` bytes are there, crediting each `step`; keeps nothing uncredited. */
static void output_follow(struct boxd_peer *p, struct buf *out, size_t want, bool credit)
{
	while (out->len < want) {
		assert_true(boxd_next(p));
		if (p->frame.type != WIRE_STDOUT)
			continue;
		assert_true(wire_get_u64(p->frame.payload) == out->len);
		(void)buf_add(out, p->frame.payload + 8, p->frame.length - 8);
		if (credit)
			boxd_credit(p, 1, out->len);
	}
}

static void test_output_across_attaches(void **state)
{
	enum { LINES = 1200000 };
	CLEANUP(buf) struct buf out = BUF_INIT(16 << 20);
	CLEANUP(buf) struct buf want = BUF_INIT(16 << 20);
	struct boxd_peer p;
	const char *exit;
	size_t safe;

	(void)state;
	for (int i = 1; i <= LINES; i++)
		(void)buf_addf(&want, "%d\n", i);
	assert_true(want.len > (8u << 20));
	boxd_open(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1, "{\"argv\":[\"/usr/bin/seq\",\"%d\"],\"cwd\":\"/\"}", LINES);
	for (int round = 1; round <= 3; round++) {
		output_follow(&p, &out, (size_t)round * 2000000, true);
		safe = out.len;
		/* taken but not credited, up to the whole window: a new host has not got these */
		output_follow(&p, &out, safe + WIRE_WINDOW, false);
		assert_int_equal(out.len, safe + WIRE_WINDOW);
		boxd_attach(&p);
		out.len = safe;
	}
	output_follow(&p, &out, want.len, true);
	exit = boxd_expect(&p, WIRE_EXIT, 1);
	assert_int_equal(boxd_number(exit, "end"), want.len);
	assert_int_equal(out.len, want.len);
	assert_memory_equal(out.data, want.data, want.len);
	/* an EXIT that was not acknowledged comes again, one that was does not */
	boxd_attach(&p);
	(void)boxd_expect(&p, WIRE_EXIT, 1);
	boxd_send(&p, WIRE_ACK_EXIT, 1, NULL, 0);
	boxd_say(&p, WIRE_ATTACH, 0, "{\"protocol\":1,\"nonce\":\"x\"}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_HELLO, 0), "\"execs\":[]"));
	boxd_close(&p);
}

static void test_freeze_and_thaw(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct boxd_peer p;

		boxd_open(&p, both[i]);
		boxd_say(&p, WIRE_EXEC, 1,
			"{\"argv\":[\"/bin/sh\",\"-c\",\"while :; do echo x >> %s/loop; sleep "
			"0.02; done\"],"
			"\"cwd\":\"/\",\"lane\":\"drive\"}",
			p.dir);
		(void)boxd_expect(&p, WIRE_STARTED, 1);
		boxd_grows(&p, "loop");
		boxd_say(&p, WIRE_FREEZE, 5, "{\"lane\":\"drive\"}");
		assert_string_equal(boxd_expect(&p, WIRE_DONE, 5), "{\"frozen\":\"drive\"}");
		(void)usleep(100000);
		boxd_rests(&p, "loop");
		boxd_say(&p, WIRE_THAW, 6, "{\"lane\":\"drive\"}");
		assert_string_equal(boxd_expect(&p, WIRE_DONE, 6), "{\"thawed\":\"drive\"}");
		boxd_grows(&p, "loop");
		boxd_say(&p, WIRE_FREEZE, 7, "{\"lane\":\"exec:9\"}");
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 7), "nothing runs"));
		boxd_close(&p);
	}
}

/* One whose first thread has ended, and another works on: to the kernel's list a zombie. */
static void test_first_thread_gone(void **state)
{
	static const char program[] =
		"import ctypes,threading,time\\n"
		"def work():\\n"
		" while True: open('loop','a').write('x'); time.sleep(0.02)\\n"
		"threading.Thread(target=work).start()\\n"
		"ctypes.CDLL(None).syscall(60,0)"; /* exit, of this thread alone */

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct boxd_peer p;
		const char *exit;

		boxd_open(&p, both[i]);
		boxd_say(&p, WIRE_EXEC, 1,
			"{\"argv\":[\"python3\",\"-c\",\"%s\"],\"cwd\":\"%s\",\"user\":\"agent\","
			"\"lane\":\"drive\"}",
			program, p.dir);
		(void)boxd_expect(&p, WIRE_STARTED, 1);
		boxd_grows(&p, "loop");
		boxd_say(&p, WIRE_FREEZE, 0, "{\"lane\":\"drive\"}");
		(void)boxd_expect(&p, WIRE_DONE, 0);
		boxd_rests(&p, "loop");
		boxd_say(&p, WIRE_THAW, 0, "{\"lane\":\"drive\"}");
		(void)boxd_expect(&p, WIRE_DONE, 0);
		boxd_grows(&p, "loop");
		boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":9,\"all\":true}");
		exit = boxd_expect(&p, WIRE_EXIT, 1);
		assert_non_null(strstr(exit, "\"signal\":9"));
		boxd_rests(&p, "loop");
		boxd_close(&p);
	}
}

static void test_probe_and_metrics(void **state)
{
	struct boxd_peer p;
	int64_t start;
	const char *text;

	(void)state;
	boxd_open(&p, "cgroup");
	start = time_boot_ms();
	boxd_say(&p, WIRE_PROBE, 4, "{}");
	/* where this host has no network either, the gate is asked; it is us */
	while (p.frame.type != WIRE_PROBE) {
		assert_true(boxd_next(&p));
		if (p.frame.type == WIRE_OPEN)
			boxd_say(&p, WIRE_REFUSE, p.frame.stream, "{\"reason\":\"sealed\"}");
	}
	text = boxd_text(&p);
	assert_true(time_boot_ms() - start < 2000);
	assert_true(text_has_prefix(text, "{\"nics\":["));
	assert_non_null(strstr(text, "\"tcp\":\""));
	assert_non_null(strstr(text, "\"udp\":\""));
	assert_non_null(strstr(text, "\"dns\":\""));
	assert_non_null(strstr(text, "\"sealed\":"));
	boxd_say(&p, WIRE_METRICS, 5, "{}");
	text = boxd_expect(&p, WIRE_METRICS, 5);
	assert_true(boxd_number(text, "memory_used_bytes") > 0);
	assert_true(boxd_number(text, "uptime_ms") > 0);
	boxd_send(&p, WIRE_PING, 0, "12345678", 8);
	assert_string_equal(boxd_expect(&p, WIRE_PONG, 0), "12345678");
	boxd_close(&p);
}

static void test_before_ready(void **state)
{
	struct boxd_peer p;

	(void)state;
	boxd_start(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1, "{\"argv\":[\"/bin/true\"]}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 1), "\"code\":\"not_ready\""));
	boxd_attach(&p);
	assert_non_null(strstr(boxd_script(&p, 1, "", "exit 4", NULL), "\"code\":4"));
	boxd_close(&p);
}

static void test_what_ends_the_connection(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = {
		{"\x01\x00\x01\x00\x1f\x00\x00\x00\x00\x00\x00\x00", 12},   /* too long */
		{"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 12},   /* no type */
		{"\x00\x00\x00\x00\x7f\x00\x00\x00\x00\x00\x00\x00", 12},   /* no such type */
		{"\x00\x00\x00\x00\x1f\x01\x00\x00\x00\x00\x00\x00", 12},   /* flags */
		{"\x02\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00[]", 14}, /* EXEC, no object */
		{"\x02\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00{}", 14}, /* EXEC on stream 0 */
		{"\x02\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80{}",
			14}, /* EXEC on the box's streams */
		{"\x00\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00", 12}, /* STDOUT from the host */
		{"\x01\x00\x00\x00\x0d\x00\x00\x00\x01\x00\x00\x00x",
			13}, /* CREDIT without a number */
		{"\x08\x00\x00\x00\x0d\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff\0\0\0\0", 20},
	};
	struct boxd_peer p;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		boxd_open(&p, "cgroup");
		boxd_say(&p, WIRE_EXEC, 1, "{\"argv\":[\"/bin/sleep\",\"50\"],\"cwd\":\"/\"}");
		(void)boxd_expect(&p, WIRE_STARTED, 1);
		assert_int_equal(send(p.fd, rows[i].bytes, rows[i].n, 0), rows[i].n);
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 0), "\"code\":\"protocol\""));
		if (boxd_next(&p))
			fail_msg("row %zu: it goes on", i);
		assert_int_equal(boxd_wait(&p), 1);
	}
	/* and the end of the host ends everything at once, without an error */
	boxd_open(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1,
		"{\"argv\":[\"/bin/sh\",\"-c\",\"echo $$ > %s/pid; sleep 50\"],\"cwd\":\"/\"}",
		p.dir);
	pid_t pid = boxd_pid(&p, "pid");

	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(shutdown(p.fd, SHUT_WR), 0);
	assert_int_equal(boxd_wait(&p), 0);
	/* it was killed; whoever inherits it has to bury it yet */
	for (int i = 0; i < 500 && !kill(pid, 0); i++)
		(void)usleep(10000);
	assert_int_equal(kill(pid, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_user_and_environment),
		cmocka_unit_test(test_time_out_reaches_everything),
		cmocka_unit_test(test_groups_again),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_stdin_echo),
		cmocka_unit_test(test_output_across_attaches),
		cmocka_unit_test(test_freeze_and_thaw),
		cmocka_unit_test(test_first_thread_gone),
		cmocka_unit_test(test_probe_and_metrics),
		cmocka_unit_test(test_before_ready),
		cmocka_unit_test(test_what_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
