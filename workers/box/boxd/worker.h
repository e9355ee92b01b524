#pragma once
/*
 * Forked children of boxd that answer one request each: unpacking, packing, probing. The child
 * writes its answer ('D' or 'E', then the JSON) to a pipe and ends; a child that ends without one
 * is an ERROR. Tar bytes go through a second pipe, under credit both ways.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "wire.h"

struct boxd;
struct err;
struct watch;
struct wire_frame;

enum worker_kind { WORKER_TAR_IN, WORKER_TAR_OUT, WORKER_PROBE };

struct worker {
	struct boxd *boxd;
	struct worker *next;
	enum worker_kind kind;
	uint32_t stream;
	pid_t pid; /* -1 once it was waited for */
	int answer_fd, data_fd;
	struct watch *answer_watch, *data_watch;
	struct buf answer;
	struct buf data;  /* TAR_IN: for the child; TAR_OUT: for the host */
	uint64_t moved;	  /* TAR_IN: bytes the child took; TAR_OUT: bytes sent */
	uint64_t allowed; /* TAR_OUT: bytes that may be sent */
	bool in_eof;	  /* TAR_IN: the host sent EOF */
	bool answered;	  /* answer_fd was read to its end */
};

/* In the child: read tar bytes from or write them to `data`, write the answer to `answer`, return
 * the exit status. The child has become the user already. */
typedef int worker_fn(int data, int answer, const void *arg);

bool worker_start(struct boxd *b, enum worker_kind kind, uint32_t stream, const char *user,
	worker_fn *fn, const void *arg, struct err *err);
struct worker *worker_find(struct boxd *b, uint32_t stream);
/* DATA, EOF and CREDIT of a worker's stream. */
bool worker_frame(struct worker *w, const struct wire_frame *f, struct err *err);
bool workers_pump(struct boxd *b);
void worker_reaped(struct boxd *b, pid_t pid);
/* Kills and forgets all: the host is new or gone. */
void workers_kill_all(struct boxd *b);
/* For the child: the answers. */
void answer_error(int fd, const struct err *err, const char *entry);
void answer_done(int fd, const struct buf *json);
