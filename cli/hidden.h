#pragma once
/*
 * A secret's way in: typed at a terminal without being shown, or the first line of standard input.
 * Never an argument: a command line can be read by everyone.
 */
#include <stdbool.h>

#include "err.h"

struct pool;

/* One line of at most max bytes, without its newline. what: what is asked for at the terminal.
 * ERR_INVALID where none came. */
bool hidden_read(
	struct pool *pool, const char *what, int max, const char **line, struct err *err) NODISCARD;
