/*
 * asb-shim with a box that the test plays: lanes and epochs, the spool, replay, credit, requests,
 * questions and the gate. How boxes end is test_shim_end.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "cleanup.h"
#include "json.h"
#include "shimrig.h"
#include "text.h"

#define SPOOL_MAX (4u * 1024 * 1024)

static void test_hello(void **state)
{
	CLEANUP(json) struct json_object *hello = NULL;
	struct json_object *exec;
	struct peerlink p, q;
	const char *text;
	struct rig rig;
	int64_t n;
	bool is;

	(void)state;
	shimrig_start(&rig, NULL);
	/* attached before the box is ready: answered when it is */
	peer_connect(&rig, &p);
	peer_attach(&p, "drive", 1);
	want_silence(&p.link, 100);
	shimrig_greet(&rig, 0);
	want_frame(&p.link, WIRE_HELLO, 0, &(struct wire_frame){0});
	shimrig_exec(&rig, &p, 7);
	peer_hello(&rig, &q, "exec:5", 2, &hello);
	assert_true(json_get_text(hello, "boot_id", &text));
	assert_string_equal(text, "fresh");
	assert_true(json_get_bool(hello, "ready", &is) && is);
	assert_true(json_get_i64(json_get(hello, "machine"), "cpus", &n) && n == 1);
	exec = json_at(json_get(hello, "execs"), 0);
	assert_true(json_get_i64(exec, "stream", &n) && n == 7);
	assert_true(json_get_text(exec, "lane", &text) && !strcmp(text, "drive"));
	peer_end(&p);
	peer_end(&q);
	shimrig_stop(&rig);
}

static void test_epochs(void **state)
{
	struct peerlink old, new, other, admin, late;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &old, "drive", 5, NULL);
	/* lower is refused, another lane may be lower, higher takes over */
	peer_connect(&rig, &late);
	peer_attach(&late, "drive", 4);
	want_error(&late, "stale_epoch");
	peer_end(&late);
	peer_hello(&rig, &other, "ask", 3, NULL);
	peer_hello(&rig, &new, "drive", 6, NULL);
	want_error(&old, "stale_epoch");
	/* what the fenced one still says goes nowhere, what the new one says does */
	send_json(&old.link, WIRE_EXEC, 1, "{}");
	shimrig_exec(&rig, &new, 2);
	want_silence(&rig.link, 100);
	peer_hello(&rig, &admin, "admin", 8, NULL);
	want_error(&new, "stale_epoch");
	want_error(&other, "stale_epoch");
	peer_connect(&rig, &late);
	peer_attach(&late, "drive", 7);
	want_error(&late, "stale_epoch");
	peer_end(&late);
	peer_hello(&rig, &late, "drive", 9, NULL);
	peer_end(&late);
	peer_end(&old);
	peer_end(&new);
	peer_end(&other);
	peer_end(&admin);
	shimrig_stop(&rig);
}

static void test_attach_is_checked(void **state)
{
	static const char *const bad[] = {"{\"lane\":\"root\",\"epoch\":1}", "{\"lane\":\"drive\"}",
		"{\"lane\":\"exec:x\",\"epoch\":1}", "{\"lane\":\"drive\",\"epoch\":-1}", "[]",
		"x"};
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		peer_connect(&rig, &p);
		send_json(&p.link, WIRE_ATTACH, 0, bad[i]);
		want_error(&p, "protocol");
		peer_end(&p);
	}
	peer_connect(&rig, &p);
	send_json(&p.link, WIRE_EXEC, 1, "{}");
	want_error(&p, "protocol");
	peer_end(&p);
	peer_hello(&rig, &p, "exec:12", 1, NULL);
	/* BYE is the admin's */
	send_json(&p.link, WIRE_BYE, 0, "{}");
	want_error(&p, "protocol");
	peer_end(&p);
	shimrig_stop(&rig);
}

/* The byte at an offset of the endless output that these tests send. */
static unsigned char byte_at(uint64_t offset)
{
	return (unsigned char)((offset * 2654435761u) >> 13);
}

struct source {
	struct rig *rig;
	uint32_t stream;
	uint64_t sent, credit;
};

/* Takes credit, or a PONG. false: nothing came. */
static bool source_hear(struct source *s, int timeout_ms, bool *pong)
{
	struct wire_frame f;
	struct err err;

	if (!boxlink_next(&s->rig->link, timeout_ms, &f, &err))
		return false;
	*pong = f.type == WIRE_PONG;
	if (*pong)
		return true;
	assert_int_equal(f.type, WIRE_CREDIT);
	assert_int_equal(f.stream, s->stream);
	assert_true(wire_u64(&f, &s->credit) && s->credit <= s->sent);
	return true;
}

