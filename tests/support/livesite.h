#pragma once
/*
 * asb-live running against the test's database, and the rows that a run needs, made as asb_worker
 * and asb-web would make them. Whatever does not work here ends the test.
 */
#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "fcgiclient.h"

#define LIVESITE_TOKEN "an-operator-token-for-tests"
/* How long a test waits for what must come: only a failure takes that long. RESCAN_NEVER, for
 * livesite_start: looking without a hint comes later than that, so that what comes was told. */
#define LIVE_MS 20000
#define RESCAN_NEVER 60000

struct livesite {
	struct child child;
	char dir[64], socket[96];
};

/* Starts the program and waits until it takes connections. */
void livesite_start(struct livesite *s, int heartbeat_ms, int rescan_ms);
/* SIGTERM. Fails unless it ends with status 0. */
void livesite_stop(struct livesite *s);
/* Descriptors the program has open, and until they are n. Its resident memory in KiB. */
int livesite_fds(const struct livesite *s);
void livesite_fds_become(const struct livesite *s, int n);
int64_t livesite_rss_kib(const struct livesite *s);

/* A GET with the operator's token; more: further header lines, or NULL. */
void livesite_get(
	const struct livesite *s, struct fcgiclient *c, const char *url, const char *more);
/* The same, and hello must have come: sets its `seq`. */
void livesite_watch(
	const struct livesite *s, struct fcgiclient *c, const char *url, const char *more);
/* The next event with this name (others, hb above all, are passed over); fails after LIVE_MS. How
 * many events a change makes depends on the machine: whoever means one of several asks for
 * the text that its data has. */
void livesite_next(struct fcgiclient *c, struct fcgi_event *e, const char *name);
void livesite_next_with(
	struct fcgiclient *c, struct fcgi_event *e, const char *name, const char *text);
/* A number out of its data. */
int64_t livesite_number(const struct fcgi_event *e, const char *member);

/* A box, a run (name), its log and its first turn (queued). Returns the run's id. */
int64_t livesite_run(const char *name, int64_t account);
/* Rows from..to, in one transaction, and the hint for them. */
void livesite_trace(int64_t run, int64_t from, int64_t to);
void livesite_chunks(int64_t run, int64_t from, int64_t to, int bytes);
