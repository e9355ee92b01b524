#pragma once
/*
 * The agents a task can be handed to, as people and doors see them. How each is started and what
 * its output means is workers/agents.h, a row there for each row here.
 */
#include <stdbool.h>

struct config;

enum agent_id { AGENT_SCRIPT, AGENT_CLAUDE, AGENT__COUNT };

struct agent_info {
	const char *title; /* for people */
	const char
		*image; /* what its box boots from unless the request names one; NULL: the site's */
	bool needs_model; /* it calls a model: the site must have a key for one */
};

extern const char *const agent_names[AGENT__COUNT + 1];	 /* by id; ends with NULL */
extern const struct agent_info agent_list[AGENT__COUNT]; /* by id */

bool agent_id_find(const char *name, enum agent_id *out); /* false: none of that name */
/* Whether the site's settings let it work at all. */
bool agent_is_ready(enum agent_id id, const struct config *cfg);
