#pragma once
/*
 * boxd as the first process of a container. The engine has made mounts, names and limits, and the
 * kernel is the host's: its clock, random pool and boot id are not touched. What a VM's kernel says
 * of the machine, a container's cgroup says; each of these is 0 where that cannot be read.
 */
#include <stdint.h>
#include <sys/types.h>

int64_t container_memory_bytes(void); /* the limit */
int64_t container_memory_used(void);
int64_t container_cpus(void);	   /* of the limit, rounded up */
int64_t container_oom_kills(void); /* since the container began */
/* One descriptor for standard input and output, carried by a child of its own; exits on failure. */
int container_relay(pid_t *child);
