#pragma once
/*
 * What the files of asb-worker share: one loop, two connections to PostgreSQL (one listens), and
 * the runners. Nothing here blocks but statements with a short time-out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"
#include "err.h"
#include "host.h"
#include "job.h"
#include "loop.h"

struct config;
struct db;
struct pool;

#define WORKER_SPARES 2	      /* connected runners waiting: starting one costs 15 ms */
#define WORKER_RUNNERS_MAX 64 /* jobs at a time; those that wait for a slot count too */

struct runner_proc {
	struct worker *w;
	struct child child;
	int sock;
	struct watch *sock_watch, *end_watch;
	int64_t started_ms;    /* on time_boot_ms */
	struct fence fence;    /* job_id 0: spare */
	int64_t good_until_ms; /* our own end of the lease, on time_boot_ms */
	int64_t box_id;
	bool cancel_sent, killed;
	struct runner_proc *next;
};

struct worker {
	const struct config *cfg;
	struct pool *pool;
	struct loop *loop;
	struct db *db, *listen;
	struct watch *listen_watch;
	int listen_fd; /* what listen_watch watches; -1: not connected */
	char host[HOST_NAME_SIZE], boot_id[HOST_BOOT_ID_SIZE];
	char owner[160]; /* unique to this process */
	const char *runner_path;
	struct runner_proc *runners;
	size_t count, spares;
	struct watch *fill_timer;
	bool fill_waits;
	bool stopping;
	/* the database's absence */
	int64_t db_retry_ms, db_step_ms; /* not before, on time_boot_ms; the present step */
	int64_t renewed_ms;		 /* when the last renewal that worked was sent */
	struct watch *claim_timer, *renew_timer, *listen_timer, *stop_timer;
	/* coalesced hints, worker_notify.c */
	struct watch *notify_timer;
	bool notify_waits;
	int64_t *hints; /* log ids as they are, run ids negative; sorted, each once */
	size_t hint_count, hint_room;
	/* boxes of this host, sweeps.c */
	struct box_watch *boxes;
	struct ask *asks; /* worker_asks.c */
	bool first_sweep;
	int64_t absent_ms; /* how long no worker had been here when we started */
};

/* --- worker_db.c --- */
/* False while the database is away and it is too early to try again. */
bool worker_db_up(const struct worker *w);
/* Says that a statement failed: backs off where the database is away, logs where it is us. */
void worker_db_failed(struct worker *w, const char *what, const struct err *err);
void worker_db_worked(struct worker *w);
/* The listening connection: made, and made again; then everything is looked at. */
void worker_listen_start(struct worker *w);
/* hosts row, boot id; ends what a reboot killed; takes back the host's leases. */
bool worker_host_start(struct worker *w, struct err *err) NODISCARD;

/* --- worker_jobs.c --- */
void worker_jobs_start(struct worker *w);
/* Claims as long as there are jobs and runners. */
void worker_claim(struct worker *w);
/* Tells runners about cancel requests. */
void worker_cancels(struct worker *w);

/* --- worker_runners.c --- */
/* Starts spares up to WORKER_SPARES: the first at once, the rest in a moment. */
void runners_fill(struct worker *w);
struct runner_proc *runner_spare(struct worker *w); /* NULL: none */
void runner_give(struct runner_proc *p, const struct job *job, int64_t good_until_ms);
void runner_tell(struct runner_proc *p, const char *json);
void runner_kill(struct runner_proc *p);
/* Kills and frees all. */
void runners_end(struct worker *w);

/* --- worker_notify.c --- */
void notify_hint(struct worker *w, const char *json, size_t n);
void notify_start(struct worker *w);

/* --- worker_asks.c: asked here, answered in the loop --- */
/* Says to a box's shim that somebody is there; logs where the last ping got no answer. */
void ask_ping(struct worker *w, const char *box);
/* The end of a box without a row; one that is under way is not asked for again. */
bool ask_kill(struct worker *w, const char *box, int slot, struct err *err) NODISCARD;
void asks_end(struct worker *w);
