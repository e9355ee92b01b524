/*
 * Counting failures.
 */
#include "throttle.h"

#include <arpa/inet.h>
#include <string.h>

#include "cleanup.h"
#include "db.h"
#include "queries.h"

/* One customer has a whole /64 of IPv6: that is the unit. */
static void address_key(const char *address, char out[INET6_ADDRSTRLEN])
{
	struct in6_addr a;

	if (inet_pton(AF_INET6, address, &a) == 1) {
		memset(a.s6_addr + 8, 0, 8);
		(void)inet_ntop(AF_INET6, &a, out, INET6_ADDRSTRLEN);
	} else {
		(void)snprintf(out, INET6_ADDRSTRLEN, "%s", address);
	}
}

bool throttle_fail(struct db *db, const char *address, int64_t *retry_s, struct err *err)
{
	CLEANUP(result) struct result res = {0};
	char key[INET6_ADDRSTRLEN];

	address_key(address, key);
	if (!db_query(db, Q_THROTTLE_FAIL, ARGS(db_text(key)), &res, err))
		return err_wrap(err, "throttle");
	if (result_i64(&res, 0, 0) <= THROTTLE_FAILURES)
		return true;
	*retry_s = result_i64(&res, 0, 1);
	(void)err_set(err, ERR_LIMITED, "too many wrong tokens from your address");
	return err_advise(err, "throttled",
		"Wait until Retry-After has passed; a right token is always let in.");
}
