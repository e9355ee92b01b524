#pragma once
/*
 * THE table of coding agents: how each is started in a box and what its output means.
 */
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct guest;
struct logsink;
struct trace;

struct agent {
	const char *name;
	const char *const *argv;
	const char *const *env; /* pairs: name, value */
	/* Puts what the agent needs into the box, the task among it; as files, never in argv. */
	bool (*prepare)(struct guest *g, const char *task, int64_t deadline, struct err *err);
	/* Makes trace rows of the chunks that are about to be committed. */
	void (*output)(struct trace *trace, const struct logsink *sink);
};

extern const struct agent *const agents[];	  /* ends with NULL */
const struct agent *agent_find(const char *name); /* NULL: none of that name */
