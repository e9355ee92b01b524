/*
 * asb watch: follows a run that is on its way, from its first row on.
 */
#include <getopt.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "verbs.h"

bool verb_watch(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	static const struct option options[] = {
		{"answer", required_argument, NULL, 'a'},
		{"json", no_argument, NULL, 'j'},
		{"log", no_argument, NULL, 'l'},
		{"patch", required_argument, NULL, 'p'},
		{0},
	};
	struct follow_options follow = {.answer = NULL};
	CLEANUP(json) struct json_object *run = NULL;
	const char *patch_file = NULL;
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'a')
			follow.answer = optarg;
		else if (opt == 'j')
			cli->json = true;
		else if (opt == 'l')
			follow.log = true;
		else if (opt == 'p')
			patch_file = optarg;
		else
			return verb_bad_option(argv, err);
	}
	if (argc - optind != 1)
		return verb_misused(argv[0], "which session?", err);
	return cli_connect(cli, err) && follow_run(cli, argv[optind], &follow, &run, err) &&
	       report_run(cli, run, patch_file, status, err);
}
