/*
 * asb-ask "question": asks whoever delegated the run, waits, prints the answer. Runs in the box as
 * the agent; boxd freezes it meanwhile, so that no time passes here.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKET_DEFAULT "/run/asb/ask.sock"

static int fail(const char *what)
{
	(void)fprintf(stderr, "asb-ask: %s: %s\n", what, strerror(errno));
	return 1;
}

static int socket_open(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *path = getenv("ASB_ASK_SOCK");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!path || !*path)
		path = SOCKET_DEFAULT;
	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -1;
	return fd;
}

static int text_send(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		text += n;
		left -= (size_t)n;
	}
	return shutdown(fd, SHUT_WR);
}

/* Copies what comes after the verdict line to out or, where it is not "ok", to stderr. */
static int answer_print(FILE *in)
{
	char line[16], text[4096];
	FILE *to;
	size_t n;
	int ok, last = '\n';

	if (!fgets(line, sizeof(line), in)) {
		(void)fprintf(stderr, "asb-ask: no answer came\n");
		return 1;
	}
	ok = strcmp(line, "ok\n") == 0;
	to = ok ? stdout : stderr;
	if (!ok)
		(void)fputs("asb-ask: ", to);
	while ((n = fread(text, 1, sizeof(text), in)) > 0) {
		(void)fwrite(text, 1, n, to);
		last = (unsigned char)text[n - 1];
	}
	if (last != '\n')
		(void)fputc('\n', to);
	return fflush(to) || !ok ? 1 : 0;
}

int main(int argc, char **argv)
{
	FILE *in;
	int fd, status;

	if (argc != 2 || !argv[1][0]) {
		(void)fprintf(stderr, "usage: asb-ask \"question\"\n");
		return 2;
	}
	fd = socket_open();
	if (fd < 0)
		return fail("connect");
	/* a refusal may come before all was read: then sending fails, and reading says why */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)text_send(fd, argv[1]);
	in = fdopen(fd, "r");
	if (!in)
		return fail("read");
	status = answer_print(in);
	(void)fclose(in);
	return status;
}
