/*
 * Completion, from the table of verbs: the verb, then its flags and what they take, then its words.
 */
#include "complete.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "cli.h"
#include "http.h"
#include "json.h"
#include "pool.h"
#include "text.h"
#include "verbs.h"

#define SITE_MS 1000

struct completion {
	struct cli *cli;
	const char *typed; /* the beginning of the word */
	struct buf *out;
};

static void offer(const struct completion *c, const char *word, const char *about)
{
	if (text_has_prefix(word, c->typed))
		(void)buf_addf(c->out, "%s\t%.*s\n", word, (int)strcspn(about, "\n"), about);
}

static void offer_verbs(const struct completion *c)
{
	for (const struct verb *const *v = verbs; *v; v++)
		offer(c, (*v)->name, (*v)->summary);
}

/* A flag that may stand before the last word and takes it; NULL: none. */
static const struct flag *flag_before(const struct verb *v, const char *word)
{
	char typed[FLAG_TYPED_SIZE], letter[3] = "-";

	for (size_t i = 0; i < v->nflags; i++) {
		letter[1] = v->flags[i].letter;
		flag_typed(&v->flags[i], typed);
		if (v->flags[i].value && (!strcmp(word, typed) || !strcmp(word, letter)))
			return &v->flags[i];
	}
	return NULL;
}

static void offer_flags(const struct completion *c, const struct verb *v)
{
	char typed[FLAG_TYPED_SIZE];

	for (size_t i = 0; i < v->nflags; i++) {
		flag_typed(&v->flags[i], typed);
		offer(c, typed, v->flags[i].help);
	}
	offer(c, "--json", "the result as JSON");
	offer(c, "--help", "what the verb takes");
}

/* Names of a list that the site answers with; nothing where it does not answer. */
static void offer_site(const struct completion *c, const char *path, const char *list,
	const char *name, const char *about)
{
	CLEANUP(json) struct json_object *reply = NULL;
	struct json_object *rows;
	struct err ignored;

	if (!cli_connect(c->cli, &ignored))
		return;
	http_hurry(c->cli->http, SITE_MS);
	if (http_get_json(c->cli->http, path, &reply, &ignored)) {
		rows = json_get(reply, list);
		for (size_t i = 0; i < json_count(rows); i++)
			offer(c, cli_line(c->cli->pool, cli_text(json_at(rows, i), name)),
				cli_line(c->cli->pool, cli_text(json_at(rows, i), about)));
	}
	http_free(c->cli->http);
	c->cli->http = NULL;
}

/* at: which of the verb's words it is, the first being 0. */
static void offer_word(const struct completion *c, const struct verb *v, const char *first, int at)
{
	enum word_kind kind = at ? WORD_ANY : v->word;

	for (size_t i = 0; i < v->nsubs; i++)
		if (at == 1 && !strcmp(v->subs[i].name, first))
			kind = v->subs[i].word;
	if (kind == WORD_VERB)
		offer_verbs(c);
	for (size_t i = 0; kind == WORD_SUB && i < v->nsubs; i++)
		offer(c, v->subs[i].name, v->subs[i].summary);
	if (kind == WORD_SESSION || kind == WORD_BOX)
		offer_site(c, "/fleet.json", "runs", "session", "title");
	if (kind == WORD_SANDBOX || kind == WORD_BOX)
		offer_site(c, "/sandboxes.json", "sandboxes", "sandbox_id", "language");
	if (kind == WORD_SECRET)
		offer_site(c, "/secrets.json", "secrets", "name", "title");
}

void complete_words(struct cli *cli, int nwords, char **words, struct buf *out)
{
	const struct completion c = {
		.cli = cli, .typed = nwords ? words[nwords - 1] : "", .out = out};
	const struct verb *v = nwords > 1 ? verb_find(words[0]) : NULL;
	const struct flag *f;
	const char *first = "";
	int at = 0;

	if (nwords <= 1)
		offer_verbs(&c);
	if (!v)
		return;
	for (int i = 1; i < nwords - 1; i++) {
		if (words[i][0] == '-' && words[i][1]) {
			i += flag_before(v, words[i]) != NULL;
		} else if (at++ == 0) {
			first = words[i];
		}
	}
	f = flag_before(v, words[nwords - 2]);
	for (const char *const *w = f ? f->words : NULL; w && *w; w++)
		offer(&c, *w, f->name);
	if (f)
		return;
	if (c.typed[0] == '-')
		offer_flags(&c, v);
	else
		offer_word(&c, v, first, at);
}
