/*
 * One reader of /proc/PID/stat for all who ask something of a process: its group, its exec, whether
 * it was killed.
 */
#include "proc_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

#define SKIP5 " %*s %*s %*s %*s %*s"

/* Fields 3 to 51, as proc(5) numbers them: what follows the name in brackets. */
static const char fields[] = " %c %d %*s %d %*s %*s %u" /* 3 to 9 */
	SKIP5 SKIP5 " %d"				/* to 20 */
	SKIP5 SKIP5 " %lu"				/* to 31 */
	SKIP5 SKIP5 SKIP5 " %*s %*s %*s %*s %lu";	/* to 51 */

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
	char path[40], text[1536];
	CLEANUP(fd) int fd = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (n = read(fd, text, sizeof(text) - 1)) <= 0)
		return false;
	text[n] = '\0';
	/* the name may hold anything, a parenthesis too: the last one counts */
	at = strrchr(text, ')');
	*out = (struct proc_stat){0};
	return at && sscanf(at + 1, fields, &out->state, &out->parent, &out->session, &out->flags,
			     &out->threads, &out->signals, &out->env_end) == 7;
}

bool proc_stat_is_dead(const struct proc_stat *p)
{
	return p->state == 'X' || (p->state == 'Z' && p->threads < 2);
}