/* What was sent before a PING has been taken by its PONG, and its credit given by the next one. */
static void source_ping(struct source *s)
{
	bool pong = false;

	send_json(&s->rig->link, WIRE_PING, 0, "x");
	do
		assert_true(source_hear(s, 20000, &pong));
	while (!pong);
}

/* Sends as much of n as the shim's credit allows; true: all. */
static bool source_send(struct source *s, size_t n)
{
	unsigned char data[32768];
	bool pong = false;

	while (source_hear(s, 1, &pong))
		assert_false(pong);
	for (size_t part; n; n -= part) {
		part = n < sizeof(data) ? n : sizeof(data);
		if (s->sent + part > s->credit + WIRE_WINDOW)
			return false;
		for (size_t i = 0; i < part; i++)
			data[i] = byte_at(s->sent + i);
		send_output(&s->rig->link, s->stream, s->sent, data, part);
		s->sent += part;
	}
	return true;
}

/* Takes one frame of output, which must go on at *at. false: nothing came. */
static bool sink_take(struct peerlink *p, uint64_t *at, int timeout_ms)
{
	struct wire_frame f;
	uint64_t offset;
	struct err err;

	if (!boxlink_next(&p->link, timeout_ms, &f, &err))
		return false;
	if (f.type == WIRE_STARTED)
		return true;
	assert_int_equal(f.type, WIRE_STDOUT);
	assert_true(wire_u64(&f, &offset));
	assert_int_equal(offset, *at);
	for (size_t i = WIRE_OFFSET; i < f.length; i++)
		if (f.payload[i] != byte_at((*at)++))
			fail_msg("byte %llu is another", (unsigned long long)*at - 1);
	return true;
}

static void test_replay(void **state)
{
	struct source src = {.stream = 3};
	uint64_t acked = 0, at = 0;
	struct peerlink p;
	struct rig rig;
	unsigned seed = 20261129;

	(void)state;
	shimrig_ready(&rig);
	src.rig = &rig;
	peer_hello(&rig, &p, "drive", 1, NULL);
	shimrig_exec(&rig, &p, 3);
	for (int i = 0; i < 200; i++) {
		CLEANUP(json) struct json_object *hello = NULL;
		int64_t from;

		(void)source_send(&src, 1 + (size_t)rand_r(&seed) % 40000);
		for (int n = rand_r(&seed) % 4; n > 0 && at < src.sent; n--)
			(void)sink_take(&p, &at, 1000);
		if (at > acked && rand_r(&seed) % 3)
			acked += (uint64_t)rand_r(&seed) % (at - acked) + 1;
		send_credit(&p.link, 3, acked);
		if (rand_r(&seed) % 2)
			continue;
		peer_end(&p);
		peer_hello(&rig, &p, "drive", i + 2, &hello);
		assert_true(json_get_i64(json_at(json_get(hello, "execs"), 0), "from", &from));
		assert_int_equal(from, acked);
		at = acked;
	}
	while (at < src.sent)
		assert_true(sink_take(&p, &at, 5000));
	want_silence(&p.link, 50);
	assert_true(src.sent > 1000000);
	peer_end(&p);
	shimrig_stop(&rig);
}

static void test_exit_is_kept(void **state)
{
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	shimrig_exec(&rig, &p, 3);
	send_output(&rig.link, 3, 0, "hello", 5);
	send_json(&rig.link, WIRE_EXIT, 3, "{\"code\":0}");
	want_frame(&p.link, WIRE_STDOUT, 3, &f);
	want_frame(&p.link, WIRE_EXIT, 3, &f);
	send_credit(&p.link, 3, 5);
	peer_end(&p);
	/* everything but the exit was acknowledged */
	peer_hello(&rig, &p, "drive", 2, NULL);
	want_frame(&p.link, WIRE_EXIT, 3, &f);
	send_json(&p.link, WIRE_ACK_EXIT, 3, "{}");
	want_frame(&rig.link, WIRE_ACK_EXIT, 3, &f);
	/* input that it was sent before that, and that nobody read, is allowed again */
	send_credit(&rig.link, 3, WIRE_WINDOW + 1);
	peer_end(&p);
	peer_hello(&rig, &p, "drive", 3, NULL);
	want_silence(&p.link, 50);
	/* the box is not asked twice, nor told of what was never given */
	shimrig_exec(&rig, &p, 4);
	send_credit(&p.link, 4, 1);
	want_error(&p, "protocol");
	peer_end(&p);
	shimrig_stop(&rig);
}

