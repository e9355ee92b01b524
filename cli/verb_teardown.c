/*
 * asb teardown: asks the site to save a run's work and destroy its box. Twice is fine.
 */
#include <stdio.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "verbs.h"

static bool teardown(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *run = NULL;

	(void)options;
	(void)nwords;
	(void)status;
	json_add_text(body, "session", words[0]);
	if (!cli_connect(cli, err) ||
		!http_post_json(cli->http, "/teardown.json", json_text(body, cli->pool), &run, err))
		return false;
	if (cli->json)
		cli_print_json(cli, run);
	else
		(void)printf("box %s: %s\n", cli_text(json_get(run, "box"), "name"),
			cli_text(json_get(run, "box"), "state"));
	return true;
}

const struct verb verb_teardown = {
	.name = "teardown",
	.usage = "SESSION",
	.summary = "save the work of a run and destroy its box",
	.least = 1,
	.most = 1,
	.wants = "which session?",
	.word = WORD_SESSION,
	.run = teardown,
};
