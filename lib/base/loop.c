/*
 * The epoll loop. Timers are a list of their own, searched for the earliest (tens of them, not
 * thousands: a stream's heartbeat is one shared timer; descriptors may be thousands). Removed
 * watches are freed after the batch, so that an event still in it finds its watch marked dead and
 * is skipped.
 */
#include "loop.h"

#include <sys/signalfd.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "pool.h"
#include "text.h"

enum watch_kind { WATCH_FD, WATCH_TIMER, WATCH_SIGNAL };

struct watch {
	struct loop *loop;
	struct watch *next, *prev;
	enum watch_kind kind;
	bool dead;
	int fd; /* the descriptor; the signalfd of a signal; -1 for a timer */
	int64_t due_ms, every_ms;
	watch_fn *fn;
	void *arg;
};

struct loop {
	int epfd;
	bool stopped;
	struct watch *watches;	  /* live ones, but for timers */
	struct watch *timers;	  /* live ones */
	struct watch *dead;	  /* removed during a batch */
	struct watch *next_timer; /* cursor of timers_run, moved on when its watch is removed */
};

struct loop *loop_new(void)
{
	struct loop *loop = mem_alloc(sizeof(*loop));

	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	assert(loop->epfd >= 0);
	return loop;
}

static void dead_free(struct loop *loop)
{
	while (loop->dead) {
		struct watch *w = loop->dead;

		loop->dead = w->next;
		free(w);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->watches)
		watch_remove(loop->watches);
	while (loop->timers)
		watch_remove(loop->timers);
	dead_free(loop);
	(void)close(loop->epfd);
	free(loop);
}

void cleanup_loop(struct loop **loop)
{
	loop_free(*loop);
}

static struct watch **list_of(struct loop *loop, enum watch_kind kind)
{
	return kind == WATCH_TIMER ? &loop->timers : &loop->watches;
}

static struct watch *watch_add(struct loop *loop, enum watch_kind kind, watch_fn *fn, void *arg)
{
	struct watch *w = mem_alloc(sizeof(*w)), **list = list_of(loop, kind);

	w->loop = loop;
	w->kind = kind;
	w->fd = -1;
	w->due_ms = -1;
	w->fn = fn;
	w->arg = arg;
	w->next = *list;
	if (w->next)
		w->next->prev = w;
	*list = w;
	return w;
}

struct watch *loop_add_fd(struct loop *loop, int fd, uint32_t events, watch_fn *fn, void *arg)
{
	struct watch *w = watch_add(loop, WATCH_FD, fn, arg);
	struct epoll_event ev = {.events = events, .data.ptr = w};

	w->fd = fd;
	if (epoll_ctl(loop->epfd, EPOLL_CTL_ADD, fd, &ev))
		abort();
	return w;
}

void watch_set_events(struct watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	assert(w->kind == WATCH_FD);
	if (epoll_ctl(w->loop->epfd, EPOLL_CTL_MOD, w->fd, &ev))
		abort();
}

void watch_set_timer(struct watch *w, int64_t ms, int64_t every_ms)
{
	assert(w->kind == WATCH_TIMER);
	w->due_ms = ms < 0 ? -1 : time_boot_ms() + ms;
	w->every_ms = every_ms;
}

struct watch *loop_add_timer(
	struct loop *loop, int64_t ms, int64_t every_ms, watch_fn *fn, void *arg)
{
	struct watch *w = watch_add(loop, WATCH_TIMER, fn, arg);

	watch_set_timer(w, ms, every_ms);
	return w;
}

struct watch *loop_add_signal(struct loop *loop, int signo, watch_fn *fn, void *arg)
{
	struct watch *w = watch_add(loop, WATCH_SIGNAL, fn, arg);
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, signo);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	w->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->fd < 0 || epoll_ctl(loop->epfd, EPOLL_CTL_ADD, w->fd, &ev))
		abort();
	return w;
}

void watch_remove(struct watch *w)
{
	struct loop *loop;

	if (!w || w->dead)
		return;
	loop = w->loop;
	if (loop->next_timer == w)
		loop->next_timer = w->next;
	/* the descriptor may be closed already: then the kernel has forgotten it by itself */
	if (w->fd >= 0)
		(void)epoll_ctl(loop->epfd, EPOLL_CTL_DEL, w->fd, NULL);
	if (w->kind == WATCH_SIGNAL)
		(void)close(w->fd);
	if (w->prev)
		w->prev->next = w->next;
	else
		*list_of(loop, w->kind) = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->dead = true;
	w->next = loop->dead;
	loop->dead = w;
}

static int timeout_until_timer(const struct loop *loop, int timeout_ms)
{
	int64_t now = -1, left;

	for (const struct watch *w = loop->timers; w; w = w->next) {
		if (w->due_ms < 0)
			continue;
		if (now < 0)
			now = time_boot_ms();
		left = w->due_ms > now ? w->due_ms - now : 0;
		if (timeout_ms < 0 || left < timeout_ms)
			timeout_ms = (int)(left > INT32_MAX ? INT32_MAX : left);
	}
	return timeout_ms;
}

static void timers_run(struct loop *loop)
{
	int64_t now = time_boot_ms();

	for (struct watch *w = loop->timers; w; w = loop->next_timer) {
		loop->next_timer = w->next;
		if (w->due_ms < 0 || w->due_ms > now)
			continue;
		w->due_ms = w->every_ms > 0 ? now + w->every_ms : -1;
		w->fn(loop, 0, w->arg);
	}
	loop->next_timer = NULL;
}

void loop_step(struct loop *loop, int timeout_ms)
{
	struct epoll_event evs[64];
	int n = epoll_wait(loop->epfd, evs, 64, timeout_until_timer(loop, timeout_ms));

	if (n < 0 && errno != EINTR)
		abort();
	for (int i = 0; i < n; i++) {
		struct watch *w = evs[i].data.ptr;

		if (w->dead)
			continue;
		if (w->kind == WATCH_SIGNAL) {
			struct signalfd_siginfo si;

			while (read(w->fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
				;
		}
		w->fn(loop, evs[i].events, w->arg);
	}
	timers_run(loop);
	dead_free(loop);
}

void loop_run(struct loop *loop)
{
	loop->stopped = false;
	while (!loop->stopped)
		loop_step(loop, -1);
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