/* A signal that comes when the last process has ended, and its output not: no end of the exec. */
static void test_late_signal(void **state)
{
	static const char error[] = "{\"code\":\"not_found\",\"message\":\"no process is left\"}";
	static const char kill_all[] = "{\"signal\":9,\"all\":true}";
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	shimrig_exec(&rig, &p, 3);
	send_json(&p.link, WIRE_SIGNAL, 3, kill_all);
	want_frame(&rig.link, WIRE_SIGNAL, 3, &f);
	send_json(&rig.link, WIRE_ERROR, 3, error);
	send_output(&rig.link, 3, 0, "last", 4);
	send_json(&rig.link, WIRE_EXIT, 3, "{\"code\":0}");
	want_frame(&p.link, WIRE_STDOUT, 3, &f);
	want_frame(&p.link, WIRE_EXIT, 3, &f);
	/* of an exec that did not start it is the end */
	send_json(&p.link, WIRE_EXEC, 4, "{}");
	want_frame(&rig.link, WIRE_EXEC, 4, &f);
	send_json(&rig.link, WIRE_ERROR, 4, error);
	want_frame(&p.link, WIRE_ERROR, 4, &f);
	peer_end(&p);
	shimrig_stop(&rig);
}

static void test_spool_holds_back(void **state)
{
	struct source src = {.stream = 3};
	struct peerlink p, q;
	struct wire_frame f;
	uint64_t at = 0, full;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	src.rig = &rig;
	peer_hello(&rig, &p, "drive", 1, NULL);
	shimrig_exec(&rig, &p, 3);
	peer_end(&p);
	/* nobody reads: the box is stopped by its credit, at the cap and a window or two */
	for (int idle = 0; idle < 3;) {
		idle = source_send(&src, 32768) ? 0 : idle + 1;
		if (idle)
			source_ping(&src);
	}
	full = src.sent;
	assert_true(full >= SPOOL_MAX && full <= SPOOL_MAX + 3 * WIRE_WINDOW);
	/* another lane is not stopped by that, and a runner that reads gets all of it */
	peer_hello(&rig, &q, "exec:1", 2, NULL);
	send_json(&q.link, WIRE_EXEC, 9, "{}");
	want_frame(&rig.link, WIRE_EXEC, 9, &f);
	send_output(&rig.link, 9, 0, "quick", 5);
	want_frame(&q.link, WIRE_STDOUT, 9, &f);
	peer_hello(&rig, &p, "drive", 3, NULL);
	while (at < full + 2 * 1024 * 1024) {
		while (at < src.sent)
			assert_true(sink_take(&p, &at, 5000));
		send_credit(&p.link, 3, at);
		(void)source_send(&src, 65536);
	}
	peer_end(&p);
	peer_end(&q);
	shimrig_stop(&rig);
}

static void test_requests(void **state)
{
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;
	uint64_t v;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	send_json(&p.link, WIRE_TAR_OUT, 5, "{\"path\":\"/x\"}");
	want_frame(&rig.link, WIRE_TAR_OUT, 5, &f);
	send_json(&p.link, WIRE_STAT, 5, "{}");
	want_frame(&p.link, WIRE_ERROR, 5, &f); /* the stream is in use */
	send_credit(&p.link, 5, 1000);
	want_frame(&rig.link, WIRE_CREDIT, 5, &f);
	send_json(&rig.link, WIRE_DATA, 5, "tar");
	want_frame(&p.link, WIRE_DATA, 5, &f);
	/* the runner goes: the box is let run to its end, and nobody hears of it again */
	peer_end(&p);
	want_frame(&rig.link, WIRE_CREDIT, 5, &f);
	assert_true(wire_u64(&f, &v) && v == INT64_MAX);
	send_json(&rig.link, WIRE_DATA, 5, "more");
	send_json(&rig.link, WIRE_DONE, 5, "{}");
	peer_hello(&rig, &p, "drive", 2, NULL);
	send_json(&p.link, WIRE_STAT, 5, "{}");
	want_frame(&rig.link, WIRE_STAT, 5, &f);
	send_json(&rig.link, WIRE_DONE, 5, "{\"kind\":\"file\"}");
	want_frame(&p.link, WIRE_DONE, 5, &f);
	/* on stream 0 answers come in order */
	send_json(&p.link, WIRE_FREEZE, 0, "{}");
	send_json(&p.link, WIRE_METRICS, 0, "{}");
	want_frame(&rig.link, WIRE_FREEZE, 0, &f);
	want_frame(&rig.link, WIRE_METRICS, 0, &f);
	send_json(&rig.link, WIRE_METRICS, 0, "{}");
	send_json(&rig.link, WIRE_DONE, 0, "{\"frozen\":\"drive\"}");
	want_frame(&p.link, WIRE_METRICS, 0, &f);
	want_frame(&p.link, WIRE_DONE, 0, &f);
	peer_end(&p);
	shimrig_stop(&rig);
}

