/*
 * Where a proxied request wants to go: the three forms, and what is no form at all.
 */
#include "egress_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_rows(void **state)
{
	static const struct {
		const char *head;
		enum egress_head is;
		enum egress_kind kind;
		const char *name;
		int port;
	} rows[] = {
		{"GET /git/a/b.git/info/refs?x=1 HTTP/1.1\r\n\r\n", EGRESS_WHOLE, EGRESS_ROUTE,
			"/git", 0},
		{"POST /model?x HTTP/1.1\r\nA: b\r\n\r\nbody", EGRESS_WHOLE, EGRESS_ROUTE, "/model",
			0},
		{"CONNECT Example.COM:443 HTTP/1.1\r\n\r\n", EGRESS_WHOLE, EGRESS_CONNECT,
			"example.com", 443},
		{"CONNECT [2001:DB8::1]:8443 HTTP/1.0\r\n\r\n", EGRESS_WHOLE, EGRESS_CONNECT,
			"2001:db8::1", 8443},
		{"GET http://h/x HTTP/1.1\r\n\r\n", EGRESS_WHOLE, EGRESS_HTTP, "h", 80},
		{"GET HTTP://h:8080?q HTTP/1.1\r\n\r\n", EGRESS_WHOLE, EGRESS_HTTP, "h", 8080},
		{"", EGRESS_MORE, 0, NULL, 0},
		{"GET / HTTP/1.1\r\nHost: x\r\n", EGRESS_MORE, 0, NULL, 0},
		{"GET / HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"GET /UP..per/ HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"GET https://h/ HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"GET http:// HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"GET http://u@h/ HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT h HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT h: HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT h:0 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT h:65536 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT h:12345678 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT [::1:443 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT [::1]443 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT h\x01:443 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"CONNECT :443 HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"GET /git SPDY/3.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{"GET\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
		{" / HTTP/1.1\r\n\r\n", EGRESS_BAD, 0, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct egress_target t = {0};
		const char *wrong;
		enum egress_head is =
			egress_head_read(rows[i].head, strlen(rows[i].head), &t, &wrong);

		if (is != rows[i].is)
			fail_msg("row %zu: %d", i, (int)is);
		if (is != EGRESS_WHOLE)
			continue;
		assert_int_equal(t.kind, rows[i].kind);
		assert_string_equal(t.name, rows[i].name);
		assert_int_equal(t.port, rows[i].port);
		assert_int_equal(t.head_bytes, strstr(rows[i].head, "\r\n\r\n") + 4 - rows[i].head);
	}
}

static void test_long_head(void **state)
{
	static char text[EGRESS_HEAD_MAX + 2];
	struct egress_target t;
	const char *wrong;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(egress_head_read(text, EGRESS_HEAD_MAX, &t, &wrong), EGRESS_MORE);
	assert_int_equal(egress_head_read(text, EGRESS_HEAD_MAX + 1, &t, &wrong), EGRESS_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_long_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
