#pragma once
/* group.c's other half: members of an exec found in /proc, where there is no cgroup2 for us. */
#include <stdbool.h>
#include <sys/types.h>

struct boxd;
struct exec;

/* 0 where the process is gone. */
pid_t proc_parent(pid_t pid);
struct exec *proc_exec_of(struct boxd *b, pid_t pid);
/* Sends signo (0: nothing) to all members that are not zombies; how many there are. A process in
 * the middle of its exec whose exec of ours cannot be told counts, and gets nothing: it is to be
 * looked at again. */
int proc_signal(struct exec *e, int signo);
/* SIGSTOP until no new member appears, or SIGCONT. */
void proc_freeze(struct exec *e, bool frozen);
