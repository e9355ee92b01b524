/*
 * asb help: the table of verbs, or one of them; with --json as JSON, for programs that offer them.
 */
#include <stdio.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "json.h"
#include "verbs.h"

static struct json_object *flags_json(const struct verb *v)
{
	struct json_object *list = json_new_array();
	char typed[FLAG_TYPED_SIZE];

	for (size_t i = 0; i < v->nflags; i++) {
		struct json_object *o = json_new_object();

		flag_typed(&v->flags[i], typed);
		json_add_text(o, "name", typed);
		json_add_text(o, "value", v->flags[i].value);
		json_add_text(o, "help", v->flags[i].help);
		json_push(list, o);
	}
	return list;
}

static struct json_object *verb_json(const struct verb *v)
{
	struct json_object *o = json_new_object();
	CLEANUP(buf) struct buf usage = BUF_INIT(8192);

	verb_print_usage(v, &usage);
	json_add_text(o, "verb", v->name);
	json_add_text(o, "usage", usage.data);
	json_add_text(o, "summary", v->summary);
	json_add_text(o, "about", v->about);
	json_add(o, "flags", flags_json(v));
	return o;
}

static bool help(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	CLEANUP(buf) struct buf text = BUF_INIT(64 * 1024);
	CLEANUP(json) struct json_object *root = json_new_object();
	struct json_object *list = json_new_array();
	const struct verb *v = nwords ? verb_find(words[0]) : NULL;

	(void)options;
	(void)status;
	json_add(root, "verbs", list);
	if (nwords && !v)
		return verb_unknown(words[0], err);
	if (cli->json) {
		for (const struct verb *const *each = verbs; *each; each++)
			if (!v || v == *each)
				json_push(list, verb_json(*each));
		cli_print_json(cli, root);
		return true;
	}
	if (v)
		verb_print_help(v, &text);
	else
		verbs_print_help(&text);
	(void)fputs(text.data, stdout);
	return true;
}

const struct verb verb_help = {
	.name = "help",
	.usage = "[VERB]",
	.summary = "this list, or one verb's options",
	.most = 1,
	.word = WORD_VERB,
	.run = help,
};
