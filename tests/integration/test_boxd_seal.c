/*
 * The last of the seal's proof, in a network of its own: what boxd makes of each answer of the
 * gate.
 */
#include "boxdpeer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mount.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In a network of its own without a card the kernel knows no way at once, and the gate decides: it
 * is us, and says each of these. */
static void test_probe_asks_the_gate(void **state)
{
	static const struct {
		const char *status; /* NULL: REFUSE; "": it hangs up */
		const char *gate;
		bool sealed;
	} rows[] = {{NULL, "refused: 503", true}, {"HTTP/1.1 403 Forbidden", "refused: 403", true},
		{"HTTP/1.1 503 Refused", "refused: 503", true},
		{"HTTP/1.1 200 OK", "answered: 2xx", false},
		{"HTTP/1.1 404 Not Found", "answered: 4xx", false},
		{"HTTP/1.1 502 Bad Gateway", "answered: 5xx", false}, {"", "no answer", false}};
	struct boxd_peer p;
	char want[64];

	(void)state;
	if (geteuid() || unshare(CLONE_NEWNET | CLONE_NEWNS) ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("sysfs", "/sys", "sysfs", 0, NULL))
		skip();
	boxd_open(&p, "cgroup");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t stream;

		boxd_say(&p, WIRE_PROBE, 40 + (uint32_t)i, "{}");
		do
			assert_true(boxd_next(&p));
		while (p.frame.type != WIRE_OPEN);
		assert_string_equal(boxd_text(&p), "{\"route\":\"/pkg\"}");
		stream = p.frame.stream;
		if (rows[i].status) {
			boxd_say(&p, WIRE_ACCEPT, stream, "{}");
			assert_non_null(strstr(boxd_expect(&p, WIRE_DATA, stream), WIRE_SEAL_PATH));
			if (*rows[i].status)
				boxd_say(&p, WIRE_DATA, stream, "%s\r\n\r\n", rows[i].status);
			boxd_send(&p, WIRE_EOF, stream, NULL, 0);
		} else {
			boxd_say(&p, WIRE_REFUSE, stream, "{\"reason\":\"gate_down\"}");
		}
		(void)boxd_expect(&p, WIRE_PROBE, 40 + (uint32_t)i);
		(void)snprintf(want, sizeof(want), "\"gate\":\"%s\",\"sealed\":%s", rows[i].gate,
			rows[i].sealed ? "true" : "false");
		if (!strstr(boxd_text(&p), want))
			fail_msg("row %zu: %s", i, boxd_text(&p));
	}
	boxd_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe_asks_the_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
