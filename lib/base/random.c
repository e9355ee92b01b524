/*
 * Random bytes from getrandom(2) and base32 ids.
 */
#include "random.h"

#include <sys/random.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void random_bytes(void *out, size_t n)
{
	unsigned char *p = out;

	while (n) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0) {
			/* only EINTR is possible here; anything else must not pass as random */
			perror("error getrandom");
			continue;
		}
		p += got;
		n -= (size_t)got;
	}
}

void random_id(char *out, size_t size, const char *prefix, size_t n)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t len = strlen(prefix);
	unsigned char bytes[64];

	assert(n <= sizeof(bytes) && len + n < size);
	random_bytes(bytes, n);
	memcpy(out, prefix, len);
	for (size_t i = 0; i < n; i++)
		out[len + i] = digits[bytes[i] & 31];
	out[len + n] = '\0';
}

void random_uuid(char out[UUID_SIZE])
{
	unsigned char b[16];

	random_bytes(b, sizeof(b));
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	(void)snprintf(out, UUID_SIZE,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		b[15]);
}
