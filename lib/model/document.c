/*
 * The asking side of the gate's documents: connect, one question, one answer, under a deadline.
 */
#include "document.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "config.h"
#include "pool.h"
#include "sockpeer.h"

#define GATE_UID 2 /* behind uid_base */
#define WORD_MAX 64

/* To the gate's own uid, or one that runs as we do. */
static bool connect_gate(const struct config *cfg, int *out, struct err *err)
{
	const struct timeval limit = {.tv_sec = DOCUMENT_MS / 1000 + 2};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/" DOCUMENT_SOCKET, cfg->run_dir);
	uid_t gate = cfg->uid_base ? (uid_t)(cfg->uid_base + GATE_UID) : geteuid();

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(err, ERR_INTERNAL, "ASB_RUN_DIR is too long for a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return err_errno(err, ERR_BUSY, "the gate cannot be asked");
	if (socket_peer(fd) != gate)
		return err_set(err, ERR_FORBIDDEN, "the socket of documents is not the gate's");
	*out = STEAL_FD(fd);
	return true;
}

static bool exchange(int fd, const char *url, struct buf *answer, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(DOCUMENT_URL_MAX + 2);
	ssize_t n = 1;

	if (!buf_addf(&b, "%s\n", url) || send(fd, b.data, b.len, MSG_NOSIGNAL) != (ssize_t)b.len)
		return err_set(err, ERR_BUSY, "the gate cannot be asked");
	while (n > 0) {
		char *to = buf_room(answer, 4096);

		n = to ? recv(fd, to, 4096, 0) : -1;
		if (n > 0)
			buf_grew(answer, (size_t)n);
	}
	return n == 0 || err_set(err, ERR_UPSTREAM, "the gate did not answer in time");
}

bool document_ask(const struct config *cfg, struct pool *pool, const char *url, const char **out,
	size_t *n, struct err *err)
{
	CLEANUP(buf) struct buf b = BUF_INIT(DOCUMENT_MAX + WORD_MAX + 8192);
	CLEANUP(fd) int fd = -1;
	const char *rest;

	if (!connect_gate(cfg, &fd, err) || !exchange(fd, url, &b, err))
		return false;
	rest = memchr(b.data, '\n', b.len);
	if (!rest)
		return err_set(err, ERR_UPSTREAM, "the gate gave no answer");
	rest++;
	if (!strncmp(b.data, "busy\n", 5))
		return err_set(err, ERR_BUSY, "%.200s", rest);
	if (strncmp(b.data, "ok\n", 3) != 0)
		return err_set(err, ERR_UPSTREAM, "%.200s", rest);
	*n = b.len - (size_t)(rest - b.data);
	*out = pool_memdup(pool, rest, *n);
	return true;
}
