/*
 * Questions in asb-boxd over a socketpair: who may ask, what freezes when, and the one order in
 * which an answer takes effect. Each story runs with cgroups and with /proc.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/ioctl.h>
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

static void test_question(void **state)
{
	char cwd[256];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
		struct boxd_peer p;
		const char *text;
		char id[32] = "";

		boxd_open(&p, both[i]);
		boxd_say(&p, WIRE_EXEC, 1,
			"{\"argv\":[\"/bin/sh\",\"-c\",\"setsid sh -c 'while :; do echo x >> "
			"%s/loop; sleep 0.02;"
			" done' & sleep 0.3; %s/build/box/asb-ask 'which \\\"one\\\"?' && echo rc "
			"$?;"
			" sleep 0.4; kill "
			"0\"],\"cwd\":\"/\",\"lane\":\"drive\"}",
			p.dir, cwd);
		text = boxd_expect(&p, WIRE_QUESTION, 0);
		assert_non_null(strstr(text, "\"stream\":1,\"text\":\"which \\\"one\\\"?\""));
		memcpy(id, strstr(text, "q-"), 18);
		(void)usleep(300000);
		assert_true(boxd_file_size(&p, "loop") > 2);
		assert_true(boxd_file_size(&p, "question") > 0);
		boxd_rests(&p, "loop");
		/* a new host is told again; nothing starts in a frozen lane */
		boxd_attach(&p);
		assert_non_null(strstr(boxd_expect(&p, WIRE_QUESTION, 0), id));
		boxd_say(&p, WIRE_EXEC, 2,
			"{\"argv\":[\"/bin/true\"],\"lane\":\"drive\",\"cwd\":\"/\"}");
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 2), "frozen"));
		boxd_say(&p, WIRE_ANSWER, 0, "{\"id\":\"q-other\",\"text\":\"no\"}");
		/* an ERROR of stream 0 would end it: a wrong id is that for a confused host */
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 0), "is not open"));
		boxd_say(&p, WIRE_ANSWER, 0, "{\"id\":\"%s\",\"text\":\"this \\u00e9 one\"}", id);
		assert_non_null(strstr(boxd_expect(&p, WIRE_DONE, 0), id));
		(void)boxd_expect(&p, WIRE_STDOUT, 1);
		assert_memory_equal(p.frame.payload + 8, "this \xc3\xa9 one\n", 12);
		assert_int_equal(boxd_file_size(&p, "question"), 0);
		boxd_grows(&p, "loop");
		boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":9,\"all\":true}");
		(void)boxd_expect(&p, WIRE_EXIT, 1);
		boxd_close(&p);
	}
}

static void test_question_refused(void **state)
{
	CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
	char cwd[256], script[512];
	struct boxd_peer p;

	(void)state;
	ROOT_ONLY;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	boxd_open(&p, "cgroup");
	/* another lane, another user, nothing to ask */
	(void)snprintf(script, sizeof(script), "%s/build/box/asb-ask hm; echo rc $?", cwd);
	(void)boxd_script(&p, 1, ",\"lane\":\"exec:1\"", script, &out);
	assert_non_null(strstr(out.data, "only the run itself may ask\nrc 1\n"));
	buf_reset(&out);
	(void)boxd_script(&p, 2, ",\"user\":\"ask\",\"lane\":\"drive\"", script, &out);
	assert_non_null(strstr(out.data, "not allowed to ask\nrc 1\n"));
	buf_reset(&out);
	(void)snprintf(script, sizeof(script), "%s/build/box/asb-ask '  '; echo rc $?", cwd);
	(void)boxd_script(&p, 3, ",\"lane\":\"drive\"", script, &out);
	assert_non_null(strstr(out.data, "empty or not UTF-8\nrc 1\n"));
	boxd_close(&p);
}

