/*
 * asb resume: answers the question that a run waits with. What the run does next is asb watch's.
 */
#include <stdio.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "verbs.h"

static bool resume(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *run = NULL;

	(void)options;
	(void)nwords;
	(void)status;
	json_add_text(body, "session", words[0]);
	json_add_text(body, "message", words[1]);
	if (!cli_connect(cli, err) ||
		!http_post_json(cli->http, "/resume.json", json_text(body, cli->pool), &run, err))
		return false;
	if (cli->json)
		cli_print_json(cli, run);
	else
		(void)puts(cli_text(run, "text"));
	return true;
}

const struct verb verb_resume = {
	.name = "resume",
	.usage = "SESSION ANSWER",
	.summary = "answer the question of a waiting run",
	.least = 2,
	.most = 2,
	.wants = "a session and the answer",
	.word = WORD_SESSION,
	.run = resume,
};
