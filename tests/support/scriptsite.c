/*
 * The scripted site of scriptsite.h.
 */
#include "scriptsite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"

void scriptsite_say(int fd, const char *head, const char *body)
{
	(void)dprintf(fd, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
}

static void serve_one(int fd, scriptsite_fn *fn, void *arg)
{
	CLEANUP(buf) struct buf b = BUF_INIT(1u << 20);
	const char *end, *length;

	for (;;) {
		char *room = buf_room(&b, 4096);
		ssize_t n = room ? read(fd, room, 4096) : 0;

		if (n <= 0)
			return;
		buf_grew(&b, (size_t)n);
		end = strstr(b.data, "\r\n\r\n");
		length = strstr(b.data, "Content-Length: ");
		if (end && (!length || b.len - (size_t)(end + 4 - b.data) >=
					       strtoul(length + 16, NULL, 10)))
			break;
	}
	fn(arg, fd, b.data);
}

void scriptsite_open(struct scriptsite *s)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	char url[64];

	*s = (struct scriptsite){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	if (bind(s->listener, (struct sockaddr *)&at, n) ||
		getsockname(s->listener, (struct sockaddr *)&at, &n))
		abort();
	s->port = ntohs(at.sin_port);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", s->port);
	(void)setenv("ASB_URL", url, 1);
	(void)setenv("ASB_TOKEN_FILE", "/dev/null", 1);
}

void scriptsite_start(struct scriptsite *s, scriptsite_fn *fn, void *arg)
{
	if (listen(s->listener, 64))
		abort();
	s->pid = fork();
	if (s->pid)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(s->listener, NULL, NULL);

		if (fd >= 0 && fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve_one(fd, fn, arg);
			_exit(0);
		}
		(void)close(fd);
	}
}

void scriptsite_close(struct scriptsite *s)
{
	if (s->pid > 0) {
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
	}
	(void)close(s->listener);
}
