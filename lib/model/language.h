#pragma once
/*
 * THE table of languages a sandbox can have: what runs the code, where the code lies, what installs
 * packages. Adding one is a row here, an image of its name and an installer.
 */
#include <stdbool.h>

#include "err.h"

struct language {
	const char *name;
	const char *image;	 /* what its sandboxes boot from */
	bool is_in_base;	 /* the image `base` can run it too */
	bool ahead;		 /* its program is worth beginning before there is code for it */
	const char *dir;	 /* where the code's file goes; NULL: where the run works */
	const char *suffix;	 /* of the file's name */
	const char *manager;	 /* what installs its packages: pip | npm | apt | go | maven */
	const char *const *argv; /* ends with NULL; the path of the code's file comes behind */
	const char *const *env;	 /* pairs of name and value, ends with NULL */
	/* Begins, does little and leaves nothing: a box of the pool has run it once. NULL: is not
	 * worth it, as of bash, which any of them has run. */
	const char *const *warm;
};

extern const struct language languages[];		/* ends with a NULL name */
extern const char *const language_names[];		/* the same in this order, ends with NULL */
const struct language *language_find(const char *name); /* NULL: none of that name */
/* Can code of the language be run in the image? Of a person's own image nothing is known. */
bool language_is_in(const struct language *l, const char *image);
