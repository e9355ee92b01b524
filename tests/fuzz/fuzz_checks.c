/*
 * Any output of a test runner in any pieces. Besides what the sanitizers see: what comes out is
 * the same however it was cut, and it is bounded.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *checks_in(struct pool *pool, const uint8_t *data, size_t n, size_t step)
{
	struct checks *c = checks_new();
	const char *json;

	for (size_t at = 0; at < n; at += step)
		checks_feed(c, data + at, n - at < step ? n - at : step);
	json = checks_json(c, pool);
	checks_free(c);
	return json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct pool *pool = pool_new();
	const char *whole = checks_in(pool, data, n, n + 1);
	const char *cut = checks_in(pool, data, n, n ? 1 + data[0] % 64 : 1);

	if (!whole != !cut || (whole && strcmp(whole, cut) != 0))
		abort();
	/* each byte of a text may be written as six */
	if (whole && strlen(whole) > (CHECKS_NAME_MAX + CHECKS_MESSAGE_MAX + 100) * 6 *
					     (CHECKS_FAILURES_MAX + 1))
		abort();
	pool_free(pool);
	return 0;
}
