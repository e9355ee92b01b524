/*
 * hook PreToolUse|PostToolUse [MARKER]: what an agent CLI runs before and after each of its tools.
 * While a question is open (boxd's marker is there) it says so in the CLI's own words: the tool is
 * denied and the turn ends, without another call of the model. Otherwise it says nothing.
 *
 * Only silence and exit 0 let a tool run, so that is what needs all to be well: a marker that
 * cannot be looked for counts as there, and words that cannot be said whole are a failure, which
 * the CLI was told (onFailure) to take as a refusal.
 */
#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MARKER_DEFAULT "/run/asb/question"
/* A CLI that does not close our stdin must not keep us: its own limit is 5 s. */
#define STDIN_MS 1000
#define REFUSED 2 /* the CLI's word for it; stderr is shown to the model */

#define WHY                                                                          \
	"A question is open. Stop now: every tool is refused until it is answered; " \
	"the answer comes as the next message."

static const char denied[] =
	"{\"continue\":false,\"stopReason\":\"question open\","
	"\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
	"\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"" WHY "\"}}\n";
static const char ended[] = "{\"continue\":false,\"stopReason\":\"question open\"}\n";

/* The call's description: of no use here, but a writer whose pipe breaks may take offence. */
static void stdin_drain(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	char text[4096];

	while (poll(&in, 1, STDIN_MS) == 1 && read(0, text, sizeof(text)) > 0)
		;
}

static bool is_open(const char *marker)
{
	struct stat st;

	if (!lstat(marker, &st) || errno != ENOENT)
		return true;
	/* where its folder is not there either, this is not a box that anybody set up */
	return !strcmp(marker, MARKER_DEFAULT) && access("/run/asb", X_OK) != 0;
}

int main(int argc, char **argv)
{
	const char *marker = argc > 2 ? argv[2] : MARKER_DEFAULT, *text;

	if (argc < 2 || argc > 3 ||
		(strcmp(argv[1], "PreToolUse") != 0 && strcmp(argv[1], "PostToolUse") != 0)) {
		(void)fprintf(stderr, "usage: hook PreToolUse|PostToolUse [MARKER]\n");
		return REFUSED;
	}
	stdin_drain();
	if (!is_open(marker))
		return 0;
	text = strcmp(argv[1], "PreToolUse") == 0 ? denied : ended;
	/* shorter than a pipe takes at once: all of it or a failure */
	if (write(1, text, strlen(text)) != (ssize_t)strlen(text)) {
		(void)fprintf(stderr, "%s\n", WHY);
		return REFUSED;
	}
	return 0;
}
