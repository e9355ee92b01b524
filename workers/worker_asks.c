/*
 * What the worker asks of shims and of asb-spawn without waiting: a ping (a box whose shim hears
 * nobody for 120 s is killed by it, and a frozen box has no runner to speak for it), and the end of
 * a process that has no row. An answer that is late must never make a lease late.
 */
#include "worker.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "box/wire.h"
#include "cleanup.h"
#include "config.h"
#include "log.h"
#include "pool.h"
#include "spawn.h"
#include "text.h"

#define KILL_MS 40000 /* past it asb-spawn is asked again */

struct ask {
	struct ask *next;
	struct worker *w;
	char box[64];
	bool is_kill;
	int fd;
	struct watch *watch;
	int64_t since_ms;
};

static void ask_free(struct ask *a)
{
	struct ask **at = &a->w->asks;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	watch_remove(a->watch);
	(void)close(a->fd);
	free(a);
}

static struct ask *ask_find(struct worker *w, const char *box, bool is_kill)
{
	struct ask *a;

	for (a = w->asks; a; a = a->next)
		if (a->is_kill == is_kill && !strcmp(a->box, box))
			break;
	return a;
}

static void on_answer(struct loop *loop, uint32_t events, void *arg)
{
	struct ask *a = arg;
	char pong[256];
	struct err err;

	(void)loop;
	(void)events;
	if (a->is_kill ? !spawn_kill_answer(a->fd, &err) : recv(a->fd, pong, sizeof(pong), 0) <= 0)
		log_warn("box=%s %s", a->box,
			a->is_kill ? log_quote(err.msg) : "its shim does not answer");
	ask_free(a);
}

/* Takes the descriptor. */
static void ask_add(struct worker *w, const char *box, bool is_kill, int fd)
{
	struct ask *a = mem_alloc(sizeof(*a));

	*a = (struct ask){
		.next = w->asks, .w = w, .is_kill = is_kill, .fd = fd, .since_ms = time_boot_ms()};
	(void)snprintf(a->box, sizeof(a->box), "%s", box);
	w->asks = a;
	a->watch = loop_add_fd(w->loop, fd, EPOLLIN, on_answer, a);
}

static bool ping_send(const struct worker *w, const char *box, int *out)
{
	CLEANUP(buf) struct buf ping = BUF_INIT(256);
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(
		a.sun_path, sizeof(a.sun_path), "%s/box/%s/shim.sock", w->cfg->run_dir, box);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path) ||
		connect(fd, (struct sockaddr *)&a, sizeof(a)) ||
		!wire_add(&ping, WIRE_PING, 0, "worker", 6) ||
		send(fd, ping.data, ping.len, MSG_NOSIGNAL) != (ssize_t)ping.len)
		return false;
	*out = STEAL_FD(fd);
	return true;
}

void ask_ping(struct worker *w, const char *box)
{
	struct ask *before = ask_find(w, box, false);
	bool silent = before != NULL;
	int fd;

	if (before)
		ask_free(before);
	if (ping_send(w, box, &fd))
		ask_add(w, box, false, fd);
	else
		silent = true;
	if (silent)
		log_warn("box=%s its shim does not answer", box);
}

bool ask_kill(struct worker *w, const char *box, int slot, struct err *err)
{
	struct ask *before = ask_find(w, box, true);
	int fd;

	if (before && time_boot_ms() - before->since_ms < KILL_MS)
		return true;
	if (before)
		ask_free(before);
	if (!spawn_kill_ask(w->cfg, box, slot, &fd, err))
		return false;
	ask_add(w, box, true, fd);
	return true;
}

void asks_end(struct worker *w)
{
	while (w->asks)
		ask_free(w->asks);
}
