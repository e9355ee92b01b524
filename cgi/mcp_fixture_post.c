/*
 * Letters between the children of asb-web, for the conformance fixtures: a datagram is a letter, a
 * socket in RUN_DIR a letter box.
 */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "mcp_fixture.h"
#include "pool.h"
#include "text.h"

#define PREFIX "conformance-"
#define LETTER_MAX 65536

struct fixture_box {
	int fd;
	struct sockaddr_un at;
};

static bool address(const struct config *cfg, const char *name, struct sockaddr_un *to)
{
	int n;

	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(to->sun_path, sizeof(to->sun_path), "%s/" PREFIX "%s", cfg->run_dir, name);
	return text_is_name(name) && n < (int)sizeof(to->sun_path);
}

static void box_close(void *arg)
{
	struct fixture_box *box = arg;

	(void)close(box->fd);
	(void)unlink(box->at.sun_path);
}

struct fixture_box *fixture_box_open(
	struct pool *pool, const struct config *cfg, const char *name, struct err *err)
{
	struct fixture_box *box = POOL_NEW(pool, struct fixture_box);

	if (!address(cfg, name, &box->at)) {
		(void)err_set(err, ERR_INTERNAL, "conformance: name too long");
		return NULL;
	}
	box->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (box->fd < 0 || bind(box->fd, (const struct sockaddr *)&box->at, sizeof(box->at))) {
		(void)err_errno(err, ERR_INTERNAL, "conformance: bind");
		return NULL;
	}
	pool_defer(pool, box_close, box);
	return box;
}

bool fixture_box_take(struct fixture_box *box, int wait_ms, struct buf *out)
{
	struct pollfd pfd = {.fd = box->fd, .events = POLLIN};
	char *to = buf_room(out, LETTER_MAX);
	ssize_t n = to && poll(&pfd, 1, wait_ms) == 1 ? recv(box->fd, to, LETTER_MAX, 0) : -1;

	if (n <= 0)
		return false;
	buf_grew(out, (size_t)n);
	return true;
}

static void send_to(const struct config *cfg, const char *name, const char *text, size_t n)
{
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to;

	/* nobody may be waiting any more: then it is for nobody */
	if (fd >= 0 && address(cfg, name, &to))
		(void)sendto(fd, text, n, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to));
}

void fixture_post(const struct config *cfg, const char *name, bool each, const char *text, size_t n)
{
	DIR *dir;

	if (!each) {
		send_to(cfg, name, text, n);
		return;
	}
	dir = opendir(cfg->run_dir);
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
		if (text_has_prefix(e->d_name, PREFIX) &&
			text_has_prefix(e->d_name + sizeof(PREFIX) - 1, name))
			send_to(cfg, e->d_name + sizeof(PREFIX) - 1, text, n);
	if (dir)
		(void)closedir(dir);
}
