#pragma once
/*
 * A shell that is begun before its script is there (exec_ahead.c). It is held where it opens the
 * file that BASH_ENV names, which it obeys before it opens its script: there it is told what it
 * found when it began and what may be otherwise by now. So a template holds one: its clones have
 * their own names, numbers and folder, and of what a shell does first nothing is left to do
 * (docs/decisions/0002).
 */
#include <stdbool.h>

#include "exec_request.h"

struct pool;

/* bash with a script and nothing else. */
bool shell_is(const struct exec_request *rq);
/* The file it is held at. */
const char *shell_file(struct pool *pool, const char *run_dir);
/* Names that file in the environment of a request that is to be begun. */
void shell_env(struct pool *pool, struct exec_request *rq, const char *run_dir);
/* What is to stand in it for this request. The script sees what it would have seen: its variables,
 * its folder, a clock at 0, random numbers of its own. */
const char *shell_text(struct pool *pool, const struct exec_request *rq);
