/*
 * E02: too much of everything, and JSON that is none, from a box to the gate: bounded errors, and
 * the next honest request is answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "gatesite.h"
#include "pool.h"
#include "wire.h"

static struct pool *pool;
static const char *dir;

static int setup(void **state)
{
	(void)state;
	pool = pool_new();
	dir = gatesite_dir(pool);
	gatesite_start(pool, dir, (const char *const[]){NULL});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gatesite_stop(dir);
	pool_free(pool);
	return 0;
}

/* What OPEN with this payload comes to: the frame's type. */
static int opened(
	struct gate_peer *p, uint32_t stream, const void *payload, size_t n, const char **text)
{
	struct wire_frame f;

	gate_peer_send(p, WIRE_OPEN, stream, payload, n);
	do
		if (!gate_peer_next(p, &f))
			return 0;
	while (f.stream != stream);
	*text = pool_memdup(pool, f.payload, f.length);
	return f.type;
}

static void test_json(void **state)
{
	static const char deep_open[] =
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
		"]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";
	static const struct {
		const char *name, *text;
		size_t n;
	} wrongs[] = {
#define WRONG(name, text) {name, text, sizeof(text) - 1}
		WRONG("nothing", ""),
		WRONG("never finished", "{\"route\":\"/git"),
		WRONG("65 deep", deep_open),
		WRONG("bytes that are no UTF-8", "{\"route\":\"/\xff\xfe\"}"),
		WRONG("an overlong form", "{\"route\":\"/\xc0\xaf\"}"),
		WRONG("a NUL, escaped", "{\"route\":\"/\\u0000\"}"),
		WRONG("a NUL", "{\"route\":\"/\0\"}"),
		WRONG("half a pair", "{\"route\":\"/\\ud800\"}"),
		WRONG("a member twice", "{\"route\":\"/a\",\"route\":\"/b\"}"),
		WRONG("a number that is too large",
			"{\"route\":\"/\",\"port\":99999999999999999999}"),
		WRONG("more behind it", "{\"route\":\"/\"} {}"),
		WRONG("single quotes", "{'route':'/'}"),
	};
	struct gate_peer p;
	const char *text;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		if (opened(&p, GATE_STREAM(2 * (uint32_t)i), wrongs[i].text, wrongs[i].n, &text) !=
			WIRE_REFUSE)
			fail_msg("%s: not refused: %s", wrongs[i].name, text);
		if (strlen(text) > 1024)
			fail_msg("%s: %zu bytes of error", wrongs[i].name, strlen(text));
		/* the control, on the same connection: what is right is served */
		assert_int_equal(opened(&p, GATE_STREAM(2 * (uint32_t)i + 1), "{\"route\":\"/\"}",
					 13, &text),
			WIRE_ACCEPT);
		gate_peer_say(&p, WIRE_REFUSE, GATE_STREAM(2 * (uint32_t)i + 1), "{}");
	}
	gate_peer_close(&p);
}

/* A string as long as a frame may be; and a frame that claims more than there may be ends it. */
static void test_long(void **state)
{
	char *text = pool_alloc(pool, WIRE_PAYLOAD_MAX);
	const char *said = "";
	struct gate_peer p;

	(void)state;
	memset(text, 'x', WIRE_PAYLOAD_MAX);
	memcpy(text, "{\"host\":\"", 9);
	memcpy(text + WIRE_PAYLOAD_MAX - 2, "\"}", 2);
	gate_peer_open(&p, dir, GATE_UID);
	assert_int_equal(opened(&p, GATE_STREAM(1), text, WIRE_PAYLOAD_MAX, &said), WIRE_REFUSE);
	assert_true(strlen(said) < 1024);
	assert_int_equal(opened(&p, GATE_STREAM(2), "{\"route\":\"/\"}", 13, &said), WIRE_ACCEPT);
	gate_peer_close(&p);
}

/* 100,000 streams at once: some are served, the rest is refused, and nothing grows without bound.
 */
static void test_streams(void **state)
{
	int accepted = 0, refused = 0;
	struct gate_peer p, honest;
	struct wire_frame f;
	const char *text;

	(void)state;
	gate_peer_open(&p, dir, GATE_UID);
	for (uint32_t i = 0; i < 100000; i++) {
		gate_peer_say(&p, WIRE_OPEN, GATE_STREAM(i), "{\"route\":\"/\"}");
		if (!gate_peer_next(&p, &f))
			break;
		accepted += f.type == WIRE_ACCEPT;
		refused += f.type == WIRE_REFUSE;
	}
	assert_true(accepted >= 1 && accepted <= 64);
	assert_true(refused > 1000);
	assert_int_equal(accepted + refused, 100000);
	gate_peer_close(&p);
	/* the control: the box comes back and is served */
	gate_peer_open(&honest, dir, GATE_UID);
	assert_int_equal(
		opened(&honest, GATE_STREAM(1), "{\"route\":\"/\"}", 13, &text), WIRE_ACCEPT);
	gate_peer_close(&honest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
