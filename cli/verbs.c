/*
 * The table of verbs and what is printed from it. No verb does its work here.
 */
#include "verbs.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

const struct verb verbs[] = {
	{"delegate", "[options] TASK | --task-file FILE",
		"hand a task and this working tree to an agent in a fresh box",
		"  --task-file FILE   the task is in FILE (-: standard input)\n"
		"  --tree DIR         the working tree (default: the one around here)\n"
		"  --no-tree          no tree: the task alone\n"
		"  --repo NAME[@REF]  clone owner/name in the box instead; may be repeated\n"
		"  --include PATH     ship PATH although its name says credentials; may be "
		"repeated\n"
		"  --agent NAME       who does it: script (default), claude\n"
		"  --image NAME, --memory-mb N, --cpus N   the box\n"
		"  --title TEXT       what lists show\n"
		"  --answer TEXT      the answer to every question (default: ask here)\n"
		"  --patch FILE       store the patch in FILE\n"
		"  --log              print the raw output too\n"
		"  --no-wait          print the session and end\n"
		"  --json             the result as JSON on stdout, the rest on stderr",
		verb_delegate},
	{"watch", "[--answer TEXT] [--patch FILE] [--log] [--json] SESSION",
		"follow a run until it ends or waits for an answer", NULL, verb_watch},
	{"resume", "[--json] SESSION ANSWER", "answer the question of a waiting run", NULL,
		verb_resume},
	{"status", "[--json] [SESSION]", "the fleet, or one run", NULL, verb_status},
	{"teardown", "[--json] SESSION", "save the work of a run and destroy its box", NULL,
		verb_teardown},
	{"files", "list | read | search | get [options] SANDBOX|SESSION [PATH | TEXT [PATH]]",
		"look at files of a box; nothing is run there",
		"  list BOX [PATH] [-d N]         a folder, N levels of it (default: 1)\n"
		"  read BOX PATH                  a file, to stdout\n"
		"  search BOX TEXT [PATH] [-i]    the lines that have the text; -i: in any case\n"
		"  get BOX [PATH] -o FILE         a folder as a tar\n"
		"  --json                         the answer as JSON",
		verb_files},
	{"diff", "[--json] SANDBOX|SESSION [TREE]",
		"what differs from the tree that was synced or delivered", NULL, verb_diff},
	{"init", "[--json] [DIR] | --list | --remove [DIR]",
		"let a directory be copied into sandboxes; a person at a terminal agrees",
		"  --list     what is enabled\n"
		"  --remove   not any more\n"
		"  --json     the result as JSON",
		verb_init},
	{"sandbox", "create | run | logs | destroy | list [options] [SANDBOX [PROCESS]]",
		"a sealed box to run code in, and what really happened",
		"  create --language NAME [--image NAME] [--backend NAME] [--package P]...\n"
		"         [--memory-mb N] [--cpus N]      prints the sandbox\n"
		"         [--sync DIR]                    with a copy of DIR, see asb init\n"
		"         [--packages-from FILE]          packages of a lock file in DIR\n"
		"  run SANDBOX --code TEXT | --file FILE (-: standard input)\n"
		"         [--timeout S] [--background]    prints what it printed; its exit is "
		"ours\n"
		"  logs SANDBOX PROCESS [--offset N]      what a process has printed so far\n"
		"  destroy SANDBOX                        twice is fine\n"
		"  list                                   those that live\n"
		"  --json             the answer as JSON",
		verb_sandbox},
	{"verify", "[--key FILE|KEY] [--json] FILE", "check a receipt, without any site",
		"  --key FILE|KEY     the site's public key, or a file with it (default: what the "
		"site of\n"
		"                     ASB_URL says; without either nobody vouches for the key)\n"
		"  --json             the verdict as JSON\n"
		"  Exits with 0 (valid), 1 (changed: each member is named), 11 (whole, by a key "
		"that\n"
		"  nobody vouched for) or 2 (no receipt). FILE - is standard input.",
		verb_verify},
	{"config", "[--format NAME]",
		"print what to paste into a client so that it finds this site",
		"  --format NAME      claude cursor vscode windsurf zed cline codex antigravity, "
		"or\n"
		"                     json (default) and yaml for others",
		verb_config},
	{"build", "[--config FILE] [--json] NAME --recipe FILE | --image REF | --dockerfile FILE",
		"build an image of your own, on the site's host",
		"  --recipe FILE      of Debian's packages, by the words of docs/packages.md\n"
		"  --image REF        of an image that podman has or can pull\n"
		"  --dockerfile FILE  of what podman builds from it\n"
		"  --config FILE      the site's settings\n"
		"  --json             {\"image\"} as JSON; what the build says goes to stderr",
		verb_build},
	{"doctor", "[--pull]",
		"try each runtime of this host with a real box, and say which one auto is",
		"  --pull             put the image into the container engines' stores first\n"
		"  Reads the settings like every program. As root it tries containers too, and "
		"writes\n"
		"  down what BOX_RUNTIME=auto means.",
		verb_doctor},
	{"migrate", "[--config FILE]", "bring the database's schema up to date (as its owner)",
		"  Reads the settings ASB_DB, ASB_DB_PASSFILE and ASB_LIB_DIR like every program.",
		verb_migrate},
	{"help", "[VERB]", "this list, or one verb's options", NULL, verb_help},
	{0},
};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

bool verb_misused(const char *name, const char *why, struct err *err)
{
	const struct verb *verb = verb_find(name);

	(void)err_set(err, ERR_INVALID, "%s: %s", name, why);
	(void)snprintf(
		err->fix, sizeof(err->fix), "usage: asb %s %s", name, verb ? verb->usage : "VERB");
	return false;
}

bool verb_bad_option(char **argv, struct err *err)
{
	char why[128];

	(void)snprintf(why, sizeof(why), "%.80s: no such option, or its value is missing",
		argv[optind - 1]);
	return verb_misused(argv[0], why, err);
}

bool verb_take_json(struct cli *cli, int argc, char **argv, int least, int most, const char *why,
	struct err *err)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return verb_bad_option(argv, err);
		cli->json = true;
	}
	return (argc - optind >= least && argc - optind <= most) || verb_misused(argv[0], why, err);
}

bool verb_help(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	const struct verb *v = argc > 1 ? verb_find(argv[1]) : NULL;

	(void)cli;
	*status = 0;
	if (v) {
		(void)printf("asb %s %s\n%s.\n%s%s", v->name, v->usage, v->summary,
			v->options ? v->options : "", v->options ? "\n" : "");
		return true;
	}
	if (argc > 1)
		return err_set(err, ERR_INVALID, "no verb %.40s", argv[1]);
	(void)puts("asb: tasks for coding agents in throwaway boxes\n");
	for (v = verbs; v->name; v++)
		(void)printf("  asb %-10s %s\n", v->name, v->summary);
	(void)puts("\nThe site is ASB_URL; your token is in the file that ASB_TOKEN_FILE names.");
	return true;
}
