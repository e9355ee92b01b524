/*
 * docs/asb.1: the manual in mdoc, from the table of verbs and the table of exit statuses.
 */
#include <ctype.h>
#include <string.h>

#include "buf.h"
#include "verbs.h"
#include "version.h"

#define LINE_LEN 72 /* of the source: mandoc warns of longer ones */

/* May the text go on in a new line at this space? After a sentence it must. */
static bool breaks(const char *space, const char *text, size_t column)
{
	bool is_sentence = space > text && space[-1] == '.' && isupper((unsigned char)space[1]);

	return *space == '\n' || (*space == ' ' && space[1] && (is_sentence || column >= LINE_LEN));
}

/* Text: no backslash is an escape and no line begins with a request. `Code` in Markdown's quotes is
 * bold. */
static void add_text(struct buf *b, const char *text)
{
	bool is_code = false;
	size_t start = b->len;

	for (const char *s = text; *s; s++) {
		if (breaks(s, text, b->len - start)) {
			(void)buf_addc(b, '\n');
			start = b->len;
			continue;
		}
		if (b->len == start && (*s == '.' || *s == '\''))
			(void)buf_adds(b, "\\&");
		if (*s == '\\')
			(void)buf_adds(b, "\\e");
		else if (*s == '`')
			(void)buf_adds(b, (is_code = !is_code) ? "\\fB" : "\\fR");
		else
			(void)buf_addc(b, *s);
	}
	(void)buf_addc(b, '\n');
}

/* An argument of a macro, which is no macro itself. */
static void add_quoted(struct buf *b, const char *s, size_t n)
{
	(void)buf_addc(b, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			(void)buf_addc(b, '"');
		(void)buf_addc(b, s[i]);
		if (s[i] == '\\')
			(void)buf_addc(b, 'e');
	}
	(void)buf_addc(b, '"');
}

static void add_flag(struct buf *b, const struct flag *f)
{
	char typed[FLAG_TYPED_SIZE];

	flag_typed(f, typed);
	(void)buf_adds(b, ".It ");
	if (f->letter)
		(void)buf_addf(b, "Fl %c , ", f->letter);
	(void)buf_addf(b, "Fl %s", typed + 1);
	if (f->value) {
		(void)buf_adds(b, " Ar ");
		add_quoted(b, f->value, strlen(f->value));
	}
	(void)buf_addc(b, '\n');
	add_text(b, f->help);
}

static void add_verb(struct buf *b, const struct verb *v)
{
	char usage_text[8192];
	struct buf usage = BUF_INIT(sizeof(usage_text));
	char sentence[256];
	const char *line;

	(void)snprintf(sentence, sizeof(sentence), "%c%s.", toupper(v->summary[0]), v->summary + 1);
	(void)buf_addf(b, ".Ss asb %s\n", v->name);
	add_text(b, sentence);
	verb_print_usage(v, &usage);
	for (line = usage.data; *line; line += strcspn(line, "\n") + 1) {
		(void)buf_adds(b, ".Dl ");
		add_quoted(b, line, strcspn(line, "\n"));
		(void)buf_addc(b, '\n');
	}
	buf_done(&usage);
	if (v->nsubs || v->nflags)
		(void)buf_adds(b, ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < v->nsubs; i++) {
		(void)buf_addf(b, ".It Cm %s\n", v->subs[i].name);
		add_text(b, v->subs[i].summary);
	}
	for (size_t i = 0; i < v->nflags; i++)
		add_flag(b, &v->flags[i]);
	if (v->nsubs || v->nflags)
		(void)buf_adds(b, ".El\n");
	if (v->about) {
		(void)buf_adds(b, ".Pp\n");
		add_text(b, v->about);
	}
}

static const char intro[] =
	".Dd " ASB_VERSION_DATE "\n"
	".Dt ASB 1\n"
	".Os\n"
	".Sh NAME\n"
	".Nm asb\n"
	".Nd tasks for coding agents in throwaway boxes\n"
	".Sh SYNOPSIS\n"
	".Nm asb\n"
	".Ar verb\n"
	".Op Ar options\n"
	".Op Ar words\n"
	".Sh DESCRIPTION\n"
	".Nm\n"
	"talks to a site of Agent Sandbox.\n"
	"Results are on standard output, everything else is on standard error.\n"
	"Options and words may be mixed; after\n"
	".Fl \\-\n"
	"everything is a word.\n"
	".Pp\n"
	"Every verb takes\n"
	".Fl -json :\n"
	"the result is one JSON document on standard output, the object that the\n"
	"API answers with where it is one of the site's, and an error is\n"
	".Ql {\"error\":{\"code\",\"message\",\"fix\",\"context\"}} .\n"
	"Every verb takes\n"
	".Fl -help .\n"
	".Sh VERBS\n";

static const char outro[] =
	".Sh ENVIRONMENT\n"
	".Bl -tag -width Ds\n"
	".It Ev ASB_URL\n"
	"The site's address.\n"
	"Without it the site of the last\n"
	".Cm login\n"
	"is meant, else the one on this machine.\n"
	".It Ev ASB_TOKEN_FILE\n"
	"The file with the token or API key, one line.\n"
	"Without it what\n"
	".Cm login\n"
	"stored for that address is sent, else the operator's token of a site on\n"
	"this machine.\n"
	".El\n"
	".Sh FILES\n"
	".Bl -tag -width Ds\n"
	".It Pa ~/.config/agent-sandbox/logins.json\n"
	"Sites that were signed in to, with their tokens.\n"
	".It Pa ~/.config/agent-sandbox/sync-directories\n"
	"Directories that may be copied into sandboxes.\n"
	".El\n"
	".Sh EXIT STATUS\n"
	".Bl -tag -width Ds\n";

void verbs_print_man(struct buf *b)
{
	(void)buf_adds(b, ".\\\" Printed from the table of verbs by `make docs`.\n");
	(void)buf_adds(b, intro);
	for (const struct verb *const *v = verbs; *v; v++)
		add_verb(b, *v);
	(void)buf_adds(b, outro);
	for (const struct exit_status *s = exit_statuses; s->when; s++) {
		(void)buf_addf(b, ".It %d\n", s->status);
		add_text(b, s->when);
	}
	(void)buf_adds(b, ".El\n");
}
