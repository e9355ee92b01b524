#pragma once
/*
 * The files of a sandbox's run: its code, where its language wants it, and what was sent along.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct exec;
struct guest;
struct pool;

/* The code's. All NULL but env where the exec has none. */
struct run_file {
	const char *path, *dir, *name; /* path: dir/name */
	const char *text;	       /* NULL: too long to go with the exec */
	const char *const *env;	       /* of its language; NULL: none */
	bool ahead;		       /* the next may be begun before it is asked for */
};
struct run_file run_file_of(struct pool *pool, const struct exec *e, const char *cwd);
/* Puts {"path":"text"} below cwd, as the agent. */
bool run_files_send(struct guest *g, const char *cwd, const char *files, int64_t deadline,
	struct err *err) NODISCARD;
