/*
 * The command line: finds the verb, runs it, turns its error into a line and an exit status.
 */
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "pool.h"
#include "verbs.h"

/* Known before the verb reads its options, so that an error in them is JSON as well. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

static int print_docs(void)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);

	verbs_print(&b);
	(void)fputs(b.data, stdout);
	return b.failed;
}

int main(int argc, char **argv)
{
	CLEANUP(pool) struct pool *pool = pool_new();
	struct cli cli = {.pool = pool, .json = wants_json(argc, argv)};
	const struct verb *v;
	struct err err = {0};
	int status = 0;
	bool ok;

	/* names in tar files are UTF-8 whatever the terminal is */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2 || strcmp(argv[1], "--help") == 0)
		return verb_help(&cli, 1, argv, &status, &err) ? 0 : 1;
	if (strcmp(argv[1], "--print-docs") == 0)
		return print_docs();
	v = verb_find(argv[1]);
	if (!v) {
		(void)err_set(&err, ERR_INVALID, "no verb %.40s", argv[1]);
		(void)err_advise(&err, NULL, "asb help lists them");
		cli_complain(&cli, &err);
		return err_info(err.code)->exit_status;
	}
	ok = v->run(&cli, argc - 1, argv + 1, &status, &err);
	http_free(cli.http);
	if (ok)
		return status;
	cli_complain(&cli, &err);
	return err_info(err.code)->exit_status;
}
