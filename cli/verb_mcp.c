/*
 * asb mcp: the stdio entry for a client that starts its servers itself. All of it is bridge.h's.
 */
#include <sys/signalfd.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "bridge.h"
#include "cleanup.h"
#include "cli.h"
#include "text.h"
#include "verbs.h"

#define PATIENCE_S 20 /* a site that is being started anew takes some of it */

struct mcp_options {
	const char *patience;
};

static const struct flag flags[] = {
	FLAG(TEXT, struct mcp_options, patience, .value = "S",
		.help = "how long a site may be away before a call fails (default: 20)"),
};

/* Signals that end it come as something to read. */
static bool signals_take(int *fd, struct err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return err_errno(err, ERR_INTERNAL, "signals");
	*fd = signalfd(-1, &set, SFD_CLOEXEC);
	return *fd >= 0 || err_errno(err, ERR_INTERNAL, "signals");
}

static bool mcp(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct mcp_options *o = options;
	CLEANUP(fd) int signals = -1;
	int64_t patience_s = PATIENCE_S;
	struct bridge b;
	bool ok;

	(void)nwords;
	(void)words;
	(void)status;
	if (o->patience && !text_to_i64(o->patience, 0, 3600, &patience_s))
		return verb_misused("mcp", "--patience is a number of seconds", err);
	if (!signals_take(&signals, err))
		return false;
	bridge_init(&b, cli->pool, STDOUT_FILENO, patience_s * 1000);
	ok = bridge_run(&b, STDIN_FILENO, signals, err);
	bridge_done(&b);
	return ok;
}

const struct verb verb_mcp = {
	.name = "mcp",
	.usage = "",
	.summary = "be this site's MCP server on standard input and output, for an IDE",
	.about = "A client starts it; `asb config` prints how it is told to.",
	VERB_FLAGS(struct mcp_options, flags),
	.run = mcp,
};
