/*
 * The languages. A file lies where its language looks for what it imports: beside the other files
 * of the run for python and javascript. Go takes the files of a folder for one package and java
 * looks by class path, so that theirs stay out of the way; so does a bash script, which looks
 * nowhere.
 */
#include "language.h"

#include <stddef.h>
#include <string.h>

#define APART "/run/asb" /* boxd's own folder in the box */

static const char *const none[] = {NULL};
static const char *const python_argv[] = {"python3", NULL};
static const char *const node_argv[] = {"node", NULL};
static const char *const bash_argv[] = {"bash", NULL};
static const char *const go_argv[] = {"go", "run", NULL};
static const char *const java_argv[] = {"java", "-cp", ".:lib/*", NULL};

const struct language languages[] = {
	{"python", "python", true, NULL, ".py", "pip", python_argv, none},
	{"javascript", "javascript", false, NULL, ".js", "npm", node_argv, none},
	{"bash", "bash", true, APART, ".sh", "apt", bash_argv, none},
	{"go", "go", false, APART, ".go", "go", go_argv, none},
	{"java", "java", false, APART, ".java", "maven", java_argv, none},
	{NULL},
};

const char *const language_names[] = {"python", "javascript", "bash", "go", "java", NULL};

const struct language *language_find(const char *name)
{
	for (const struct language *l = languages; l->name; l++)
		if (!strcmp(l->name, name))
			return l;
	return NULL;
}
