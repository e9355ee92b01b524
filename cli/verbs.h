#pragma once
/*
 * The table of verbs: what `asb NAME` can be. A verb is one verb_NAME.c with its row, and one line
 * in verbs.c; command line, help, docs/cli.md, the manual docs/asb.1 and completion come from it.
 */
#include "args.h"
#include "err.h"

struct buf;
struct cli;

/* options: the struct that the verb's flags fill. words ends with a NULL. *status: what the program
 * exits with, 0 before. */
typedef bool verb_fn(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err);

/* What a word can be, for completion. BOX: of a sandbox or of a session. */
enum word_kind {
	WORD_ANY,
	WORD_FILE,
	WORD_SUB,
	WORD_SESSION,
	WORD_SANDBOX,
	WORD_BOX,
	WORD_SECRET,
	WORD_VERB
};

/* A verb whose first word says what is to be done. */
struct subverb {
	const char *name;
	const char *usage; /* its words */
	const char *summary;
	enum word_kind word; /* the one after it */
};

struct verb {
	const char *name;
	const char *usage;   /* its words, without the flags */
	const char *summary; /* one line */
	const char *about;   /* more lines; NULL: none */
	const struct subverb *subs;
	size_t nsubs;
	const struct flag *flags;
	size_t nflags;
	size_t options_size;
	int least, most;   /* words */
	const char *wants; /* what is said where there are fewer */
	enum word_kind word;
	verb_fn *run;
};
#define VERB_FLAGS(struct_, rows) \
	.flags = (rows), .nflags = sizeof(rows) / sizeof((rows)[0]), .options_size = sizeof(struct_)
#define VERB_SUBS(rows) .subs = (rows), .nsubs = sizeof(rows) / sizeof((rows)[0])

extern const struct verb *const verbs[]; /* ended by NULL */
/* NULL where there is none of that name. */
const struct verb *verb_find(const char *name);
/* ERR_INVALID that says what was meant, where something was. Always false. */
bool verb_unknown(const char *name, struct err *err);
/* ERR_INVALID with the verb's usage. Always false. */
bool verb_misused(const char *name, const char *why, struct err *err);
/* The row of v->subs that the word names; where there is none, verb_misused and NULL. */
const struct subverb *verb_sub(const struct verb *v, const char *word, struct err *err);

/* --- print_help.c --- */
/* "asb watch [options] SESSION" and a newline, a line for each way to say it. */
void verb_print_usage(const struct verb *v, struct buf *b);
/* What `asb help NAME` says, and `asb help`. */
void verb_print_help(const struct verb *v, struct buf *b);
void verbs_print_help(struct buf *b);
/* --- print_docs.c: docs/cli.md --- */
void verbs_print_docs(struct buf *b);
/* --- print_man.c: docs/asb.1 --- */
void verbs_print_man(struct buf *b);

/* Exit statuses, as they are documented: statuses.c. */
struct exit_status {
	int status;
	const char *when;
};
extern const struct exit_status exit_statuses[]; /* ended by a row without `when` */
/* What the program exits with for this error. */
int exit_status_of(const struct err *err);
