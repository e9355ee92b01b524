/*
 * The host's name and boot id, as rows carry them.
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

void host_name(char out[HOST_NAME_SIZE])
{
	if (gethostname(out, HOST_NAME_SIZE - 1) || !out[0])
		(void)snprintf(out, HOST_NAME_SIZE, "localhost");
	out[HOST_NAME_SIZE - 1] = '\0';
}

bool host_boot_id(char out[HOST_BOOT_ID_SIZE], struct err *err)
{
#ifdef ASB_TEST
	const char *played = getenv("ASB_BOOT_ID");

	if (played && played[0]) {
		(void)snprintf(out, HOST_BOOT_ID_SIZE, "%s", played);
		return true;
	}
#endif
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(out, HOST_BOOT_ID_SIZE, f))
		return err_errno(err, ERR_INTERNAL, "boot id of the host");
	out[strcspn(out, "\n")] = '\0';
	return true;
}
