/*
 * asb ask: the questions of a run, answered from standard input. Each is printed when it comes and
 * takes the next line as its answer; what the run does between them is asb watch's to show.
 */
#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "verbs.h"

static bool ask(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct follow_options follow = {.answers_from_stdin = true, .questions_only = true};
	CLEANUP(json) struct json_object *run = NULL;

	(void)options;
	(void)nwords;
	return cli_connect(cli, err) && follow_run(cli, words[0], &follow, &run, err) &&
	       report_run(cli, run, NULL, status, err);
}

const struct verb verb_ask = {
	.name = "ask",
	.usage = "SESSION",
	.summary = "answer a run's questions, a line of standard input each",
	.about = "It waits for the next question until the run has ended. Where standard input "
		 "ends\n"
		 "first, the run goes on waiting (exit status 10). With --json a question is a "
		 "line\n"
		 "{\"question\":{\"id\",\"text\",\"asked_at\"}} and the run's end the last one.",
	.least = 1,
	.most = 1,
	.wants = "which session?",
	.word = WORD_SESSION,
	.run = ask,
};
