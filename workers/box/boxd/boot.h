#pragma once
/* Bringing a VM up when boxd is PID 1 of the initramfs. */
#include <stdbool.h>

#include "err.h"

/* Where the files lie that WELCOME renews: machine-id, hostname, hosts, resolv.conf, boot_id. Each
 * is mounted over what programs read. */
#define NAMES_DIR "/run/names"
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* Modules, mounts, root file system; afterwards / is the box's. */
bool boot_machine(struct err *err) NODISCARD;
/* The same in a container: the folders that a run's programs expect, and its network. */
void boot_container(void);
/* The virtio-serial port named "asb", opened; -1 with *err set. */
int boot_channel(struct err *err);
