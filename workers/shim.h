#pragma once
/*
 * The inside of asb-shim, the parent of one box: what its files share. Callbacks only change state;
 * shim_settle, called after each round of the loop, moves bytes, gives credit and buries the dead.
 * So no callback frees what another still holds, and nothing ever blocks on a peer.
 *
 *	shim_peer.c     a framed connection with a bounded queue: the box, a runner, the gate
 *	shim_box.c      the box's end: handshake, what its frames mean, its death
 *	shim_pause.c    the box stopped, and let go on
 *	shim_runner.c   runners: lanes, epochs, what their frames mean
 *	shim_stream.c   streams and the spool of output that is not acknowledged yet
 *	shim_gate.c     egress streams and the connection to the gate
 *	shim_question.c the pending question and requests on stream 0
 *	shim_report.c   what spawn is told after the start
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "err.h"
#include "loop.h"
#include "runtimes.h"
#include "wire.h"

/* Held for a box whose runner does not read or does not commit, beyond a window a stream. */
#define SHIM_SPOOL_MAX (4u * 1024 * 1024)
/* Streams that a box may have at a time, either kind; a run uses a handful. */
#define SHIM_STREAMS_MAX 256
#define SHIM_EGRESS_MAX 512
#define LANE_NAME_SIZE 48

struct shim;
struct runner;

/* --- shim_peer.c --- */
struct peer;
struct peer_class {
	/* A frame came. false: the peer broke a rule, and `closed` is called with err. */
	bool (*frame)(struct peer *p, const struct wire_frame *f, struct err *err);
	/* The connection ended, and is closed already. err: NULL a plain end, ERR_BUSY the
	 * connection failed, all else a broken rule. */
	void (*closed)(struct peer *p, const struct err *err);
};
struct peer {
	const struct peer_class *class;
	void *owner;
	struct loop *loop;
	int fd; /* -1: closed */
	struct watch *watch;
	uint32_t events;
	struct wire_decoder in;
	struct buf out;
	size_t out_at; /* of out, written already */
	bool paused;   /* not read for now */
	bool ending;   /* written to the end, then shut down */
	bool busy;     /* inside its own frames: freeing waits */
};
/* Takes fd over. out_max bounds the queue. */
void peer_open(struct peer *p, struct loop *loop, int fd, size_t out_max,
	const struct peer_class *class, void *owner);
void peer_close(struct peer *p);
bool peer_is_open(const struct peer *p);
/* Queues a frame; false where the queue is full (its owner drops such a peer). */
bool peer_send(struct peer *p, enum wire_type type, uint32_t stream, const void *payload, size_t n);
bool peer_relay(struct peer *p, const struct wire_frame *f);
size_t peer_queued(const struct peer *p);
/* Writes what the socket takes now. */
void peer_flush(struct peer *p);
/* Reads and decodes all there is, until the end: a dead box's last words. */
void peer_drain(struct peer *p);

/* --- shim_stream.c --- */
struct lane {
	struct lane *next;
	char name[LANE_NAME_SIZE];
	int64_t epoch;	       /* the highest that attached */
	struct runner *runner; /* attached now */
};
struct stream {
	struct stream *next;
	uint32_t id;
	enum wire_type request; /* what opened it */
	struct lane *lane;
	struct buf frames; /* encoded: everything not acknowledged */
	size_t head, sent; /* of frames: first that is kept, first not yet given to the runner */
	uint64_t received; /* output offsets: end of what the box sent, */
	uint64_t credited; /* what the box was told is safe, */
	uint64_t given;	   /* the end of what any runner was given, */
	uint64_t acked;	   /* what runners acknowledged */
	uint64_t stdin_credit;
	uint64_t tar_sent, tar_credit; /* DATA: bytes of the box, and what the runner allows */
	bool stdin_news;	       /* stdin_credit is to be told */
	bool started;		       /* an exec: STARTED came */
	bool ended;		       /* the last frame came */
	bool orphan;		       /* a request whose runner went: its frames are thrown away */
	bool dead;
};
struct stream *stream_find(struct shim *shim, uint32_t id);
/* NULL: there are too many. */
struct stream *stream_add(
	struct shim *shim, uint32_t id, enum wire_type request, struct lane *lane);
/* A frame of the box for this stream; false: the box broke a rule. */
bool stream_take(
	struct shim *shim, struct stream *s, const struct wire_frame *f, struct err *err) NODISCARD;
/* The runner acknowledges output below offset; false: it never got that. */
bool stream_ack(struct shim *shim, struct stream *s, uint64_t offset);
/* The runner allows the box so many bytes of a TAR_OUT, all told. */
void stream_allow(struct stream *s, uint64_t total);
/* The runner has committed the exit; false: there was none. */
bool stream_ack_exit(struct shim *shim, struct stream *s);
/* A new runner of the lane: it is given everything again that is not acknowledged. */
void streams_rewind(struct shim *shim, struct lane *lane);
/* The lane's runner went: its requests are nobody's. */
void streams_orphan(struct shim *shim, struct lane *lane);
/* Moves frames into the runner's queue while that is short; true: none of its lane's is left. */
bool streams_pump(struct shim *shim, struct lane *lane, struct peer *to);
/* Tells the box what is safe, and frees streams that are over. */
void streams_settle(struct shim *shim);
bool stream_is_exec(const struct stream *s);
/* A tar out or a look: answered by DATA under the runner's credit. */
bool stream_sends_data(const struct stream *s);
void streams_free(struct shim *shim);

