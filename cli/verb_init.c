/*
 * asb init: a person says, at a terminal, that a directory may be copied into sandboxes. The only
 * way into the record; --list shows it and --remove takes a directory out, for which no person is
 * needed.
 */
#include <stdio.h>
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
	/* before the word is shown: whoever answers at once is heard */
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	(void)fprintf(out,
		"Tools that run as you, an agent's among them, will be able to copy the files of\n"
		"  %s\n"
		"into a sandbox. Never copied: .git, what tools make, files whose names say\n"
		"credentials, and what %s/.agentsandboxignore names.\n"
		"To enable this, type %s: ",
		cli_sane(cli->pool, path), cli_sane(cli->pool, path), word);
	(void)fflush(out);
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

struct init_options {
	bool list, remove;
};

static const struct flag flags[] = {
	FLAG(BOOL, struct init_options, list, .help = "what is enabled"),
	FLAG(BOOL, struct init_options, remove, .help = "not any more; no terminal is needed"),
};

static bool init(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct init_options *o = options;
	const char *folder, *dir = nwords ? words[0] : ".";

	(void)status;
	if (o->list && (o->remove || nwords))
		return verb_misused("init", "--list or --remove, one of them", err);
	if (!sync_folder(cli->pool, &folder, err))
		return false;
	if (o->list)
		return list(cli, folder, err);
	if (!o->remove)
		return enable(cli, folder, dir, err);
	if (!sync_forbid(cli->pool, folder, dir, err))
		return false;
	tell(cli, dir, "removed");
	return true;
}

const struct verb verb_init = {
	.name = "init",
	.usage = "[DIR]",
	.summary = "let a directory be copied into sandboxes; a person at a terminal agrees",
	VERB_FLAGS(struct init_options, flags),
	.most = 1,
	.word = WORD_FILE,
	.run = init,
};
