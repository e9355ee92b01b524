#pragma once
/*
 * asb-boxd as a child on a socketpair, spoken to frame by frame. Everything fails the test by
 * itself; every wait is bounded.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "wire.h"

#define BOXD_WAIT_MS 20000

struct boxd_peer {
	int fd;
	pid_t pid;
	char dir[64]; /* --run; anybody may write below it */
	struct wire_decoder in;
	struct wire_frame frame; /* the last that came */
	char boot_id[40];
};

/* Started, attached and READY. groups: "cgroup" or "proc". */
void boxd_open(struct boxd_peer *p, const char *groups);
/* Started only. */
void boxd_start(struct boxd_peer *p, const char *groups);
/* ATTACH to READY; what comes before HELLO is skipped. */
void boxd_attach(struct boxd_peer *p);
/* BYE; boxd must end with 0. */
void boxd_close(struct boxd_peer *p);
/* Waits for its end and removes dir; the exit status. */
int boxd_wait(struct boxd_peer *p);

void boxd_send(
	struct boxd_peer *p, enum wire_type type, uint32_t stream, const void *data, size_t n);
void boxd_say(struct boxd_peer *p, enum wire_type type, uint32_t stream, const char *fmt, ...)
	PRINTF(4, 5);
void boxd_credit(struct boxd_peer *p, uint32_t stream, uint64_t value);
/* The next frame; false: the connection has ended. */
bool boxd_next(struct boxd_peer *p);
/* What the last frame says. */
const char *boxd_text(const struct boxd_peer *p);
/* The next frame of this type, others skipped; its payload as text, in a static buffer. */
const char *boxd_expect(struct boxd_peer *p, enum wire_type type, uint32_t stream);
/* Runs a script as the agent to its EXIT; output (stdout and stderr) in *out; EXIT's text. */
const char *boxd_script(struct boxd_peer *p, uint32_t stream, const char *members,
	const char *script, struct buf *out);
/* Sends a tar; the answer's type, its text in *answer. */
enum wire_type boxd_tar_in(struct boxd_peer *p, uint32_t stream, const char *path,
	const struct buf *tar, const char **answer);
/* The size of a file below dir; 0 where it is not there. */
size_t boxd_file_size(const struct boxd_peer *p, const char *name);
/* The pid that a script wrote as the one line of a file below dir, once it is there. */
pid_t boxd_pid(const struct boxd_peer *p, const char *name);
/* A loop that writes to the file does: waits until it is seen to. And that it does not, for a time
 * in which a running one writes fifteen times. */
void boxd_grows(const struct boxd_peer *p, const char *name);
void boxd_rests(const struct boxd_peer *p, const char *name);
/* The integer of "key":N in a JSON text; fails where it is not there. */
int64_t boxd_number(const char *json, const char *key);
