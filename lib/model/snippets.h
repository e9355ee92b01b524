#pragma once
/*
 * THE table of clients: how each is told of this site, in two forms. The stdio form starts `asb
 * mcp`, which can take the working tree along; the remote form names the site's address and an API
 * key, and needs no program of ours. `asb config`, the page of keys and docs/cli.md print from it.
 */
#include <stdbool.h>

struct buf;

enum snippet_syntax { SNIPPET_JSON, SNIPPET_TOML, SNIPPET_YAML };
enum snippet_form { SNIPPET_STDIO, SNIPPET_REMOTE };

struct snippet {
	const char *name;   /* asb config --format NAME */
	const char *client; /* as people call it */
	const char *file;   /* where it goes, from the home or the project's folder */
	enum snippet_syntax syntax;
	const char *root; /* the member that holds all servers */
	const char *more; /* JSON: members this client wants beside those of the form, or NULL */
	/* the remote form */
	const char *url;	 /* the member with the address */
	const char *remote_more; /* as more */
	const char *bearer; /* the value of Authorization: where this client takes the key from */
};

/* What is filled in. No secret: a token stays in its file, a key where its owner has it. */
struct snippet_values {
	const char *program; /* absolute path of asb: clients have a PATH of their own */
	const char *url;
	const char *token_file; /* NULL: `asb login` has stored one */
};

/* Where the key is to be put by hand, for clients that read no environment. */
#define SNIPPET_KEY "KEY"
/* Where the others find it. */
#define SNIPPET_KEY_VARIABLE "ASB_API_KEY"
/* What is left to do when the text is in its place. */
#define SNIPPET_THEN "clients read it at launch"

extern const struct snippet snippets[]; /* ended by a row without a name */
/* NULL: none of that name. */
const struct snippet *snippet_find(const char *name);
/* Of the remote form: SNIPPET_KEY where it is put into the text by hand, else the variable. */
const char *snippet_key_place(const struct snippet *s);
/* Appends the text to paste, with a newline at its end. */
void snippet_print(const struct snippet *s, enum snippet_form form,
	const struct snippet_values *values, struct buf *out);
