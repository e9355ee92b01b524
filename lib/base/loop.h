#pragma once
/*
 * One epoll loop: descriptors, timers and signals. Callbacks run one after the other in loop_run;
 * a callback may add, change and remove anything, itself included. A removed watch's callback is
 * not called again, also not from the batch of events being handled.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "err.h"

struct loop;
struct watch; /* a descriptor, a timer or a signal being watched */

/* events: EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR bits that happened. */
typedef void watch_fn(struct loop *loop, uint32_t events, void *arg);

struct loop *loop_new(void);
void loop_free(struct loop *loop); /* removes every watch; closes no descriptor it was given */
void cleanup_loop(struct loop **loop);

/* Watches fd, which stays the caller's. Level-triggered. Never fails but for want of memory. */
struct watch *loop_add_fd(struct loop *loop, int fd, uint32_t events, watch_fn *fn, void *arg);
void watch_set_events(struct watch *w, uint32_t events);
/* Calls fn after `ms` on CLOCK_BOOTTIME, once; with every_ms > 0 then each every_ms. */
struct watch *loop_add_timer(
	struct loop *loop, int64_t ms, int64_t every_ms, watch_fn *fn, void *arg);
void watch_set_timer(
	struct watch *w, int64_t ms, int64_t every_ms); /* ms < 0: off until set again */
/* Blocks the signal for the process and calls fn when it comes. */
struct watch *loop_add_signal(struct loop *loop, int signo, watch_fn *fn, void *arg);
/* Stops watching. NULL is fine. */
void watch_remove(struct watch *w);

/* Until loop_stop, or an epoll failure that is our mistake (which aborts). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* One round: waits at most timeout_ms (-1: for ever) and runs what came. */
void loop_step(struct loop *loop, int timeout_ms);