static void test_question(void **state)
{
	CLEANUP(json) struct json_object *asked = NULL;
	CLEANUP(json) struct json_object *free_ = NULL;
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;
	const char *id;

	(void)state;
	shimrig_ready(&rig);
	peer_hello(&rig, &p, "drive", 1, NULL);
	shimrig_exec(&rig, &p, 3);
	send_json(&rig.link, WIRE_QUESTION, 0, "{\"id\":\"q-1\",\"stream\":3,\"text\":\"why?\"}");
	want_frame(&p.link, WIRE_QUESTION, 0, &f);
	peer_end(&p);
	peer_hello(&rig, &p, "drive", 2, &asked);
	assert_true(json_get_text(json_get(asked, "question"), "id", &id) && !strcmp(id, "q-1"));
	want_frame(&p.link, WIRE_STARTED, 3, &f);
	send_json(&p.link, WIRE_ANSWER, 0, "{\"id\":\"q-1\",\"text\":\"so\"}");
	want_frame(&rig.link, WIRE_ANSWER, 0, &f);
	send_json(&rig.link, WIRE_DONE, 0, "{\"answered\":\"q-1\"}");
	want_frame(&p.link, WIRE_DONE, 0, &f);
	peer_end(&p);
	peer_hello(&rig, &p, "drive", 3, &free_);
	assert_null(json_get(free_, "question"));
	peer_end(&p);
	shimrig_stop(&rig);
}

static void test_gate(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	uint32_t id = WIRE_STREAM_EGRESS + 1;
	struct boxlink gate;
	struct wire_frame f;
	struct rig rig;
	int listener, fd;

	(void)state;
	shimrig_ready(&rig);
	/* no gate: refused at once */
	send_json(&rig.link, WIRE_OPEN, id, "{\"host\":\"example.org\",\"port\":443}");
	want_frame(&rig.link, WIRE_REFUSE, id, &f);
	assert_non_null(memmem(f.payload, f.length, "gate_down", 9));
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/gate.sock", rig.dir);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 4), 0);
	fd = accept(listener, NULL, NULL);
	boxlink_init(&gate, fd, -1);
	want_frame(&gate, WIRE_ATTACH, 0, &f);
	assert_non_null(memmem(f.payload, f.length, "box-rig", 7));
	/* with one: carried both ways until an end */
	send_json(&rig.link, WIRE_OPEN, ++id, "{\"route\":\"/git\"}");
	want_frame(&gate, WIRE_OPEN, id, &f);
	send_json(&gate, WIRE_ACCEPT, id, "{}");
	want_frame(&rig.link, WIRE_ACCEPT, id, &f);
	send_credit(&gate, id, 65536);
	want_frame(&rig.link, WIRE_CREDIT, id, &f);
	send_json(&rig.link, WIRE_DATA, id, "GET /");
	want_frame(&gate, WIRE_DATA, id, &f);
	/* a stream that nobody opened is dropped, not passed on */
	send_json(&rig.link, WIRE_DATA, id + 5, "x");
	send_json(&gate, WIRE_DATA, id + 6, "x");
	send_json(&gate, WIRE_DATA, id, "200");
	want_frame(&rig.link, WIRE_DATA, id, &f);
	want_silence(&gate, 50);
	boxlink_done(&gate);
	(void)close(fd);
	want_frame(&rig.link, WIRE_REFUSE, id, &f);
	/* and it comes back */
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	(void)close(fd);
	(void)close(listener);
	shimrig_stop(&rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_attach_is_checked),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_exit_is_kept),
		cmocka_unit_test(test_late_signal),
		cmocka_unit_test(test_spool_holds_back),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_gate),
	};

	shimrig_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
