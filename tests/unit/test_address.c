/*
 * Where names that others chose may lead: every kind of address that is not the internet's, beside
 * ones that are; and the operator's exceptions, endpoint by endpoint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string.h>

#include "address.h"

static struct sockaddr_storage address_of(const char *text, uint16_t port)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(&a, &v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(&a, &v6, sizeof(v6));
	else
		fail_msg("%s", text);
	return a;
}

static bool may(const char *text, uint16_t port, const char *allow)
{
	struct sockaddr_storage a = address_of(text, port);

	return address_may_be_named((const struct sockaddr *)&a, allow);
}

static void test_public(void **state)
{
	static const char *const good[] = {"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
		"100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700::6810:84e5", "2001:200::1", "2a00::1", "3ffe::1"};
	static const char *const bad[] = {"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
		"100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254",
		"172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
		"192.168.0.1", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
		"::ffff:8.8.8.8", "::ffff:127.0.0.1", "::8.8.8.8", "64:ff9b::8.8.8.8",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378::1", "2001:1ff::1",
		"2001:db8::1", "2002:7f00:1::", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fec0::1", "ff02::1"};
	const struct sockaddr local = {.sa_family = AF_UNIX};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!may(good[i], 443, ""))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (may(bad[i], 443, ""))
			fail_msg("%s is let through", bad[i]);
	assert_false(address_may_be_named(&local, ""));
	/* at the port of https alone */
	assert_false(may("8.8.8.8", 80, ""));
	assert_false(may("8.8.8.8", 8443, ""));
}

static void test_exceptions(void **state)
{
	static const char list[] = "10.0.0.5:443, [fd00::5]:8443\t8.8.8.8:8443";

	(void)state;
	assert_true(may("10.0.0.5", 443, list));
	assert_true(may("fd00::5", 8443, list));
	assert_true(may("8.8.8.8", 8443, list));
	/* and nothing beside them */
	assert_false(may("10.0.0.5", 444, list));
	assert_false(may("10.0.0.5", 44, list));
	assert_false(may("10.0.0.50", 443, list));
	assert_false(may("0.0.0.5", 443, list));
	assert_false(may("fd00::5", 443, list));
	assert_false(may("::ffff:10.0.0.5", 443, list));
}

static void test_lists(void **state)
{
	static const char *const good[] = {"", " ", "10.0.0.5:443", "[::1]:1 127.0.0.1:65535"};
	static const char *const bad[] = {"10.0.0.5", "localhost:443", "10.0.0.5:0",
		"10.0.0.5:65536", "::1:443", "[::1]", "[0:0::1]:443", "010.0.0.5:443",
		"10.0.0.0/8:443", "10.0.0.5:443;", "10.0.0.5:443 x", "[10.0.0.5]:443", ":443",
		"]:443", "[fd00:1111:2222:3333:4444:5555:6666:7777:8888:9999]:443"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(address_list_check(good[i], &err));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (address_list_check(bad[i], &err))
			fail_msg("%s is taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
