/*
 * Writing to one client without ever waiting for it. Input is read and dropped: the only thing a
 * client can say after its request is that it is gone.
 */
#include "live_conn.h"

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "live_records.h"
#include "loop.h"
#include "text.h"

/* One event larger than this cannot come from our rows: JSON on every door ends at 8 MiB. */
#define OUT_MAX (CONN_PENDING_MAX + 16 * 1024 * 1024)
/* Memory that a client with nothing pending may keep. */
#define OUT_KEEP 4096

/* Being writable matters while something is pending, and once more after that where somebody waits
 * to hear of it: `drained` and the `gone` of an orderly end come from the loop, never from inside
 * the owner's call. */
static void conn_watch(struct conn *c)
{
	const bool want = c->out.len || c->blocked || c->ending;

	if (want != c->wants_out)
		watch_set_events(c->watch, EPOLLIN | EPOLLRDHUP | (want ? EPOLLOUT : 0));
	c->wants_out = want;
}

/* Writes what the socket takes. False: broken. */
static bool conn_flush(struct conn *c)
{
	size_t done = 0;

	while (done < c->out.len) {
		ssize_t n = send(
			c->fd, c->out.data + done, c->out.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	if (done || !c->out.len)
		c->moved_ms = time_boot_ms();
	buf_shift(&c->out, done);
	if (!c->out.len && c->out.cap > OUT_KEEP)
		buf_done(&c->out);
	conn_watch(c);
	return true;
}

/* Reads and drops input. False: end of file. */
static bool conn_drop_input(struct conn *c)
{
	char bin[4096];
	ssize_t n;

	do
		n = recv(c->fd, bin, sizeof(bin), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN;
}

static void conn_ready(struct loop *loop, uint32_t events, void *arg)
{
	struct conn *c = arg;

	(void)loop;
	if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) || !conn_drop_input(c) ||
		((events & EPOLLOUT) && !conn_flush(c)) || (c->ending && !c->out.len)) {
		c->events->gone(c);
		return;
	}
	if (c->blocked && c->out.len <= CONN_PENDING_LOW) {
		c->blocked = false;
		conn_watch(c);
		c->events->drained(c);
	}
}

void conn_init(struct conn *c, struct loop *loop, size_t *count, int fd, int id,
	const struct conn_events *events)
{
	*c = (struct conn){.loop = loop, .count = count, .fd = fd, .id = id, .events = events};
	buf_init(&c->out, OUT_MAX);
	c->moved_ms = time_boot_ms();
	++*count;
	c->watch = loop_add_fd(loop, fd, EPOLLIN | EPOLLRDHUP, conn_ready, c);
}

void conn_done(struct conn *c)
{
	watch_remove(c->watch);
	--*c->count;
	(void)close(c->fd);
	buf_done(&c->out);
}

bool conn_send(struct conn *c, const void *data, size_t n)
{
	if (c->ending)
		return true;
	if (!records_add_stdout(&c->out, c->id, data, n) || !conn_flush(c))
		return false;
	if (c->out.len > CONN_PENDING_LOW)
		c->blocked = true;
	return true;
}

void conn_block(struct conn *c)
{
	c->blocked = true;
	conn_watch(c);
}

size_t conn_room(const struct conn *c)
{
	return c->out.len >= CONN_PENDING_MAX ? 0 : CONN_PENDING_MAX - c->out.len;
}

bool conn_end(struct conn *c)
{
	if (c->ending)
		return true;
	c->ending = true;
	return records_add_end(&c->out, c->id) && conn_flush(c);
}
