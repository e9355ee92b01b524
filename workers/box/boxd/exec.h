#pragma once
/*
 * One process started in the box and all it starts. exec.c starts it, exec_out.c carries its
 * output and stdin under credit, exec_end.c ends it: by itself, by a time-out, by a signal.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boxd.h"
#include "buf.h"
#include "wire.h"

struct boxjson;
struct err;
struct exec_request;
struct pool;
struct watch;

/* Changes between stdout and stderr kept per exec: alternating single bytes must not cost memory.
 */
#define EXEC_SEGMENTS 4096
/* Deeper than any real chain from an exec's main process to a caller. */
#define EXEC_LATE_MAX 64

#define EXEC_LANE_SIZE 48

enum exec_state {
	EXEC_RUNNING,  /* the main process lives */
	EXEC_DRAINING, /* it has ended; others may still write, for 2 s at the most */
	EXEC_KILLING,  /* the rest was killed and is not yet gone */
	EXEC_FLUSHING, /* nobody is left; what the pipes hold is being read */
	EXEC_ENDED,    /* all output is in the ring: EXIT follows it */
};

struct exec_segment {
	uint64_t end; /* offset behind its last byte */
	enum wire_type type;
};

struct exec_pipe {
	int fd;
	struct watch *watch;
	enum wire_type type;
	struct exec *exec;
};

struct exec {
	struct boxd *boxd;
	struct exec *next;
	uint32_t stream;
	char lane[EXEC_LANE_SIZE];
	bool driver;	  /* lane drive: in driver/, frozen by questions */
	bool ask_returns; /* asb-ask does not wait: see wire.h */
	bool ahead;	  /* when it is over, the next of its kind is begun */
	pid_t pid;	  /* the main process; -1 once it was waited for */
	pid_t leader;	  /* its session: the pid it had */
	struct exec_group group;
	enum exec_state state;
	/* output: bytes [base, base + ring.len) are kept */
	struct exec_pipe out[2];
	struct buf ring;
	uint64_t base; /* everything below is safe at the host */
	uint64_t sent; /* everything below is on the channel */
	struct exec_segment segments[EXEC_SEGMENTS];
	size_t nsegments;
	/* input */
	int in_fd;
	struct watch *in_watch;
	struct buf in;
	uint64_t in_taken; /* bytes the process took */
	uint64_t in_own;   /* how many of all were boxd's, not the host's */
	bool in_eof;
	char *code; /* the path of its code, removed when it has ended; NULL: none */
	/* end */
	struct watch *timer;
	int64_t started_ms, deadline_ms;
	int drain_looks; /* EXEC_DRAINING: so many until the rest is killed */
	int status;
	struct rusage usage;
	int64_t duration_ms;
	bool timed_out, oom, exit_sent, late;
	int64_t late_ms;		/* when the lane freezes that goes on around a question */
	pid_t late_pids[EXEC_LATE_MAX]; /* without cgroups: who goes on till then */
	size_t nlate;
	int64_t killed_rest;
};

/* --- exec.c --- */
bool exec_start(struct boxd *b, uint32_t stream, const struct boxjson *in, struct err *err);
/* Begins the request's program: an exec that is in no list yet and of which nobody was told; NULL
 * and err. The pool may go then. */
struct exec *exec_launch(struct boxd *b, uint32_t stream, struct exec_request *rq,
	struct pool *pool, struct err *err);
/* One that was begun before becomes the request's. */
void exec_adopt(struct exec *e, uint32_t stream, const struct exec_request *rq);
struct exec *exec_find(struct boxd *b, uint32_t stream);
void exec_forget(struct exec *e);
void exec_code_remove(struct exec *e);

/* --- exec_child.c: between fork and exec --- */
/* How long a child may take to exec. A group that is out of memory ends sooner. */
#define EXEC_START_MS 10000
struct exec_plan {
	const char *const *argv;
	const char *const *env;
	const char *cwd;
	uid_t uid;
	bool switch_user;
	const char *user;
	int fds[3];
	int group_fd; /* folder of the cgroup to begin in, or -1 */
	int report;
};
/* Starts the child; its pid, or -1 and errno. */
pid_t exec_child(const struct exec_plan *plan);
/* Becomes the user for good, no_new_privs included; git keeps CAP_DAC_READ_SEARCH. */
bool user_become(uid_t uid, bool switch_user);
/* The uid of agent, ask, git, root; false for another name. */
bool user_find(const char *name, uid_t *uid, const char **home);

/* --- exec_out.c --- */
void exec_pipes_open(struct exec *e, int out_fd, int err_fd, int in_fd);
void exec_pipes_arm(struct exec *e); /* reading resumes where the ring has room */
bool exec_pipes_ended(const struct exec *e);
void exec_pipes_drain(struct exec *e); /* reads what is there; EOF or nothing left closes */
bool exec_credit(struct exec *e, uint64_t value, struct err *err);
bool exec_stdin(struct exec *e, const void *data, size_t n, struct err *err);
/* The same from boxd itself: it does not count as the host's. */
bool exec_stdin_own(struct exec *e, const void *data, size_t n, struct err *err);
void exec_stdin_eof(struct exec *e);
bool exec_pump(struct boxd *b);	  /* one frame of one exec; false: nothing to send */
void exec_rewind(struct exec *e); /* a new host: send again from the last safe byte */

/* --- exec_end.c --- */
/* True: it was the main process of an exec. */
bool exec_reaped(struct boxd *b, pid_t pid, int status, const struct rusage *ru);
/* Others were: the group of an exec that is being killed may be empty now. */
void exec_orphans_reaped(struct boxd *b);
void exec_check(struct exec *e); /* moves the state on as far as it goes */
void exec_end_init(struct exec *e);
bool exec_signal(struct exec *e, int signo, bool all, struct err *err);
void exec_exit_send(struct exec *e);

/* --- group.c: everything an exec started, by cgroup or by /proc --- */
void group_init(struct boxd *b);
void group_done(struct boxd *b);
/* A group of each kind before there is an exec that wants it, so that a template holds them. */
void group_spares(struct boxd *b);
/* e->group: a spare one, or a new one; with limits where they are not 0. */
bool group_create(struct exec *e, int64_t memory_bytes, int64_t pids, struct err *err);
/* Lets go of an empty group. */
void group_remove(struct exec *e);
/* Sends signo to all processes of the exec; how many there were (zombies do not count). */
int group_signal(struct exec *e, int signo);
int group_count(struct exec *e);
bool group_had_oom(struct exec *e);
/* The exec a process belongs to, or NULL. */
struct exec *group_exec_of(struct boxd *b, pid_t pid);
/* Freezes or thaws an exec (but its `late` part), or every exec of a lane. */
void group_freeze(struct exec *e, bool frozen);
void group_freeze_late(struct exec *e, bool frozen);
/* Moves the chain from pid up, and the exec's main process, to `late`; and all of it back. */
void group_move_late(struct exec *e, pid_t pid);
void group_move_back(struct exec *e);
