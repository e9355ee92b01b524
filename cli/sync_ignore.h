#pragma once
/*
 * The person's own rules about what a sync leaves at home: the file .agentsandboxignore at the top
 *of an enabled directory. Its lines are patterns as in a .gitignore:
 *
 *	# comment, and empty lines	nothing
 *	name		a file or folder of this name, at any depth
 *	/name  a/b	from the top: a slash at the beginning or in the middle anchors
 *	name/		folders only
 *	!pattern	kept after all; the last line that matches decides
 *	* ? [a-z] [!a]	within one part of a path: any run, one byte, one byte of a set (or of none)
 *	** as a whole part	any number of folders, none included; as the last part, everything
 *within \c		the character c itself; so a name may begin with # or !, or end with a space
 *
 * Spaces at a line's end do not count, nor does a carriage return there. What is in a folder that
 *is left out cannot be kept by a later line, and no line brings back what is never copied. A line
 *that cannot mean anything (an open [, a \ at its end, a//b, a named class) is an error and not
 *silence.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct ignore;
struct pool;

#define IGNORE_FILE ".agentsandboxignore"
#define IGNORE_MAX (64u * 1024)

bool ignore_parse(
	struct pool *pool, const char *text, struct ignore **out, struct err *err) NODISCARD;
/* The number of the line that leaves path (relative to the top) out; 0 where none does. Looks at
 * this path alone: whoever walks has asked for the folders above it. */
int ignore_line(const struct ignore *ignore, const char *path, bool is_folder);