static void file_put(const struct boxd_peer *p, const char *name, const char *text)
{
	CLEANUP(fd) int fd = -1;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The agent of these stories: a background loop that left its session, a main loop, and `say`. It
 * asks, asks again while the first is open, and goes on until `stop` is there; then it reads lines.
 */
static void agent_start(struct boxd_peer *p, pid_t *pid)
{
	static const char agent[] =
		"setsid sh -c 'while :; do echo x >> loop; sleep 0.02; done' &\n"
		"while [ ! -s loop ]; do sleep 0.02; done\n"
		"$ask 'go \"on\"?'; echo rc $?\n"
		"$ask 'and this?'; echo rc $?\n"
		"while [ ! -e stop ]; do echo x >> main; sleep 0.02; done\n"
		"setsid sh -c 'while :; do echo x >> loop2; sleep 0.02; done' &\n"
		"IFS= read -r line; printf 'got %s\\n' \"$line\"\n"
		"while [ ! -s loop2 ]; do sleep 0.02; done\n"
		"$ask 'once more?'\n"
		"while IFS= read -r line; do printf 'got %s\\n' \"$line\"; done\n"
		"kill -9 0\n";
	char cwd[256];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	file_put(p, "agent.sh", agent);
	boxd_say(p, WIRE_EXEC, 1,
		"{\"argv\":[\"/bin/sh\",\"%s/agent.sh\"],\"cwd\":\"%s\",\"lane\":\"drive\","
		"\"stdin\":true,\"ask\":\"return\",\"env\":{\"ask\":\"%s/build/box/asb-ask\"}}",
		p->dir, p->dir, cwd);
	*pid = (pid_t)boxd_number(boxd_expect(p, WIRE_STARTED, 1), "pid");
}

static void question_id(struct boxd_peer *p, char id[32])
{
	memcpy(id, strstr(boxd_expect(p, WIRE_QUESTION, 0), "q-"), 18);
	id[18] = '\0';
}

/* Output of stream 1 until `end` has come. */
static void output_until(struct boxd_peer *p, struct buf *out, const char *end)
{
	while (!strstr(out->data, end)) {
		assert_true(boxd_next(p));
		if (p->frame.type != WIRE_STDOUT && p->frame.type != WIRE_STDERR)
			continue;
		(void)buf_add(out, p->frame.payload + WIRE_OFFSET, p->frame.length - WIRE_OFFSET);
		boxd_credit(p, 1, wire_get_u64(p->frame.payload) + p->frame.length - WIRE_OFFSET);
	}
}

static void marker_is_roots(const struct boxd_peer *p, const char *text)
{
	char path[128], have[64] = "";
	CLEANUP(fd) int fd = -1;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/question", p->dir);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(st.st_uid, geteuid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, have, sizeof(have) - 1), strlen(text));
	assert_string_equal(have, text);
}

/* Sends the answer and watches from outside: in the moment the marker goes, the line is on stdin.
 */
static void answer_in_order(struct boxd_peer *p, pid_t pid, const char *id, const char *answer)
{
	char path[128];
	CLEANUP(fd) int in = -1;
	int there = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)pid);
	in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(in >= 0);
	assert_int_equal(ioctl(in, FIONREAD, &there), 0);
	assert_int_equal(there, 0);
	(void)snprintf(path, sizeof(path), "%s/question", p->dir);
	boxd_say(p, WIRE_ANSWER, 0, "%s", answer);
	for (int64_t end = time_boot_ms() + 5000; !access(path, F_OK);)
		assert_true(time_boot_ms() < end);
	assert_int_equal(ioctl(in, FIONREAD, &there), 0);
	assert_true(there > 10);
	assert_non_null(strstr(boxd_expect(p, WIRE_DONE, 0), id));
}

static void refused(struct boxd_peer *p, const char *answer, const char *why)
{
	const char *text;

	boxd_say(p, WIRE_ANSWER, 0, "%s", answer);
	text = boxd_expect(p, WIRE_ERROR, 0);
	if (!strstr(text, why))
		fail_msg("%s: %s", answer, text);
}

static void test_question_handed_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(buf) struct buf out = BUF_INIT(1 << 16);
		char id[32], answer[256];
		struct boxd_peer p;
		pid_t pid;

		boxd_open(&p, both[i]);
		agent_start(&p, &pid);
		question_id(&p, id);
		/* asb-ask is back at once, a second one is refused, and the main process goes on */
		output_until(&p, &out, "rc 1\n");
		assert_non_null(strstr(out.data,
			"Your question was handed over. Stop now: every tool is refused until it "
			"is answered; the answer comes as the next message.\nrc 0\n"));
		assert_non_null(strstr(out.data, "a question is open already\nrc 1\n"));
		marker_is_roots(&p, "go \"on\"?");
		boxd_rests(&p, "loop");
		boxd_grows(&p, "main");
		boxd_say(&p, WIRE_EXEC, 2,
			"{\"argv\":[\"/bin/true\"],\"lane\":\"drive\",\"cwd\":\"/\"}");
		assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 2), "frozen"));
		boxd_say(&p, WIRE_FREEZE, 0, "{\"lane\":\"drive\"}");
		(void)boxd_expect(&p, WIRE_DONE, 0);
		(void)usleep(50000);
		boxd_rests(&p, "main");
		/* what is no answer changes nothing */
		(void)snprintf(answer, sizeof(answer), "{\"id\":\"%s\",\"text\":\"yes\"}", id);
		refused(&p, answer, "stdin is missing");
		(void)snprintf(answer, sizeof(answer),
			"{\"id\":\"%s\",\"text\":\"yes\",\"stdin\":[\"a\"]}", id);
		refused(&p, answer, "two texts");
		marker_is_roots(&p, "go \"on\"?");
		boxd_rests(&p, "main");
		(void)snprintf(answer, sizeof(answer),
			"{\"id\":\"%s\",\"text\":\"a \\\"b\\\"\\nc\",\"stdin\":[\"{\\\"t\\\":\","
			"\"}\"]}",
			id);
		answer_in_order(&p, pid, id, answer);
		boxd_grows(&p, "loop");
		boxd_grows(&p, "main");
		refused(&p, answer, "is not open");
		buf_reset(&out);
		file_put(&p, "stop", "x");
		output_until(&p, &out, "got {\"t\":\"a \\\"b\\\"\\nc\"}\n");
		/* what began in between is frozen by the next question; the host's own lines follow
		 */
		question_id(&p, id);
		boxd_rests(&p, "loop2");
		boxd_rests(&p, "loop");
		(void)snprintf(answer, sizeof(answer),
			"{\"id\":\"%s\",\"text\":\"z\",\"stdin\":[\"\",\"\"]}", id);
		boxd_say(&p, WIRE_ANSWER, 0, "%s", answer);
		output_until(&p, &out, "got \"z\"\n");
		boxd_grows(&p, "loop2");
		boxd_attach(&p);
		boxd_send(&p, WIRE_STDIN, 1, "more\n", 5);
		output_until(&p, &out, "got more\n");
		boxd_send(&p, WIRE_EOF, 1, NULL, 0);
		(void)boxd_expect(&p, WIRE_EXIT, 1);
		boxd_close(&p);
	}
}

