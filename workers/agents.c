/*
 * The agents there are.
 */
#include "agents.h"

#include <stddef.h>

#include "agent_list.h"

extern const struct agent agent_claude, agent_script;

static const struct agent *const agents[AGENT__COUNT] = {
	[AGENT_SCRIPT] = &agent_script,
	[AGENT_CLAUDE] = &agent_claude,
};

const struct agent *agent_find(const char *name)
{
	enum agent_id id;

	return agent_id_find(name, &id) ? agents[id] : NULL;
}
