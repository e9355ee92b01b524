/*
 * asb teardown: asks the site to save a run's work and destroy its box. Twice is fine.
 */
#include <getopt.h>

#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "verbs.h"

bool verb_teardown(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *run = NULL;

	if (!verb_take_json(cli, argc, argv, 1, 1, "which session?", err))
		return false;
	json_add_text(body, "session", argv[optind]);
	if (!cli_connect(cli, err) ||
		!http_post_json(cli->http, "/teardown.json", json_text(body, cli->pool), &run, err))
		return false;
	*status = 0;
	if (cli->json)
		cli_print_json(cli, run);
	else
		(void)printf("box %s: %s\n", cli_text(json_get(run, "box"), "name"),
			cli_text(json_get(run, "box"), "state"));
	return true;
}
