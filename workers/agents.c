/*
 * The agents there are.
 */
#include "agents.h"

#include <stddef.h>
#include <string.h>

extern const struct agent agent_script;

const struct agent *const agents[] = {
	&agent_script,
	NULL,
};

const struct agent *agent_find(const char *name)
{
	for (size_t i = 0; agents[i]; i++)
		if (!strcmp(agents[i]->name, name))
			return agents[i];
	return NULL;
}
