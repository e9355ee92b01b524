/*
 * Addresses of hosts that others name. IPv4 by what is not public (IANA's registry of special
 * addresses), IPv6 by what is: one block, less the parts of it that are special or wrap an IPv4
 * address.
 */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <stdio.h>
#include <string.h>

#include "text.h"

#define HTTPS 443
#define ENDPOINT_SIZE (INET6_ADDRSTRLEN + sizeof("[]:65535"))

struct block {
	unsigned char prefix[4];
	int bits; /* at most 32 */
};

static const struct block not_public4[] = {
	{{0}, 8},	      /* this network */
	{{10}, 8},	      /* private */
	{{100, 64}, 10},      /* carrier's NAT */
	{{127}, 8},	      /* loopback */
	{{169, 254}, 16},     /* link-local; metadata of clouds */
	{{172, 16}, 12},      /* private */
	{{192, 0, 0}, 24},    /* protocol assignments */
	{{192, 0, 2}, 24},    /* documentation */
	{{192, 88, 99}, 24},  /* 6to4 relays */
	{{192, 168}, 16},     /* private */
	{{198, 18}, 15},      /* benchmarks */
	{{198, 51, 100}, 24}, /* documentation */
	{{203, 0, 113}, 24},  /* documentation */
	{{224}, 4},	      /* multicast */
	{{240}, 4},	      /* reserved, and broadcast */
};
static const struct block public6 = {{0x20}, 3};
static const struct block not_public6[] = {
	{{0x20, 0x01, 0x00}, 23},	/* protocol assignments, Teredo */
	{{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
	{{0x20, 0x02}, 16},		/* 6to4 */
	{{0x3f, 0xff}, 20},		/* documentation */
};

static bool is_in(const unsigned char *address, const struct block *b)
{
	uint32_t a = 0, p = 0;

	for (int i = 0; i < 4; i++) {
		a = a << 8 | address[i];
		p = p << 8 | b->prefix[i];
	}
	return (a ^ p) >> (32 - b->bits) == 0;
}

static bool is_in_any(const unsigned char *address, const struct block *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_in(address, &list[i]))
			return true;
	return false;
}

bool address_is_public(const struct sockaddr *a)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		return !is_in_any((const unsigned char *)&v4.sin_addr, not_public4,
			sizeof(not_public4) / sizeof(not_public4[0]));
	}
	if (a->sa_family != AF_INET6)
		return false;
	memcpy(&v6, a, sizeof(v6));
	return is_in(v6.sin6_addr.s6_addr, &public6) &&
	       !is_in_any(v6.sin6_addr.s6_addr, not_public6,
		       sizeof(not_public6) / sizeof(not_public6[0]));
}

/* "127.0.0.1:8443", "[::1]:8443"; "" of another family. */
static void endpoint_text(const struct sockaddr *a, char out[ENDPOINT_SIZE], int *port)
{
	char host[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	*out = '\0';
	*port = 0;
	if (a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		*port = ntohs(v4.sin_port);
		if (inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host)))
			(void)snprintf(out, ENDPOINT_SIZE, "%s:%d", host, *port);
	} else if (a->sa_family == AF_INET6) {
		memcpy(&v6, a, sizeof(v6));
		*port = ntohs(v6.sin6_port);
		if (inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host)))
			(void)snprintf(out, ENDPOINT_SIZE, "[%s]:%d", host, *port);
	}
}

/* The next word of a list, or false. */
static bool word_next(const char **at, size_t *n)
{
	*at += *n;
	*at += strspn(*at, " \t,");
	*n = strcspn(*at, " \t,");
	return *n > 0;
}

bool address_may_be_named(const struct sockaddr *a, const char *allow)
{
	char text[ENDPOINT_SIZE];
	size_t n = 0;
	int port;

	endpoint_text(a, text, &port);
	if (address_is_public(a) && port == HTTPS)
		return true;
	while (word_next(&allow, &n))
		if (strlen(text) == n && !memcmp(allow, text, n))
			return true;
	return false;
}

/* Reads host and port of a word and writes them again: what differs is never found. */
static bool is_endpoint(const char *word, size_t n)
{
	char text[ENDPOINT_SIZE], again[ENDPOINT_SIZE], *colon, *host = text;
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	int64_t port;
	int ignored;

	if (n >= sizeof(text))
		return false;
	memcpy(text, word, n);
	text[n] = '\0';
	colon = strrchr(text, ':');
	if (!colon || !text_to_i64(colon + 1, 1, 65535, &port))
		return false;
	*colon = '\0';
	v4.sin_port = v6.sin6_port = htons((uint16_t)port);
	if (*host == '[' && colon[-1] == ']') {
		host++;
		colon[-1] = '\0';
		if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
			return false;
		endpoint_text((const struct sockaddr *)&v6, again, &ignored);
	} else {
		if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
			return false;
		endpoint_text((const struct sockaddr *)&v4, again, &ignored);
	}
	return strlen(again) == n && !memcmp(again, word, n);
}

bool address_list_check(const char *allow, struct err *err)
{
	size_t n = 0;

	while (word_next(&allow, &n))
		if (!is_endpoint(allow, n))
			return err_set(err, ERR_INVALID,
				"EGRESS_PRIVATE_ALLOW: %.*s is not ADDRESS:PORT, as 10.0.0.5:443 "
				"or [fd00::5]:443",
				n < 60 ? (int)n : 60, allow);
	return true;
}