/* --- shim_question.c --- */
struct question {
	char *id;	 /* NULL: none is pending */
	struct buf json; /* as the box sent it: {"id","stream","text"} */
	uint32_t stream;
	int64_t window_ms; /* when counting began */
	int count;	   /* asked since then */
};
struct asked0 {
	enum wire_type request;
	struct runner *runner; /* NULL: gone */
};
bool question_take(struct shim *shim, const struct wire_frame *f, struct err *err) NODISCARD;
void question_clear(struct shim *shim);
/* A request on stream 0 was passed to the box; false: too many wait for an answer. */
bool stream0_asked(struct shim *shim, enum wire_type request, struct runner *r);
/* The box's answer on stream 0 goes to who asked first; false: nobody had. */
bool stream0_answer(struct shim *shim, const struct wire_frame *f, struct err *err) NODISCARD;
void stream0_forget(struct shim *shim, const struct runner *r);

/* --- shim_gate.c --- */
struct egress {
	struct egress *next;
	uint32_t id;
	uint64_t sent, credit; /* by the box */
	bool box_eof, gate_eof;
};
struct gate {
	struct peer peer;
	struct watch *timer;
	struct egress *egress;
	size_t n;
	bool impostor; /* somebody else has its socket */
};
void gate_start(struct shim *shim);
bool gate_take(struct shim *shim, const struct wire_frame *f, struct err *err) NODISCARD;
void gate_stop(struct shim *shim);

/* --- shim_runner.c --- */
struct runner {
	struct runner *next;
	struct shim *shim;
	struct peer peer;
	struct lane *lane; /* NULL: not attached (yet) */
	int64_t epoch;
	bool greeted; /* HELLO was sent */
	bool told;    /* the box's end was sent */
	bool dead;
};
void runners_listen(struct shim *shim, int listener);
void runners_settle(struct shim *shim);
void runners_free(struct shim *shim);
/* The lane's runner, or drive's where lane is NULL; NULL: nobody is attached. */
struct runner *runner_of(struct shim *shim, const struct lane *lane);

/* --- shim_box.c --- */
enum box_state { BOX_GREETING, BOX_WELCOMED, BOX_READY, BOX_PAUSED, BOX_DEAD };
struct box {
	const struct runtime *runtime;
	struct runtime_box rt;
	enum box_state state;
	struct peer peer;
	struct watch *pidfd, *console, *qmp, *start_timer, *bye_timer;
	int64_t silence_ms; /* since its last frame */
	struct buf console_text;
	bool was_ready;
	char nonce[33];
	int64_t welcomed_ms;
	char *boot_id, *kernel, *machine; /* machine: JSON */
	const char *end_code;		  /* BOX_DEAD: what runners are told */
	struct buf end_message;
};
/* Begins to talk to a box that was started. */
void box_begin(struct shim *shim);
/* Sends WELCOME, and ends the box where READY does not come in time. */
void box_welcome(struct shim *shim);
/* Kills it, for this reason. Does nothing to a dead one. */
void box_end(struct shim *shim, const char *code, const char *fmt, ...) PRINTF(3, 4);
bool box_send(
	struct shim *shim, enum wire_type type, uint32_t stream, const void *payload, size_t n);
bool box_relay(struct shim *shim, const struct wire_frame *f);
/* Asks it to power off, kills it when it does not; the shim ends afterwards. */
void box_bye(struct shim *shim);
void box_done(struct shim *shim);
/* So much time has passed: says PING, and ends a box that has not said a word for too long. */
void box_tick(struct shim *shim, int64_t ms);

/* --- shim_pause.c --- */
/* Stops a ready box in which nothing runs. */
bool box_pause(struct shim *shim, struct err *err) NODISCARD;
/* Lets a paused one go on, once: whoever comes to a box that went on already for a runner that died
 * is refused, for nobody knows what was done in it. */
bool box_resume(struct shim *shim, struct err *err) NODISCARD;

/* --- main_shim.c --- */
struct shim {
	struct loop *loop;
	struct pool *pool;
	const char *name; /* of the box */
	const char *gate_path;
	uid_t worker_uid, gate_uid;
	int64_t deadman_ms, linger_ms, start_ms, mute_ms;
	int listener;
	struct watch *listen_watch, *linger, *deadman;
	int64_t silence_ms; /* since a peer's last frame */
	struct box box;
	struct gate gate;
	struct question question;
	struct asked0 asked0[64];
	size_t nasked0;
	struct runner *runners;
	struct lane *lanes;
	int64_t admin_epoch;
	struct stream *streams;
	size_t nstreams, spool_bytes;
	bool leaving; /* BYE was said */
	bool done;
};

/* --- shim_report.c --- */
/* The JSON that asb-spawn reads: process, descriptors, devices, disk; or why there is no box. */
void report_started(struct shim *shim, int fd, const char *disk);
void report_failed(int fd, const struct err *err);
