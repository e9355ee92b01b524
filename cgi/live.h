#pragma once
/*
 * What asb-live holds, and what its parts say to each other. One process, one loop; every function
 * here runs inside a callback of it. Who owns what: live_streams.c and live_opening.c the streams,
 * live_sources.c what they read from, live_waits.c the held requests (live_mcp.c those of them that
 * are MCP calls), live_callers.c who may hold them no longer, live_listen.c the two database
 * connections' news, live_accept.c everything until a request has become a stream or a wait.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "err.h"
#include "live_conn.h"
#include "sse.h"

struct callers;
struct config;
struct db;
struct live_request;
struct loop;
struct watch;

/* Where rows come from: the feed (one for the site), the trace of a run, a log. */
enum source_kind { SOURCE_FEED, SOURCE_TRACE, SOURCE_LOG, SOURCE_KIND__COUNT };

struct source {
	enum source_kind kind;
	int64_t id;   /* run id or log id; 0 for the feed */
	int64_t head; /* highest number read so far */
	bool queued;  /* in live.queue or live.feed_queued */
	struct sub *subs;
	struct source *next;	   /* in its hash chain */
	struct source *next_queue; /* behind it in live.queue */
};

/* One stream's interest in one source. */
struct sub {
	struct source *source; /* NULL: not interested */
	struct stream *stream;
	struct sub *next, *prev;
	int64_t served; /* the turn in which the stream was last handed something */
	bool behind;	/* rows may be there that the stream was not sent */
};

struct stream {
	struct conn conn; /* first: a conn of ours is cast to its stream */
	struct live *live;
	struct stream *next, *prev;
	int64_t account_id;
	enum caller_kind caller;	/* what it came with ... */
	int64_t caller_id;		/* ... and which; 0: the operator's token */
	bool fleet;			/* /events.sse: all the account's feed rows */
	bool log_bytes;			/* log=1 */
	bool dead;			/* to be freed by streams_reap */
	int64_t run_id, box_id, log_id; /* of the run in focus; 0: none */
	struct sse_id at;		/* what it has been sent last */
	struct sub subs[SOURCE_KIND__COUNT];
};

#define SOURCE_BUCKETS 1024 /* a chain of ten at 10,000 sources */

struct live {
	const struct config *cfg;
	struct loop *loop;
	struct db *db;	   /* reads */
	struct db *listen; /* LISTEN and nothing else */
	struct watch *listen_watch, *listen_retry;
	struct watch *accept_watch;
	struct watch *turn;	  /* a timer at 0 ms while live.queue is not empty */
	struct watch *wait_timer; /* the earliest end of a wait */
	struct watch *callers;	  /* the earliest end of somebody's access ... */
	int64_t callers_at_ms;	  /* ... and when that is, on CLOCK_BOOTTIME; 0: not set */
	int listen_fd;
	bool stopping;
	unsigned char operator_hash[32];
	size_t clients_max; /* by descriptors */
	size_t nconns;	    /* clients, those included that only wait for their end */
	const char *ui_version;
	struct stream *streams;
	size_t nstreams;
	bool reap; /* some stream is dead */
	struct source *sources[SOURCE_BUCKETS];
	struct source *queue, **queue_end; /* sources with something to read, but for the feed */
	struct source *feed_queued;	   /* the feed, where it has something to read */
	int64_t turns;			   /* how many there have been */
	bool turn_pending;		   /* its timer is set */
	struct wait *waits;
	size_t nwaits;
	int64_t *active; /* runs that have written since activity_run; memory is kept */
	size_t nactive, active_max;
	struct watch *activity; /* its timer, while there are some */
};

/* --- live_accept.c: a connection becomes a stream, a wait or an error --- */
bool accept_open(struct live *live, struct err *err) NODISCARD;
void accept_close(struct live *live);

/* --- live_streams.c --- */
/* Takes fd over on success only. Errors: ERR_INVALID (bad position), ERR_NOT_FOUND (no such run, or
 * another account's), ERR_BUSY (no database). */
bool stream_open(
	struct live *live, const struct live_request *lr, int fd, struct err *err) NODISCARD;
/* Everything of that which can fail before the descriptor is taken over (live_opening.c): fills s
 * and the first bytes it is sent. */
bool stream_prepare(struct live *live, const struct live_request *lr, struct stream *s,
	struct buf *first, struct err *err) NODISCARD;
/* Appends to what the stream is sent. False: the stream is dead now. */
bool stream_send(struct stream *s, const struct buf *text);
void stream_kill(struct stream *s); /* freed by streams_reap, not before */
void streams_reap(struct live *live);
/* `hb` to all. */
void streams_beat(struct live *live);
/* Drops those that have not taken a byte for long. */
void streams_check_stalled(struct live *live);
/* Ends the streams of all other callers. */
void streams_revoke(struct live *live, const struct callers *good);
/* Closes what streams_stop has not got rid of in time. */
void streams_close(struct live *live);
/* Tells every client when to come back and ends its stream. */
void streams_stop(struct live *live);

/* --- live_sources.c --- */
void source_join(struct live *live, struct stream *s, enum source_kind kind, int64_t id);
void source_leave(struct live *live, struct sub *sub);
/* Something new is in the source (if anybody is interested). */
void source_dirty(struct live *live, enum source_kind kind, int64_t id);
/* The same for the trace of a run and its log. */
void source_run_dirty(struct live *live, int64_t run_id);
/* For the turn: into and out of the queue (NULL: empty); frees one that nobody listens to. */
void source_queue(struct live *live, struct source *src);
struct source *source_unqueue(struct live *live);
void source_sweep(struct live *live, struct source *src);
/* The sources of s that it is behind on are read again: it can take more. */
void source_resume(struct live *live, struct stream *s);
/* Finds what is new in every source by asking for the newest numbers, a thousand at a time. */
void sources_rescan(struct live *live);

/* --- live_activity.c --- */
/* The run has written something. */
void activity_note(struct live *live, int64_t run_id);
/* The callback of live.activity. */
void activity_run(struct loop *loop, uint32_t events, void *arg);

/* --- live_turn.c --- */
/* The callback of live.turn: reads what is queued, hands it out. */
void turn_run(struct loop *loop, uint32_t events, void *arg);

/* --- live_waits.c --- */
/* Takes fd over on success only. */
bool wait_open(struct live *live, const struct live_request *lr, int fd, struct err *err) NODISCARD;
/* Something has changed with what PostgreSQL calls NEWS ID: r a run, x an exec, b a box. */
void waits_dirty(struct live *live, char news, int64_t id);
void waits_rescan(struct live *live);
/* The callback of live.wait_timer. */
void waits_expire(struct loop *loop, uint32_t events, void *arg);
/* Ends the waits of all other callers, with an answer that says so. */
void waits_revoke(struct live *live, const struct callers *good);
void waits_stop(struct live *live); /* answers each with its present state */

/* --- live_callers.c --- */
/* Ends the streams and waits whose session, key or access token was taken back, or is over. */
void callers_check(struct live *live);
/* Somebody has come who may stay no longer than this caller may: looked at soon. */
void callers_note(struct live *live, int64_t caller_id);
/* The callback of live.callers. */
void callers_run(struct loop *loop, uint32_t events, void *arg);
bool callers_has(const struct callers *good, enum caller_kind kind, int64_t id);

/* --- live_listen.c --- */
bool listen_open(struct live *live, struct err *err) NODISCARD;
void listen_close(struct live *live);
/* The callback of live.listen_retry. */
void listen_retry(struct loop *loop, uint32_t events, void *arg);
