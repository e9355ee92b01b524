/*
 * The table of verbs on a terminal: `asb help`.
 */
#include <string.h>

#include "buf.h"
#include "verbs.h"

#define COLUMN_MAX 24 /* a longer name has its help on the next line */

void verb_print_usage(const struct verb *v, struct buf *b)
{
	if (!v->nsubs) {
		(void)buf_addf(b, "asb %s%s%s%s\n", v->name, v->nflags ? " [options]" : " [--json]",
			*v->usage ? " " : "", v->usage);
		return;
	}
	for (size_t i = 0; i < v->nsubs; i++)
		(void)buf_addf(b, "asb %s %s%s%s%s\n", v->name, v->subs[i].name,
			v->nflags ? " [options]" : " [--json]", *v->subs[i].usage ? " " : "",
			v->subs[i].usage);
}

/* "  name   text", every line of the text in its column. */
static void print_row(struct buf *b, const char *name, const char *text, int column)
{
	const char *newline;

	if ((int)strlen(name) > column - 2)
		(void)buf_addf(b, "  %s\n  %*s", name, column, "");
	else
		(void)buf_addf(b, "  %-*s", column, name);
	for (; (newline = strchr(text, '\n')); text = newline + 1)
		(void)buf_addf(b, "%.*s\n  %*s", (int)(newline - text), text, column, "");
	(void)buf_addf(b, "%s\n", text);
}

static void flag_name(const struct flag *f, char *out, size_t size)
{
	char typed[FLAG_TYPED_SIZE];

	flag_typed(f, typed);
	if (f->letter)
		(void)snprintf(out, size, "-%c, %s%s%s", f->letter, typed, f->value ? " " : "",
			f->value ? f->value : "");
	else
		(void)snprintf(
			out, size, "%s%s%s", typed, f->value ? " " : "", f->value ? f->value : "");
}

void verb_print_help(const struct verb *v, struct buf *b)
{
	int column = (int)sizeof("--json");
	char name[80];

	verb_print_usage(v, b);
	(void)buf_addf(b, "%s.\n", v->summary);
	for (size_t i = 0; i < v->nflags; i++) {
		flag_name(&v->flags[i], name, sizeof(name));
		if ((int)strlen(name) + 2 > column)
			column = (int)strlen(name) + 2;
	}
	if (column > COLUMN_MAX)
		column = COLUMN_MAX;
	for (size_t i = 0; i < v->nsubs; i++) {
		(void)snprintf(name, sizeof(name), "%s%s%s", v->subs[i].name,
			*v->subs[i].usage ? " " : "", v->subs[i].usage);
		print_row(b, name, v->subs[i].summary, COLUMN_MAX + 4);
	}
	for (size_t i = 0; i < v->nflags; i++) {
		flag_name(&v->flags[i], name, sizeof(name));
		print_row(b, name, v->flags[i].help, column);
	}
	print_row(b, "--json", "the result, or the error, as JSON", column);
	if (v->about)
		(void)buf_addf(b, "%s\n", v->about);
}

void verbs_print_help(struct buf *b)
{
	int column = 0;

	(void)buf_adds(b, "asb: tasks for coding agents in throwaway boxes\n\n");
	for (const struct verb *const *v = verbs; *v; v++)
		if ((int)strlen((*v)->name) > column)
			column = (int)strlen((*v)->name);
	for (const struct verb *const *v = verbs; *v; v++)
		(void)buf_addf(b, "  asb %-*s  %s\n", column, (*v)->name, (*v)->summary);
	(void)buf_adds(b,
		"\nasb help VERB says more, `man asb` all. The site is that of ASB_URL, of the "
		"last\nasb login, or the one on this machine.\n");
}
