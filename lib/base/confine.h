#pragma once
/*
 * What a program gives up once it is set up: new privileges, core dumps, namespaces, mounts,
 * looking into other processes, kernel interfaces that nothing here needs, and, unless it says that
 * it needs them, starting programs and sockets outside this host. Inherited by whatever it starts.
 */
#include "err.h"

enum confine_may {
	CONFINE_EXEC = 1, /* start programs */
	CONFINE_INET = 2, /* sockets of the internet families */
};

/* may: of confine_may, or 0. Filters add up: one that was refused stays refused. */
bool confine(unsigned may, struct err *err) NODISCARD;

/* Once in the main file of a confined program: the address sanitizer's leak check wants to trace
 * the process, which the filter refuses. */
#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
#define CONFINED_PROGRAM                         \
	const char *__asan_default_options(void) \
	{                                        \
		return "detect_leaks=0";         \
	}
#else
#define CONFINED_PROGRAM
#endif
