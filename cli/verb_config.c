/*
 * asb config: what to paste into a client so that it finds this site. The text alone goes to
 * stdout, so that it can be piped into a file; where it belongs and what to do then to stderr.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "pool.h"
#include "snippets.h"
#include "verbs.h"

static bool values_get(struct cli *cli, struct snippet_values *out, struct err *err)
{
	const char *url = getenv("ASB_URL"), *token = getenv("ASB_TOKEN_FILE");
	char program[4096], token_path[4096];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (!url || !*url || !token || !*token) {
		(void)err_set(err, ERR_INVALID, "%s is not set",
			url && *url ? "ASB_TOKEN_FILE" : "ASB_URL");
		return err_advise(err, NULL,
			"set ASB_URL to the site's address and ASB_TOKEN_FILE to a file with your "
			"token");
	}
	if (n <= 0)
		return err_errno(err, ERR_INTERNAL, "find our own program");
	program[n] = '\0';
	/* a client starts it in a folder of its own */
	if (!realpath(token, token_path))
		return err_errno(err, ERR_INVALID, "ASB_TOKEN_FILE %s", token);
	*out = (struct snippet_values){.program = pool_strdup(cli->pool, program),
		.url = url,
		.token_file = pool_strdup(cli->pool, token_path)};
	return true;
}

static bool format_get(int argc, char **argv, const struct snippet **out, struct err *err)
{
	static const struct option options[] = {{"format", required_argument, NULL, 'f'}, {0}};
	const char *name = "json";
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'f')
			return verb_bad_option(argv, err);
		name = optarg;
	}
	if (optind != argc)
		return verb_misused(argv[0], "it takes no words", err);
	*out = snippet_find(name);
	if (*out)
		return true;
	(void)err_set(err, ERR_INVALID, "config: no format %.40s", name);
	return err_advise(err, NULL, "asb help config lists them");
}

bool verb_config(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64 * 1024);
	const struct snippet *s;
	struct snippet_values values;

	if (!format_get(argc, argv, &s, err) || !values_get(cli, &values, err))
		return false;
	snippet_print(s, &values, &text);
	(void)fputs(text.data, stdout);
	cli_say("for %s: put this into %s", s->client, s->file);
	cli_say("then start %s anew: clients read it at launch", s->client);
	*status = 0;
	return true;
}
