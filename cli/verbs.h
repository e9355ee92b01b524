#pragma once
/* The table of verbs: what `asb NAME` can be. A new verb is one verb_NAME.c and one row. */
#include "err.h"

struct buf;
struct cli;

/* argv[0] is the verb's name. *status: what the program exits with. */
typedef bool verb_fn(struct cli *cli, int argc, char **argv, int *status, struct err *err);

struct verb {
	const char *name;
	const char *usage;   /* after "asb NAME" */
	const char *summary; /* one line for `asb help` */
	const char *options; /* lines for `asb help NAME`; NULL: none */
	verb_fn *run;
};

extern const struct verb verbs[]; /* ended by a row without a name */
/* NULL where there is none of that name. */
const struct verb *verb_find(const char *name);
/* The table as Markdown: docs/cli.md. */
void verbs_print(struct buf *b);
/* ERR_INVALID with the verb's usage. Always false. */
bool verb_misused(const char *name, const char *why, struct err *err);
/* After getopt_long found something wrong in argv. Always false. */
bool verb_bad_option(char **argv, struct err *err);
/* Options of a verb that has --json alone; what stands from optind on is `least` to `most` words,
 * else verb_misused(why). */
bool verb_take_json(struct cli *cli, int argc, char **argv, int least, int most, const char *why,
	struct err *err) NODISCARD;

verb_fn verb_build;
verb_fn verb_config;
verb_fn verb_delegate;
verb_fn verb_diff;
verb_fn verb_doctor;
verb_fn verb_files;
verb_fn verb_help;
verb_fn verb_init;
verb_fn verb_migrate;
verb_fn verb_resume;
verb_fn verb_sandbox;
verb_fn verb_status;
verb_fn verb_teardown;
verb_fn verb_verify;
verb_fn verb_watch;
