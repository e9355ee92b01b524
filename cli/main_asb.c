/*
 * The command line: finds the verb, reads its flags, runs it, turns its error into a line and an
 * exit status.
 */
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "complete.h"
#include "http.h"
#include "pool.h"
#include "verbs.h"

/* Known before the verb's flags are read, so that an error in them is JSON as well. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

/* What make and shells ask for. */
static bool print_special(struct cli *cli, int argc, char **argv)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);

	if (strcmp(argv[1], "--print-docs") == 0)
		verbs_print_docs(&b);
	else if (strcmp(argv[1], "--print-man") == 0)
		verbs_print_man(&b);
	else if (strcmp(argv[1], "--complete") == 0)
		complete_words(cli, argc - 2, argv + 2, &b);
	else
		return false;
	(void)fputs(b.data, stdout);
	return true;
}

/* Also what people try before they know the verbs. */
static const char *verb_meant(int argc, char **argv)
{
	if (!argc || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		return "help";
	return strcmp(argv[0], "--version") == 0 ? "version" : argv[0];
}

static bool run_verb(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	const char *word = verb_meant(argc, argv);
	const struct verb *v = verb_find(word);
	struct args args;
	char *about[2] = {NULL};

	if (!v)
		return verb_unknown(word, err);
	if (!args_take(cli->pool, v, argc, argv, &args, err))
		return false;
	if (!args.help)
		return v->run(cli, args.options, args.nwords, args.words, status, err);
	about[0] = pool_strdup(cli->pool, v->name);
	return verb_find("help")->run(cli, NULL, 1, about, status, err);
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct cli cli = {.pool = pool, .json = wants_json(argc, argv)};
	struct err err = {0};
	int status = 0;
	bool ok;

	/* names in tar files are UTF-8 whatever the terminal is */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && print_special(&cli, argc, argv))
		return 0;
	/* --json may come first */
	while (argc > 1 && strcmp(argv[1], "--json") == 0) {
		argc--;
		argv++;
	}
	ok = run_verb(&cli, argc - 1, argv + 1, &status, &err);
	http_free(cli.http);
	if (ok)
		return status;
	cli_complain(&cli, &err);
	return exit_status_of(&err);
}
