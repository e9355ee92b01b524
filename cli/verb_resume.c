/*
 * asb resume: answers the question that a run waits with. What the run does next is asb watch's.
 */
#include <getopt.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "verbs.h"

bool verb_resume(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *run = NULL;

	if (!verb_take_json(cli, argc, argv, 2, 2, "a session and the answer", err))
		return false;
	json_add_text(body, "session", argv[optind]);
	json_add_text(body, "message", argv[optind + 1]);
	if (!cli_connect(cli, err) ||
		!http_post_json(cli->http, "/resume.json", json_text(body, cli->pool), &run, err))
		return false;
	*status = 0;
	if (cli->json)
		cli_print_json(cli, run);
	else
		(void)puts(cli_text(run, "text"));
	return true;
}
