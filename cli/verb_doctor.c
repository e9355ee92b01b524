/*
 * asb doctor: runs asb-doctor, which lies beside this program, and passes its verdict on. It is a
 * program of its own because it starts boxes, which no other verb does by itself.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "child.h"
#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"
#include "verbs.h"

/* A cold boot of each runtime on a loaded machine, and with --pull an image for each. */
#define DOCTOR_MS (30 * 60 * 1000)
#define SAID_MAX (256 * 1024)

struct doctor_options {
	bool pull;
};

static const struct flag flags[] = {
	FLAG(BOOL, struct doctor_options, pull,
		.help = "put the image into the container engines' stores first"),
};

/* What it says, until it says no more. */
static bool read_said(int fd, struct buf *said, struct err *err)
{
	for (;;) {
		char *room = buf_room(said, 4096);
		ssize_t n = room ? read(fd, room, 4096) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, ERR_INTERNAL, "read from asb-doctor");
		if (n == 0)
			return true;
		buf_grew(said, (size_t)n);
	}
}

static void print_said(struct cli *cli, const char *said, int status)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *lines = json_new_array();

	for (; *said; said += strcspn(said, "\n") + (said[strcspn(said, "\n")] != '\0'))
		json_push_text(lines, pool_memdup(cli->pool, said, strcspn(said, "\n")));
	json_add_bool(o, "passed", !status);
	json_add(o, "lines", lines);
	cli_print_json(cli, o);
}

static bool doctor(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct doctor_options *o = options;
	const char *const argv[] = {"asb-doctor", o->pull ? "--pull" : NULL, NULL};
	CLEANUP(buf) struct buf said = BUF_INIT(SAID_MAX);
	CLEANUP(fd) int from = -1;
	CLEANUP(fd) int to = -1;
	struct child_fd fds[] = {{STDOUT_FILENO, STDOUT_FILENO}};
	struct child c = {.argv = argv,
		.env = (const char *const *)environ,
		.fds = fds,
		.nfds = 1,
		.die_with_parent = true};
	int ended = 0, ends[2];
	const char *self;

	(void)nwords;
	(void)words;
	if (!cli_self(cli->pool, &self, err))
		return false;
	if (cli->json) {
		if (pipe2(ends, O_CLOEXEC))
			return err_errno(err, ERR_INTERNAL, "doctor");
		from = ends[0];
		to = fds[0].from = ends[1];
	}
	c.path = pool_printf(cli->pool, "%s-doctor", self);
	if (!child_start(&c, err))
		return err_wrap(err, "doctor");
	cleanup_fd(&to);
	to = -1;
	if ((cli->json && !read_said(from, &said, err)) || !child_wait(&c, DOCTOR_MS, &ended, err))
		return err_wrap(err, "doctor");
	*status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
	if (cli->json)
		print_said(cli, said.data, *status);
	return true;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.usage = "",
	.summary = "try each runtime of this host with a real box, and say which one auto is",
	.about = "Reads the settings like every program. As root it tries containers too, and "
		 "writes\n"
		 "down what BOX_RUNTIME=auto means.",
	VERB_FLAGS(struct doctor_options, flags),
	.run = doctor,
};
