#pragma once
/*
 * The agents a task can be handed to, as people and doors see them. How each is started and what
 * its output means is workers/agents.h, a row there for each row here.
 */
#include <stdbool.h>

#include "secret.h"

enum agent_id { AGENT_SCRIPT, AGENT_CLAUDE, AGENT__COUNT };

struct agent_info {
	const char *title; /* for people */
	const char
		*image; /* what its box boots from unless the request names one; NULL: the site's */
	enum secret_id secret; /* what the gate must have for it; SECRET__COUNT: nothing */
};

extern const char *const agent_names[AGENT__COUNT + 1];	 /* by id; ends with NULL */
extern const struct agent_info agent_list[AGENT__COUNT]; /* by id */

bool agent_id_find(const char *name, enum agent_id *out); /* false: none of that name */
