/*
 * asb watch: follows a run that is on its way, from its first row on.
 */
#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "verbs.h"

struct watch_options {
	const char *answer, *patch;
	bool log;
};

static const struct flag flags[] = {
	FLAG(TEXT, struct watch_options, answer, .value = "TEXT",
		.help = "the answer to every question (default: ask here)"),
	FLAG(TEXT, struct watch_options, patch, .value = "FILE", .help = "store the patch in FILE"),
	FLAG(BOOL, struct watch_options, log, .help = "print the raw output too"),
};

static bool watch(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct watch_options *o = options;
	const struct follow_options follow = {.answer = o->answer, .log = o->log};
	CLEANUP(json) struct json_object *run = NULL;

	(void)nwords;
	return cli_connect(cli, err) && follow_run(cli, words[0], &follow, &run, err) &&
	       report_run(cli, run, o->patch, status, err);
}

const struct verb verb_watch = {
	.name = "watch",
	.usage = "SESSION",
	.summary = "follow a run until it ends or waits for an answer",
	.about = "On a terminal the last line shows how far it is. Ctrl-C ends the watching alone.",
	VERB_FLAGS(struct watch_options, flags),
	.least = 1,
	.most = 1,
	.wants = "which session?",
	.word = WORD_SESSION,
	.run = watch,
};
