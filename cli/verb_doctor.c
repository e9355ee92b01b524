/*
 * asb doctor: runs asb-doctor, which lies beside this program, and passes its verdict on. It is a
 * program of its own because it starts boxes, which no other verb does by itself.
 */
#include <sys/wait.h>

#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cli.h"
#include "pool.h"
#include "verbs.h"

/* A cold boot of each runtime on a loaded machine, and with --pull an image for each. */
#define DOCTOR_MS (30 * 60 * 1000)

bool verb_doctor(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	const char *const words[] = {"asb-doctor", argc > 1 ? argv[1] : NULL, NULL};
	const struct child_fd fds[] = {{STDOUT_FILENO, STDOUT_FILENO}};
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct child c = {.argv = words,
		.env = (const char *const *)environ,
		.fds = fds,
		.nfds = 1,
		.die_with_parent = true};
	int ended = 0;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--pull")))
		return verb_misused(argv[0], "it takes --pull and nothing else", err);
	if (n <= 0)
		return err_errno(err, ERR_INTERNAL, "find our own program");
	self[n] = '\0';
	c.path = pool_printf(cli->pool, "%s-doctor", self);
	if (!child_start(&c, err) || !child_wait(&c, DOCTOR_MS, &ended, err))
		return err_wrap(err, "doctor");
	*status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
	return true;
}
