/*
 * asb completion: what a shell reads so that it completes. The scripts ask the program itself
 * (complete.h), so that they need not change with it.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "verbs.h"

extern const struct verb verb_completion;

static const char bash[] =
	"_asb() {\n"
	"\tlocal IFS=$'\\n'\n"
	"\tmapfile -t COMPREPLY < <(asb --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]%%$'\\t'*}\")\n"
	"}\n"
	"complete -o default -F _asb asb\n";

static const char zsh[] =
	"#compdef asb\n"
	"_asb() {\n"
	"\tlocal -a found\n"
	"\tfound=(${(f)\"$(asb --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
	"\tfound=(\"${(@)found/$'\\t'/:}\")\n"
	"\tif (( $#found )); then _describe asb found; else _files; fi\n"
	"}\n"
	"compdef _asb asb\n";

static const char fish[] = "function __asb_complete\n"
			   "\tset -l words (commandline -opc)\n"
			   "\tset -e words[1]\n"
			   "\tset -l typed (commandline -ct)\n"
			   "\tasb --complete $words \"$typed\" 2>/dev/null\n"
			   "end\n"
			   "complete -c asb -a '(__asb_complete)'\n";

static const struct subverb subs[] = {
	{"bash", "", "source <(asb completion bash)", WORD_ANY},
	{"zsh", "", "source <(asb completion zsh)", WORD_ANY},
	{"fish", "", "asb completion fish | source", WORD_ANY},
};

static bool completion(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	static const char *const scripts[] = {bash, zsh, fish};
	const struct subverb *sub = verb_sub(&verb_completion, words[0], err);
	CLEANUP(json) struct json_object *o = json_new_object();

	(void)options;
	(void)nwords;
	(void)status;
	if (!sub)
		return false;
	json_add_text(o, "shell", sub->name);
	json_add_text(o, "script", scripts[sub - subs]);
	if (cli->json)
		cli_print_json(cli, o);
	else
		(void)fputs(scripts[sub - subs], stdout);
	return true;
}

const struct verb verb_completion = {
	.name = "completion",
	.usage = "",
	.summary = "what a shell reads so that it completes verbs, options and names",
	VERB_SUBS(subs),
	.least = 1,
	.most = 1,
	.wants = "bash, zsh or fish?",
	.word = WORD_SUB,
	.run = completion,
};
