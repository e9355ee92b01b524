/*
 * docs/cli.md, from the table of verbs and the table of errors.
 */
#include "verbs.h"

#include <ctype.h>

#include "buf.h"
#include "cli.h"

static const char intro[] =
	"# The command line\n\n"
	"Printed from the table of verbs by `make docs`; a test fails where it is stale.\n\n"
	"`asb VERB ...` talks to the site that `ASB_URL` names, with the token in the file that "
	"`ASB_TOKEN_FILE` names\n"
	"(`deploy/stack env` prints both). Results are on standard output, everything else is on "
	"standard error.\n"
	"Options and words may be mixed; after `--` everything is a word.\n\n"
	"With `--json` a verb prints its result as JSON on standard output: one line, the same "
	"object "
	"that the\n"
	"[API](api.md) answers with where it is one of the site's. If the verb fails, the line is\n"
	"`{\"error\":{\"code\",\"message\",\"fix\",\"context\"}}`, with the codes and reasons of "
	"the API.\n\n"
	"## Exit status\n\n"
	"| status | when |\n|---|---|\n"
	"| 0 | done |\n";

static const char *const whens[] = {
	[1] = "a run ended and is not done: failed, stopped or lost; or something is wrong "
	      "with asb or the site",
	[2] = "the request is wrong, or more than is taken",
	[3] = "not allowed: no or another token, no terminal, a directory that was not enabled",
	[4] = "there is none of that name, or it is not yours",
	[5] = "the state is another than the request needs",
	[6] = "not now: try again later",
	[7] = "something that the site depends on failed",
};
#define NWHENS (sizeof(whens) / sizeof(whens[0]))

static void print_statuses(struct buf *b)
{
	for (size_t status = 1; status < NWHENS; status++) {
		const char *comma = "";

		(void)buf_addf(b, "| %zu | %s (", status, whens[status]);
		for (enum err_code c = ERR_INVALID; c < ERR_CODE__COUNT; c++) {
			if (err_info(c)->exit_status != (int)status)
				continue;
			(void)buf_addf(b, "%s`%s`", comma, err_info(c)->name);
			comma = ", ";
		}
		(void)buf_adds(b, ") |\n");
	}
	(void)buf_addf(b, "| %d | a run waits for an answer that nobody was there to give |\n",
		STATUS_RUN_WAITING);
}

void verbs_print(struct buf *b)
{
	(void)buf_adds(b, intro);
	print_statuses(b);
	(void)buf_adds(b, "\n## Verbs\n\nWhat `asb init` allows, and what it cannot prevent: "
			  "[sync.md](sync.md).\n");
	for (const struct verb *v = verbs; v->name; v++)
		(void)buf_addf(b, "\n### asb %s\n\n%c%s.\n\n```\nasb %s %s\n%s%s```\n", v->name,
			toupper(v->summary[0]), v->summary + 1, v->name, v->usage,
			v->options ? v->options : "", v->options ? "\n" : "");
}
