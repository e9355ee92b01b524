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
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
	CLEANUP(json) struct json_object *body = json_new_object();
	CLEANUP(json) struct json_object *run = NULL;
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return verb_bad_option(argv, err);
		cli->json = true;
	}
	if (argc - optind != 1)
		return verb_misused(argv[0], "which session?", err);
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
