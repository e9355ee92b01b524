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
