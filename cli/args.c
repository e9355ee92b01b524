/*
 * The command line of a verb, read by the rows of its flags.
 */
#include "args.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "pool.h"
#include "text.h"
#include "verbs.h"

struct taking {
	struct pool *pool;
	const struct verb *verb;
	struct args *args;
	char **argv;
	int at; /* of the word being looked at */
};

void flag_typed(const struct flag *f, char out[FLAG_TYPED_SIZE])
{
	(void)snprintf(out, FLAG_TYPED_SIZE, "--%s", f->name);
	for (char *c = out; *c; c++)
		if (*c == '_')
			*c = '-';
}

/* n letters of a long flag, with its dashes. */
static const struct flag *find_long(const struct verb *v, const char *typed, size_t n)
{
	char name[FLAG_TYPED_SIZE];

	for (size_t i = 0; i < v->nflags; i++) {
		flag_typed(&v->flags[i], name);
		if (strlen(name) == n && !memcmp(name, typed, n))
			return &v->flags[i];
	}
	return NULL;
}

static const struct flag *find_letter(const struct verb *v, char letter)
{
	for (size_t i = 0; i < v->nflags; i++)
		if (v->flags[i].letter == letter)
			return &v->flags[i];
	return NULL;
}

static bool unknown(const struct verb *v, const char *typed, struct err *err)
{
	struct nearest near = {.typed = typed};
	char names[64][FLAG_TYPED_SIZE], why[160];

	nearest_offer(&near, "--json");
	nearest_offer(&near, "--help");
	for (size_t i = 0; i < v->nflags && i < 64; i++) {
		flag_typed(&v->flags[i], names[i]);
		nearest_offer(&near, names[i]);
	}
	(void)snprintf(why, sizeof(why), "there is no %.40s%s%s", typed,
		near.best ? "; did you mean " : "", near.best ? near.best : "");
	return verb_misused(v->name, why, err);
}

static bool wrong(const struct verb *v, const char *what, const struct flag *f, struct err *err)
{
	char name[FLAG_TYPED_SIZE], why[FLAG_TYPED_SIZE + 210];

	flag_typed(f, name);
	(void)snprintf(why, sizeof(why), "%s %s", name, what);
	return verb_misused(v->name, why, err);
}

static bool has_word(const struct flag *f, const char *value)
{
	for (const char *const *w = f->words; w && *w; w++)
		if (!strcmp(*w, value))
			return true;
	return !f->words;
}

/* "one of a, b, c" */
static const char *words_of(const struct flag *f, char *to, size_t size)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1024);

	for (const char *const *w = f->words; *w; w++)
		(void)buf_addf(&b, "%s%s", w == f->words ? "one of " : ", ", *w);
	(void)snprintf(to, size, "%s", b.data);
	return to;
}

static bool wrong_word(
	const struct verb *v, const struct flag *f, const char *value, struct err *err)
{
	struct nearest near = {.typed = value};
	char what[100], words[sizeof(err->fix)];

	for (const char *const *w = f->words; *w; w++)
		nearest_offer(&near, *w);
	(void)snprintf(what, sizeof(what), "has no %.30s%s%s", value,
		near.best ? "; did you mean " : "", near.best ? near.best : "");
	(void)wrong(v, what, f, err);
	return err_advise(err, NULL, words_of(f, words, sizeof(words)));
}

/* value: NULL where none was given */
static bool flag_set(struct taking *t, const struct flag *f, const char *value, struct err *err)
{
	char *member = (char *)t->args->options + f->offset;
	struct flag_texts *texts;

	if (f->kind == FLAG_KIND_BOOL) {
		*(bool *)member = true;
		return !value || wrong(t->verb, "takes no value", f, err);
	}
	if (!value)
		return wrong(t->verb, "wants a value", f, err);
	if (!has_word(f, value))
		return wrong_word(t->verb, f, value, err);
	if (f->kind == FLAG_KIND_TEXT) {
		*(const char **)member = value;
		return true;
	}
	texts = (struct flag_texts *)member;
	if (texts->n == FLAG_TEXTS_MAX)
		return wrong(t->verb, "was given too often", f, err);
	texts->v[texts->n++] = value;
	return true;
}

static bool take_long(struct taking *t, const char *typed, struct err *err)
{
	size_t n = strcspn(typed, "=");
	const struct flag *f = find_long(t->verb, typed, n);
	const char *value = typed[n] ? typed + n + 1 : NULL;

	if (!strcmp(typed, "--json") || !strcmp(typed, "--help")) {
		t->args->json |= typed[2] == 'j';
		t->args->help |= typed[2] == 'h';
		return true;
	}
	if (!f)
		return unknown(t->verb, typed, err);
	if (f->kind != FLAG_KIND_BOOL && !value)
		value = t->argv[t->at + 1] ? t->argv[++t->at] : NULL;
	return flag_set(t, f, value, err);
}

/* -i, -d 3 and -d3: one letter a word. */
static bool take_letter(struct taking *t, const char *typed, struct err *err)
{
	const struct flag *f = find_letter(t->verb, typed[1]);
	const char *value = typed[2] ? typed + 2 : NULL;

	if (!f && !strcmp(typed, "-h")) {
		t->args->help = true;
		return true;
	}
	if (!f)
		return unknown(t->verb, typed, err);
	if (f->kind != FLAG_KIND_BOOL && !value)
		value = t->argv[t->at + 1] ? t->argv[++t->at] : NULL;
	return flag_set(t, f, value, err);
}

static bool count_words(const struct taking *t, struct err *err)
{
	const struct verb *v = t->verb;
	int n = t->args->nwords;
	char why[160];

	if (t->args->help || (n >= v->least && n <= v->most))
		return true;
	if (n < v->least)
		return verb_misused(v->name, v->wants ? v->wants : "a word is missing", err);
	(void)snprintf(why, sizeof(why), "\"%.40s\" is a word too many%s", t->args->words[v->most],
		v->most ? "; a text of several words is put in quotes" : "");
	return verb_misused(v->name, why, err);
}

bool args_take(struct pool *pool, const struct verb *v, int argc, char **argv, struct args *out,
	struct err *err)
{
	struct taking t = {.pool = pool, .verb = v, .args = out, .argv = argv};
	bool words_only = false;

	*out = (struct args){.options = pool_alloc(pool, v->options_size),
		.words = POOL_ARRAY(pool, char *, argc + 1)};
	for (t.at = 1; t.at < argc; t.at++) {
		char *typed = argv[t.at];
		bool ok = true;

		if (words_only || typed[0] != '-' || !typed[1])
			out->words[out->nwords++] = typed;
		else if (!strcmp(typed, "--"))
			words_only = true;
		else if (typed[1] == '-')
			ok = take_long(&t, typed, err);
		else
			ok = take_letter(&t, typed, err);
		if (!ok)
			return false;
	}
	return count_words(&t, err);
}
