/*
 * Reading a secret. A signal that comes while the terminal shows nothing ends the program once it
 * shows again what is typed.
 */
#include "hidden.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "pool.h"
#include "text.h"

static volatile sig_atomic_t came;

static void note(int signo)
{
	came = signo;
}

/* Without SA_RESTART: reading the line ends. */
static bool type_line(const char *what, char *line, int size)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };
	struct sigaction mine = {.sa_handler = note}, before[SIGNALS];
	struct termios shown, hidden;
	bool ok;

	if (tcgetattr(STDIN_FILENO, &shown))
		return false;
	for (int i = 0; i < SIGNALS; i++)
		(void)sigaction(signals[i], &mine, &before[i]);
	hidden = shown;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	/* before it is asked for: an answer that comes at once is neither shown nor thrown away */
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
	(void)fprintf(stderr, "%s: ", what);
	(void)fflush(stderr);
	ok = fgets(line, size, stdin) != NULL;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
	(void)fputc('\n', stderr);
	for (int i = 0; i < SIGNALS; i++)
		(void)sigaction(signals[i], &before[i], NULL);
	if (came)
		(void)raise(came);
	return ok;
}

bool hidden_read(struct pool *pool, const char *what, int max, const char **line, struct err *err)
{
	const int size = max + 3; /* CR LF, and NUL */
	char *typed = pool_alloc(pool, (size_t)size);
	size_t n;

	/* nothing of it stays in a buffer of the library's */
	(void)setvbuf(stdin, NULL, _IONBF, 0);
	if (isatty(STDIN_FILENO) ? !type_line(what, typed, size) : !fgets(typed, size, stdin))
		return err_set(err, ERR_INVALID, "no %s came", what);
	n = strcspn(typed, "\r\n");
	if (n > (size_t)max)
		return err_set(err, ERR_INVALID, "the %s has more than %d characters", what, max);
	explicit_bzero(typed + n, strlen(typed + n));
	*line = typed;
	return true;
}
