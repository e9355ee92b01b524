#pragma once
/* What tells this machine, and this boot of it, from others. */
#include "err.h"

#define HOST_NAME_SIZE 65
#define HOST_BOOT_ID_SIZE 37

void host_name(char out[HOST_NAME_SIZE]);
/* /proc/sys/kernel/random/boot_id; in test builds ASB_BOOT_ID says another, to play a reboot. */
bool host_boot_id(char out[HOST_BOOT_ID_SIZE], struct err *err) NODISCARD;
