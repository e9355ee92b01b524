#pragma once
/* What the kernel says of a process in /proc/PID/stat. */
#include <stdbool.h>
#include <sys/types.h>

struct proc_stat {
	char state; /* of its first thread, which others may outlive */
	pid_t parent, session;
	unsigned flags; /* PROC_ bits among others */
	int threads;
	unsigned long signals; /* that its first thread is still to take, 1 << (number - 1) */
	unsigned long env_end; /* 0: its environment is not there yet, or no more */
};

/* The kernel's PF_EXITING and PF_FORKNOEXEC. */
#define PROC_EXITING 0x4u
#define PROC_NO_EXEC 0x40u /* it was forked, and has not become a program of its own */

/* Also of one that has ended and was not waited for; false: it is not there, or cannot be read. */
bool proc_stat_read(pid_t pid, struct proc_stat *out);
/* It is gone but for being waited for. */
bool proc_stat_is_dead(const struct proc_stat *p);
