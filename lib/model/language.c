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
/* A run lasts a minute at most: Java's second compiler would take time in it, above all under
 * emulation, and pays for that only later. */
static const char *const java_argv[] = {"java", "-XX:TieredStopAtLevel=1", "-cp", ".:lib/*", NULL};

static const char *const python_warm[] = {"python3", "-c", "print()", NULL};
static const char *const node_warm[] = {"node", "-e", "console.log()", NULL};
static const char *const java_warm[] = {"java", "-XX:-UsePerfData", "-version", NULL};

const struct language languages[] = {
	{"python", "python", true, true, NULL, ".py", "pip", python_argv, none, python_warm},
	{"javascript", "javascript", false, true, NULL, ".js", "npm", node_argv, none, node_warm},
	{"bash", "bash", true, false, APART, ".sh", "apt", bash_argv, none, NULL},
	{"go", "go", false, false, APART, ".go", "go", go_argv, none, NULL},
	{"java", "java", false, false, APART, ".java", "maven", java_argv, none, java_warm},
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

bool language_is_in(const struct language *l, const char *image)
{
	return !strcmp(l->image, image) || (l->is_in_base && !strcmp(image, "base"));
}
