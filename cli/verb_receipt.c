/*
 * asb receipt: the signed record of what was run, as it is kept and passed on. It is printed as the
 * site gave it, for `asb verify`.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "verbs.h"

#define SIGNED_WITHIN_S 15 /* of the end: the gate signs a moment later */

static bool receipt(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct timespec pause = {.tv_sec = 1};
	CLEANUP(buf) struct buf text = BUF_INIT(HTTP_REPLY_MAX);
	const bool is_exec = strncmp(words[0], "run-", 4) != 0;
	const char *path =
		cli_query(cli->pool, "/receipt.json", is_exec ? "exec" : "session", words[0]);

	(void)options;
	(void)status;
	if (nwords > 1 && is_exec)
		return verb_misused("receipt", "a turn is of a session", err);
	if (nwords > 1)
		path = pool_printf(
			cli->pool, "%s&%s", path, cli_query(cli->pool, "", "turn", words[1]) + 1);
	if (!cli_connect(cli, err))
		return false;
	for (int i = 0; !http_get(cli->http, path, &text, err); i++) {
		if (strcmp(err->reason, "not_signed") != 0 || i == SIGNED_WITHIN_S)
			return false;
		buf_reset(&text);
		(void)nanosleep(&pause, NULL);
	}
	(void)printf("%s\n", text.data);
	return true;
}

const struct verb verb_receipt = {
	.name = "receipt",
	.usage = "PROCESS|SESSION [TURN]",
	.summary = "the signed record of a process or a turn, for asb verify",
	.about = "PROCESS is what `asb sandbox processes` lists; without TURN it is the session's "
		 "last.",
	.least = 1,
	.most = 2,
	.wants = "of which process or session?",
	.word = WORD_SESSION,
	.run = receipt,
};
