/*
 * asb init: a person says, at a terminal, that a directory may be copied into sandboxes. The only
 * way into the record; --list shows it and --remove takes a directory out, for which no person is
 * needed.
 */
#include <getopt.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "pool.h"
#include "random.h"
#include "sync_allow.h"
#include "text.h"
#include "verbs.h"

/* What is typed to agree: as many letters as nobody types by accident. */
#define WORD_LEN 4

static bool no_terminal(const char *why, struct err *err)
{
	(void)err_set(err, ERR_FORBIDDEN, "init: %s", why);
	return err_advise(err, "no_terminal", "run it yourself, in a terminal's foreground");
}

/* Is a person there who can be asked? As far as that can be known: a program may make itself a
 * terminal, and what it could do then it can do without us. */
static bool need_terminal(struct err *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return no_terminal("standard input and output must be a terminal", err);
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		return no_terminal("the terminal is not this program's own", err);
	return true;
}

/* The word is new each time and what was typed before it was shown is thrown away, so that no
 * answer prepared beforehand agrees to anything. */
static bool agree(struct cli *cli, const char *path, struct err *err)
{
	FILE *out = cli->json ? stderr : stdout;
	char word[WORD_LEN + 1], line[64];

	random_id(word, sizeof(word), "", WORD_LEN);
	(void)fprintf(out,
		"Tools that run as you, an agent's among them, will be able to copy the files of\n"
		"  %s\n"
		"into a sandbox. Never copied: .git, what tools make, files whose names say\n"
		"credentials, and what %s/.agentsandboxignore names.\n"
		"To enable this, type %s: ",
		cli_sane(cli->pool, path), cli_sane(cli->pool, path), word);
	(void)fflush(out);
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	if (!fgets(line, sizeof(line), stdin))
		line[0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (strcmp(line, word) != 0)
		return err_set(err, ERR_FORBIDDEN, "init: not enabled: that was not the word");
	return true;
}

static void tell(struct cli *cli, const char *path, const char *state)
{
	CLEANUP(json) struct json_object *o = json_new_object();

	if (!cli->json) {
		(void)printf("%s: %s\n", cli_sane(cli->pool, path), state);
		return;
	}
	json_add_text(o, "path", path);
	json_add_text(o, "state", state);
	cli_print_json(cli, o);
}

static bool enable(struct cli *cli, const char *folder, const char *dir, struct err *err)
{
	const char *path;

	if (!need_terminal(err) || !sync_may_allow(cli->pool, folder, dir, &path, err) ||
		!agree(cli, path, err) || !sync_allow(cli->pool, folder, path, err))
		return false;
	tell(cli, path, "enabled");
	return true;
}

static bool list(struct cli *cli, const char *folder, struct err *err)
{
	CLEANUP(json) struct json_object *o = json_new_object();
	struct json_object *rows = json_new_array();
	struct sync_list enabled;

	json_add(o, "directories", rows);
	if (!sync_list(cli->pool, folder, &enabled, err))
		return false;
	for (size_t i = 0; i < enabled.n; i++) {
		const struct sync_dir *d = &enabled.dirs[i];
		struct json_object *row = json_new_object();
		char since[TIME_TEXT_SIZE];

		time_text(d->since_ms, since);
		json_add_text(row, "path", d->path);
		json_add_text(row, "state", sync_dir_state(d));
		json_add_text(row, "since", since);
		json_push(rows, row);
		if (!cli->json)
			(void)printf("%-8s  %s  %s\n", sync_dir_state(d), since,
				cli_sane(cli->pool, d->path));
	}
	if (cli->json)
		cli_print_json(cli, o);
	return true;
}

bool verb_init(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
		{"list", no_argument, NULL, 'l'}, {"remove", no_argument, NULL, 'r'}, {0}};
	const char *folder, *dir;
	int opt, what = 0;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == '?')
			return verb_bad_option(argv, err);
		if (opt == 'j')
			cli->json = true;
		else if (what)
			return verb_misused(argv[0], "--list or --remove, one of them", err);
		else
			what = opt;
	}
	if (argc - optind > (what == 'l' ? 0 : 1))
		return verb_misused(argv[0], "one directory at a time", err);
	dir = optind < argc ? argv[optind] : ".";
	if (!sync_folder(cli->pool, &folder, err))
		return false;
	*status = 0;
	if (what == 'l')
		return list(cli, folder, err);
	if (what != 'r')
		return enable(cli, folder, dir, err);
	if (!sync_forbid(cli->pool, folder, dir, err))
		return false;
	tell(cli, dir, "removed");
	return true;
}
