#pragma once
/*
 * THE table of clients: how each is told of this site. `asb config` prints from it, and so does
 * whatever else shows a person what to paste where.
 */
#include <stdbool.h>

struct buf;

enum snippet_syntax { SNIPPET_JSON, SNIPPET_TOML, SNIPPET_YAML };

struct snippet {
	const char *name;   /* asb config --format NAME */
	const char *client; /* as people call it */
	const char *file;   /* where it goes, from the home or the project's folder */
	enum snippet_syntax syntax;
	const char *root; /* the member that holds all servers */
	const char
		*more; /* JSON: members this client wants beside command, args and env, or NULL */
};

/* What is filled in. No secret: the token stays in its file. */
struct snippet_values {
	const char *program; /* absolute path of asb: clients have a PATH of their own */
	const char *url;
	const char *token_file;
};

extern const struct snippet snippets[]; /* ended by a row without a name */
/* NULL: none of that name. */
const struct snippet *snippet_find(const char *name);
/* Appends the text to paste, with a newline at its end. */
void snippet_print(const struct snippet *s, const struct snippet_values *values, struct buf *out);
