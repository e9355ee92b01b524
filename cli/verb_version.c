/*
 * asb version: which one this is. No site is asked.
 */
#include <stdio.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "verbs.h"
#include "version.h"

static bool version(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();

	(void)options;
	(void)nwords;
	(void)words;
	(void)status;
	(void)err;
	json_add_text(o, "version", ASB_VERSION);
	if (cli->json)
		cli_print_json(cli, o);
	else
		(void)puts("asb " ASB_VERSION);
	return true;
}

const struct verb verb_version = {
	.name = "version",
	.usage = "",
	.summary = "which version this is",
	.run = version,
};