static void test_question_late(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char id[32], answer[256];
		struct boxd_peer p;
		size_t before;
		int64_t start;
		pid_t pid;

		boxd_open(&p, both[i]);
		agent_start(&p, &pid);
		question_id(&p, id);
		start = time_boot_ms();
		before = boxd_file_size(&p, "main");
		boxd_rests(&p, "loop");
		while (time_boot_ms() < start + 6000)
			(void)usleep(50000);
		boxd_rests(&p, "main");
		/* it had gone on for a while */
		assert_true(boxd_file_size(&p, "main") > before);
		/* a thaw is not an answer: the marker stays */
		boxd_say(&p, WIRE_THAW, 0, "{\"lane\":\"drive\"}");
		(void)boxd_expect(&p, WIRE_DONE, 0);
		boxd_grows(&p, "main");
		marker_is_roots(&p, "go \"on\"?");
		/* the end of the exec is the end of its question */
		boxd_say(&p, WIRE_SIGNAL, 1, "{\"signal\":9,\"all\":true}");
		(void)boxd_expect(&p, WIRE_EXIT, 1);
		assert_int_equal(boxd_file_size(&p, "question"), 0);
		(void)snprintf(answer, sizeof(answer),
			"{\"id\":\"%s\",\"text\":\"z\",\"stdin\":[\"\",\"\"]}", id);
		refused(&p, answer, "is not open");
		boxd_close(&p);
	}
}

/* The agent may make files where the marker goes; none keeps the marker away, or is it. */
static void test_question_marker_in_the_way(void **state)
{
	static const char *const ways[] = {"mkdir -p question/x", "ln -s /etc/passwd question",
		"echo mine > question", "mkdir question.new; mkfifo question"};
	char cwd[256], id[32];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct boxd_peer p;

		boxd_open(&p, "cgroup");
		boxd_say(&p, WIRE_EXEC, 1,
			"{\"argv\":[\"/bin/sh\",\"-c\",\"%s; exec %s/build/box/asb-ask sure\"],"
			"\"cwd\":\"%s\",\"lane\":\"drive\"}",
			ways[i], cwd, p.dir);
		question_id(&p, id);
		marker_is_roots(&p, "sure");
		boxd_say(&p, WIRE_ANSWER, 0, "{\"id\":\"%s\",\"text\":\"y\"}", id);
		(void)boxd_expect(&p, WIRE_EXIT, 1);
		assert_int_equal(boxd_file_size(&p, "question"), 0);
		boxd_close(&p);
	}
}

static void test_question_without_stdin(void **state)
{
	char cwd[256], id[32], answer[256];
	struct boxd_peer p;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	boxd_open(&p, "cgroup");
	boxd_say(&p, WIRE_EXEC, 1,
		"{\"argv\":[\"/bin/sh\",\"-c\",\"%s/build/box/asb-ask hm; sleep 50\"],"
		"\"cwd\":\"/\",\"lane\":\"drive\",\"ask\":\"return\"}",
		cwd);
	question_id(&p, id);
	(void)snprintf(
		answer, sizeof(answer), "{\"id\":\"%s\",\"text\":\"z\",\"stdin\":[\"\",\"\"]}", id);
	refused(&p, answer, "no open stdin");
	marker_is_roots(&p, "hm");
	boxd_say(&p, WIRE_EXEC, 2, "{\"argv\":[\"/bin/true\"],\"ask\":\"perhaps\"}");
	assert_non_null(strstr(boxd_expect(&p, WIRE_ERROR, 2), "block or return"));
	boxd_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_question_refused),
		cmocka_unit_test(test_question_handed_over),
		cmocka_unit_test(test_question_late),
		cmocka_unit_test(test_question_marker_in_the_way),
		cmocka_unit_test(test_question_without_stdin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
