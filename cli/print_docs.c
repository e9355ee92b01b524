/*
 * docs/cli.md, from the tables of verbs, of clients and of exit statuses.
 */
#include <ctype.h>
#include <string.h>

#include "buf.h"
#include "snippets.h"
#include "verbs.h"

static const char intro[] =
	"# The command line\n\n"
	"Printed from the table of verbs by `make docs`, like the manual [asb.1](asb.1); a test "
	"fails where one is stale.\n\n"
	"Results are on standard output, everything else is on standard error. Options and words "
	"may be mixed; after `--`\n"
	"everything is a word.\n\n"
	"With `--json` a verb prints its result as JSON on standard output: one document (`ask`: a "
	"line each), the same object\n"
	"that the [API](api.md) answers with where it is one of the site's. If the verb fails, the "
	"document is\n"
	"`{\"error\":{\"code\",\"message\",\"fix\",\"context\"}}`, with the codes and reasons of "
	"the API.\n\n"
	"Shells complete verbs, options, sessions and sandboxes: `source <(asb completion bash)`, "
	"`source <(asb completion zsh)`,\n"
	"`asb completion fish | source`.\n\n"
	"## Which site, and with whose token\n\n"
	"The address is the first of: `ASB_URL`; the site of the last `asb login`; the one site on "
	"this machine\n"
	"(`deploy/stack`). The token is the first of: the file that `ASB_TOKEN_FILE` names; what "
	"`asb login` stored for\n"
	"that address; the operator's token of a site on this machine, where you may read it. "
	"`asb login --status` says\n"
	"which it is. A token is in no argument and in no variable, and goes to its own site "
	"alone: over https, or http on this\n"
	"machine. `asb verify` asks no site but one that `ASB_URL` names: another's receipts are "
	"not judged by the key of whoever\n"
	"you are signed in to.\n\n"
	"## asb mcp: the site as a local MCP server\n\n"
	"An IDE that starts its servers itself starts `asb mcp`; `asb config` prints how it is "
	"told, and with `--remote` the\n"
	"form that names the site's `/mcp` ([mcp.md](mcp.md)) and an API key instead. Each line "
	"is forwarded to `/mcp`, in\n"
	"whichever era it is written, and what comes back is a line, as it comes. Several calls "
	"may be under way;\n"
	"`notifications/cancelled` ends the waiting for one, never a run. It ends with its "
	"input and with SIGINT or SIGTERM.\n\n"
	"The environment may be bare (`HOME`, `PATH`): the site is found as above, anew for each "
	"call. A site that is being\n"
	"started anew is asked again for 20 s (`--patience`) under one Idempotency-Key, so that "
	"nothing is done twice; then\n"
	"the call fails with an error that says how to start it.\n\n"
	"Two tools take something of this machine along, which the site alone cannot:\n\n"
	"- `delegate` with `source: local`: the working tree that is open, as `asb delegate` would "
	"pack it: changes that are\n"
	"  not committed and untracked files, nothing that git ignores, no credentials. Which "
	"tree: `WORKSPACE_DIR`, else\n"
	"  `CLAUDE_PROJECT_DIR`, else the client's first root (legacy clients that have any; one "
	"that does not say within\n"
	"  30 s gets an error, and is to call again), else the folder it was started in, unless "
	"that is `/` or your home; else\n"
	"  the answer asks.\n"
	"- `create_sandbox` with `sync_from`: a directory that you enabled with `asb init` "
	"([sync.md](sync.md)), or one below it.\n\n"
	"## Clients\n\n"
	"`asb config --format NAME` prints what is put into the client's settings; the page of "
	"keys "
	"shows the form with a key.\n"
	"Then start the client anew: " SNIPPET_THEN ".\n\n"
	"| name | client | its settings | where the API key goes |\n|---|---|---|---|\n";

void verbs_print_docs(struct buf *b)
{
	(void)buf_adds(b, intro);
	for (const struct snippet *s = snippets; s->name; s++)
		(void)buf_addf(b, "| `%s` | %s | %s | %s |\n", s->name, s->client, s->file,
			strcmp(snippet_key_place(s), SNIPPET_KEY)
				? "the environment: `" SNIPPET_KEY_VARIABLE "`"
				: "the text, for `" SNIPPET_KEY "`");
	(void)buf_adds(b, "\n## Exit status\n\n| status | when |\n|---|---|\n");
	for (const struct exit_status *s = exit_statuses; s->when; s++)
		(void)buf_addf(b, "| %d | %s |\n", s->status, s->when);
	(void)buf_adds(b, "\n## Verbs\n\nWhat `asb init` allows, and what it cannot prevent: "
			  "[sync.md](sync.md).\n");
	for (const struct verb *const *v = verbs; *v; v++) {
		(void)buf_addf(b, "\n### asb %s\n\n%c%s.\n\n```\n", (*v)->name,
			toupper((*v)->summary[0]), (*v)->summary + 1);
		verb_print_help(*v, b);
		(void)buf_adds(b, "```\n");
	}
}
