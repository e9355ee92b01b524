/*
 * E01: frames that break the protocol's rules, from a box to its shim and from a box's uid to the
 * gate. The one who says them is ended as "protocol"; his neighbour, and whoever listens, goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"
#include "gatesite.h"
#include "pool.h"
#include "shimrig.h"
#include "wire.h"

/* A header as it is: lengths and types that no encoder of ours writes. */
static const struct hostile {
	const char *name;
	uint32_t length;
	unsigned char type, flags;
	uint16_t zero;
	uint32_t stream;
	size_t body; /* bytes that follow */
} hostiles[] = {
	{"one byte more than the most", WIRE_PAYLOAD_MAX + 1, WIRE_PONG, 0, 0, 0, 100},
	{"2^31 bytes", 0x80000000u, WIRE_PONG, 0, 0, 0, 100},
	{"2^32 - 1 bytes", 0xffffffffu, WIRE_PONG, 0, 0, 0, 100},
	{"no type", 0, 0, 0, 0, 0, 0},
	{"a type behind the last", 0, WIRE_TYPE__COUNT, 0, 0, 0, 0},
	{"the last type there could be", 0, 255, 0, 0, 0, 0},
	{"flags", 0, WIRE_PONG, 1, 0, 0, 0},
	{"what must be 0", 0, WIRE_PONG, 0, 7, 0, 0},
	{"output of a stream of nobody", 8, WIRE_STDOUT, 0, 0, 4242, 8},
	{"output without its offset", 3, WIRE_STDOUT, 0, 0, 3, 3},
	{"what only a runner says", 0, WIRE_BYE, 0, 0, 0, 0},
};
#define HOSTILES (sizeof(hostiles) / sizeof(hostiles[0]))
/* Those that break a rule of the stream itself, whoever says them. */
#define OF_THE_STREAM 8

static void hostile_send(int fd, const struct hostile *h)
{
	unsigned char head[WIRE_HEADER + 100] = {0};

	memcpy(head, &h->length, 4);
	head[4] = h->type;
	head[5] = h->flags;
	memcpy(head + 6, &h->zero, 2);
	memcpy(head + 8, &h->stream, 4);
	memset(head + WIRE_HEADER, 0xff, h->body);
	(void)!send(fd, head, WIRE_HEADER + h->body, MSG_NOSIGNAL);
}

static void test_box_to_shim(void **state)
{
	struct rig neighbour;
	struct wire_frame f;
	struct err err;

	(void)state;
	shimrig_ready(&neighbour);
	for (size_t i = 0; i < HOSTILES; i++) {
		struct peerlink p;
		struct rig rig;

		shimrig_ready(&rig);
		peer_hello(&rig, &p, "drive", 1, NULL);
		shimrig_exec(&rig, &p, 3);
		/* the control: frames of length 0 and of the most there may be go through */
		send_json(&rig.link, WIRE_PING, 0, "");
		want_frame(&rig.link, WIRE_PONG, 0, &f);
		assert_false(gone_within(rig.box, 1));
		hostile_send(rig.fds[0], &hostiles[i]);
		do
			if (!boxlink_next(&p.link, 10000, &f, &err))
				fail_msg("%s: %s", hostiles[i].name, err.msg);
		while (f.type != WIRE_ERROR || f.stream);
		if (!memmem(f.payload, f.length, "\"protocol\"", 10))
			fail_msg("%s: %.*s", hostiles[i].name, (int)f.length,
				(const char *)f.payload);
		if (!gone_within(rig.box, 5000))
			fail_msg("%s: the box lives", hostiles[i].name);
		assert_false(gone_within(rig.shim, 1));
		peer_end(&p);
		shimrig_stop(&rig);
		/* and another box is served */
		send_json(&neighbour.link, WIRE_PING, 0, "x");
		want_frame(&neighbour.link, WIRE_PONG, 0, &f);
	}
	shimrig_stop(&neighbour);
}

/* A header's length alone must cost nothing: half a frame is waited for, and no more. */
static void test_half_a_frame(void **state)
{
	static const unsigned char half[] = {0, 0, 1, 0, WIRE_PONG, 0, 0, 0, 0, 0, 0, 0, 'x'};
	struct wire_frame f;
	struct peerlink p;
	struct rig rig;

	(void)state;
	shimrig_ready(&rig);
	assert_int_equal(send(rig.fds[0], half, sizeof(half), MSG_NOSIGNAL), sizeof(half));
	peer_hello(&rig, &p, "drive", 1, NULL);
	/* the runner's side is not held up by it */
	send_json(&p.link, WIRE_PING, 0, "x");
	want_frame(&p.link, WIRE_PONG, 0, &f);
	peer_end(&p);
	shimrig_stop(&rig);
}

static void test_box_to_gate(void **state)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	const char *dir = gatesite_dir(pool);
	struct gate_peer p;
	struct wire_frame f;

	(void)state;
	gatesite_start(pool, dir, (const char *const[]){NULL});
	for (size_t i = 0; i < OF_THE_STREAM; i++) {
		gate_peer_open(&p, dir, GATE_UID);
		/* the control: the same connection is served before */
		gate_peer_say(&p, WIRE_PING, 0, "x");
		assert_true(gate_peer_next(&p, &f));
		assert_int_equal(f.type, WIRE_PONG);
		hostile_send(p.fd, &hostiles[i]);
		if (gate_peer_next(&p, &f))
			fail_msg("%s: answered by %s", hostiles[i].name, wire_type_name(f.type));
		gate_peer_close(&p);
	}
	gate_peer_open(&p, dir, GATE_UID);
	gate_peer_say(&p, WIRE_PING, 0, "y");
	assert_true(gate_peer_next(&p, &f));
	assert_int_equal(f.type, WIRE_PONG);
	gate_peer_close(&p);
	gatesite_stop(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_box_to_shim),
		cmocka_unit_test(test_half_a_frame),
		cmocka_unit_test(test_box_to_gate),
	};

	shimrig_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
