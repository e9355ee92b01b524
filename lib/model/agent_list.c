/*
 * The table of agents.
 */
#include "agent_list.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *const agent_names[] = {
	[AGENT_SCRIPT] = "script",
	[AGENT_CLAUDE] = "claude",
	[AGENT__COUNT] = NULL,
};
static_assert(sizeof(agent_names) / sizeof(agent_names[0]) == AGENT__COUNT + 1, "a name each");

const struct agent_info agent_list[] = {
	[AGENT_SCRIPT] = {.title = "Shell script", .secret = SECRET__COUNT},
	[AGENT_CLAUDE] = {.title = "Claude Code",
		.image = "claude",
		.secret = SECRET_ANTHROPIC_API_KEY},
};
static_assert(sizeof(agent_list) / sizeof(agent_list[0]) == AGENT__COUNT, "a row each");

bool agent_id_find(const char *name, enum agent_id *out)
{
	for (int i = 0; i < AGENT__COUNT; i++)
		if (!strcmp(name, agent_names[i])) {
			*out = (enum agent_id)i;
			return true;
		}
	return false;
}
