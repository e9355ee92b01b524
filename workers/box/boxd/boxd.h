#pragma once
/*
 * The one state of asb-boxd and what its files offer each other. channel.c owns the byte stream
 * and hands each frame to the file that knows its type; every sender of bulk (execs, tars, egress)
 * is asked for one frame at a time when the channel has room, so that none can starve another and
 * no buffer grows without bound.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "err.h"
#include "loop.h"
#include "wire.h"

struct ahead;
struct boxjson;
struct conn;
struct exec;
struct look;
struct pool;
struct question;
struct worker;

#define BOXD_BUILD "boxd-1"
/* In-box user ids (docs: decisions.md). */
#define UID_AGENT 1000
#define UID_ASK 1001
#define UID_GIT 1002

/* The folder of one exec in the cgroup tree, and what each exec needs of it, held open. */
struct exec_group {
	char path[300]; /* "" where there is none */
	int main_fd;	/* the folder that its processes begin in */
	int events_fd;	/* cgroup.events, memory.events */
	int memory_fd;
	bool altered; /* limited, frozen, killed or out of memory once: not for another exec */
	int64_t ooms; /* in a container: how many it had when the exec began */
};

struct boxd {
	struct loop *loop;
	/* what kind of place this is */
	bool owns_machine;   /* booted as PID 1 of a VM: clock, identity and power are ours */
	bool in_container;   /* PID 1 of a container: the kernel is the host's, all else is ours */
	pid_t relay;	     /* in_container: carries standard input and output, 0: none */
	bool is_root;	     /* users can be switched */
	const char *run_dir; /* /run/asb */
	bool no_cgroup;	     /* do not look for a cgroup tree: /proc it is */
	int proxy_port;	     /* 127.0.0.1, 0: no listener */
	/* the channel */
	int channel;
	struct watch *channel_watch; /* NULL while the host is gone */
	struct watch *grace;	     /* timer: the host's absence */
	struct wire_decoder in;
	struct buf out;
	size_t head_left; /* bytes of the frame at the front of out that are still to be written */
	bool ever_attached;
	bool ready;  /* WELCOME was obeyed */
	bool broken; /* a rule was broken: the connection ends */
	int64_t gone_since_ms;
	char boot_id[40];
	/* groups */
	char cgroup[256]; /* our base folder, "" where there is no cgroup2 */
	uint32_t groups_made;
	struct exec_group spare_groups[2]; /* empty ones for the next exec: [1] of the drive lane */
	bool lane_frozen;		   /* the whole driver lane */
	int64_t frozen_at_ms;
	/* what is going on */
	struct exec *execs;
	struct ahead *ahead;	/* exec_ahead.h; NULL: nothing ever was to be */
	struct worker *workers; /* forked children that answer one request: tar, probe */
	struct look *looks;	/* requests that boxd works on between everything else */
	struct watch *look_timer;
	struct conn *conns;
	struct gate_ask *gate_ask;
	struct question *question; /* callers of asb-ask, the pending one among them */
	int ask_fd;
	uint32_t next_egress;
	int egress_fd;
	struct watch *egress_watch;
	unsigned turn; /* round robin of the pump */
};

/* --- channel.c --- */
void channel_open(struct boxd *b, int fd);
/* After each loop round: fills the channel from the senders and writes. */
void channel_flush(struct boxd *b);
/* Appends a control frame of JSON text; a frame that does not fit breaks the connection. */
void channel_send(struct boxd *b, enum wire_type type, uint32_t stream, const struct buf *json);
void channel_send_raw(
	struct boxd *b, enum wire_type type, uint32_t stream, const void *p, size_t n);
void channel_error(struct boxd *b, uint32_t stream, const struct err *err, const char *entry);
void channel_done(struct boxd *b, uint32_t stream, const struct buf *json);
/* True while a bulk sender may add a frame. */
bool channel_has_room(const struct boxd *b);
/* Forgets whole frames not begun yet: the host is new. */
void channel_drop_unsent(struct boxd *b);
/* Everything dies; the machine is powered off, or the process ends. Does not return. */
_Noreturn void boxd_end(struct boxd *b, int status);

/* --- dispatch.c --- */
/* Obeys one frame; false where the connection must end. */
bool dispatch(struct boxd *b, const struct wire_frame *f, struct err *err) NODISCARD;

/* --- hello.c --- */
bool hello_attach(struct boxd *b, const struct boxjson *in, struct err *err) NODISCARD;
bool hello_welcome(struct boxd *b, const struct boxjson *in, struct err *err) NODISCARD;
bool clock_set(struct boxd *b, int64_t time_ms, struct err *err) NODISCARD;

/* --- exec.c, exec_out.c, exec_end.c: exec.h --- */

/* --- files.c: TAR_IN, TAR_OUT in children, STAT at once; looks are look.h's --- */
bool files_tar_in(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err) NODISCARD;
bool files_tar_out(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err) NODISCARD;
bool files_stat(
	struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err) NODISCARD;

/* --- egress.c --- */
void egress_listen(struct boxd *b);
bool egress_frame(struct boxd *b, const struct wire_frame *f, struct err *err) NODISCARD;
bool egress_pump(struct boxd *b);
void egress_drop_all(struct boxd *b);
/* The program's end of a new connection, for boxd itself; -1: there can be none. */
int egress_inside(struct boxd *b);

/* --- question.c --- */
void question_listen(struct boxd *b);
bool question_is_open(struct boxd *b);
/* Sends the pending question again (a new host). */
void question_resend(struct boxd *b);
bool question_answer(struct boxd *b, const struct boxjson *in, struct err *err) NODISCARD;
/* The exec of this stream has ended: its question is void. */
void question_exec_gone(struct boxd *b, uint32_t stream);

/* --- metrics.c, probe.c --- */
void metrics_send(struct boxd *b, uint32_t stream);
int machine_nics(void);
void nics_add(struct buf *json); /* as members of an open array */
int64_t machine_memory_bytes(const struct boxd *b);
int64_t machine_cpus(const struct boxd *b);
/* group.c: "limits", what the kernel says of them, as the next member of an open object. */
void limits_add(struct boxd *b, struct buf *json);
bool probe_start(struct boxd *b, uint32_t stream, struct err *err) NODISCARD;
/* probe_gate.c: asks the gate for a package, as a program would, and sends the answer to PROBE when
 * that is refused, or not. json is an object with the members that were found so far. */
void probe_gate_ask(struct boxd *b, uint32_t stream, const struct buf *json, bool sealed);
/* The same for a child, which waits: is it refused? *said is for people. */
bool probe_gate_refuses(int port, const char **said);
/* The end of that object. */
void probe_end(struct boxd *b, struct buf *json, const char *gate, bool sealed);
/* Nobody waits for it any more. */
void probe_gate_drop(struct boxd *b);
