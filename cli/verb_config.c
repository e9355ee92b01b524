/*
 * asb config: what to paste into a client so that it finds this site. The text alone goes to
 * stdout, so that it can be piped into a file; where it belongs and what to do then to stderr.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"
#include "reach.h"
#include "snippets.h"
#include "verbs.h"

static bool values_get(struct cli *cli, struct snippet_values *out, struct err *err)
{
	struct reach_places places;
	struct reach at;
	char path[PATH_MAX];

	if (!reach_places_get(cli->pool, &places, err) ||
		!reach_find(cli->pool, &places, &at, err) ||
		!cli_self(cli->pool, &out->program, err))
		return false;
	out->url = at.url;
	out->token_file = NULL;
	if (!at.token_file)
		return true;
	/* a client starts it in a folder of its own */
	if (!realpath(at.token_file, path))
		return err_errno(err, ERR_INVALID, "%s", at.token_file);
	out->token_file = pool_strdup(cli->pool, path);
	return true;
}

struct config_options {
	const char *format;
	bool remote;
};

static const char *const formats[] = {"claude", "cursor", "vscode", "windsurf", "zed", "cline",
	"codex", "antigravity", "json", "yaml", NULL};

static const struct flag flags[] = {
	FLAG(TEXT, struct config_options, format, .value = "NAME", .words = formats,
		.help = "claude cursor vscode windsurf zed cline codex antigravity, or\n"
			"json (default) and yaml for others"),
	FLAG(BOOL, struct config_options, remote,
		.help = "the site's address and an API key, instead of this program"),
};

/* The text of one form; in the pool. */
static const char *form_text(struct cli *cli, const struct snippet *s, enum snippet_form form,
	const struct snippet_values *values)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64 * 1024);
	struct snippet_values v = *values;

	if (form == SNIPPET_REMOTE)
		v.url = pool_printf(cli->pool, "%s/mcp", v.url);
	snippet_print(s, form, &v, &text);
	return pool_strdup(cli->pool, text.data);
}

static void print_json(
	struct cli *cli, const struct snippet *s, const char *stdio_text, const char *remote_text)
{
	CLEANUP(json) struct json_object *o = json_new_object();

	json_add_text(o, "client", s->client);
	json_add_text(o, "file", s->file);
	json_add_text(o, "stdio", stdio_text);
	json_add_text(o, "remote", remote_text);
	cli_print_json(cli, o);
}

static void say_how(const struct snippet *s, bool remote)
{
	cli_say("for %s: put this into %s", s->client, s->file);
	if (remote && !strcmp(snippet_key_place(s), SNIPPET_KEY))
		cli_say("with an API key in the place of " SNIPPET_KEY
			"; asb admin create makes one");
	else if (remote)
		cli_say("with an API key in its environment: " SNIPPET_KEY_VARIABLE
			"; asb admin create makes one");
	else
		cli_say("--remote prints the form without this program");
	cli_say("then start %s anew: " SNIPPET_THEN, s->client);
}

static bool config(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct config_options *o = options;
	const struct snippet *s = snippet_find(o->format ? o->format : "json");
	struct snippet_values values;
	const char *stdio_text, *remote_text;

	(void)nwords;
	(void)words;
	(void)status;
	if (!s)
		return err_set(err, ERR_INTERNAL, "config: a format without a row");
	if (!values_get(cli, &values, err))
		return false;
	stdio_text = form_text(cli, s, SNIPPET_STDIO, &values);
	remote_text = form_text(cli, s, SNIPPET_REMOTE, &values);
	if (cli->json)
		print_json(cli, s, stdio_text, remote_text);
	else
		(void)fputs(o->remote ? remote_text : stdio_text, stdout);
	say_how(s, o->remote);
	return true;
}

const struct verb verb_config = {
	.name = "config",
	.usage = "",
	.summary = "print what to paste into a client so that it finds this site",
	.about = "With --json both forms.",
	VERB_FLAGS(struct config_options, flags),
	.run = config,
};
