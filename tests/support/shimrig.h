#pragma once
/*
 * A real asb-shim around a box that the test itself plays: the shim starts this very program again
 * as its box (process runtime), which hands its end of the channel to the test and then only sits
 * there to be killed. Whatever fails here ends the test program.
 */
#include <sys/types.h>

#include "boxlink.h"

struct json_object;

struct rig {
	char dir[40];
	pid_t shim, box;
	struct boxlink link; /* the box's end of the channel */
	int fds[2];	     /* behind it */
};

/* First thing in main: does not return where this process is the box. */
void shimrig_main(int argc, char **argv);
/* env: "NAME=value" more for the shim, ended by NULL; may be NULL. */
void shimrig_start(struct rig *rig, const char *const *env);
/* The box's part of the handshake. skew_ms is added to the time it says it has. */
void shimrig_greet(struct rig *rig, int64_t skew_ms);
/* shimrig_start and shimrig_greet. */
void shimrig_ready(struct rig *rig);
/* Kills what lives, removes the folder. */
void shimrig_stop(struct rig *rig);
/* Was the process gone (or a zombie) within so many ms? */
bool gone_within(pid_t pid, int ms);

struct peerlink {
	struct boxlink link;
	int fd;
};
/* A connection to the shim's socket; nothing said yet. */
void peer_connect(struct rig *rig, struct peerlink *p);
void peer_attach(struct peerlink *p, const char *lane, int epoch);
/* peer_connect, peer_attach, and HELLO taken; hello (may be NULL) is the caller's to free. */
void peer_hello(struct rig *rig, struct peerlink *p, const char *lane, int epoch,
	struct json_object **hello);
void peer_end(struct peerlink *p);
/* The next frame is an ERROR on stream 0 with this code. */
void want_error(struct peerlink *p, const char *code);
/* The next frame has this type and stream. */
void want_frame(struct boxlink *l, enum wire_type type, uint32_t stream, struct wire_frame *f);
/* Nothing comes for so many ms. */
void want_silence(struct boxlink *l, int ms);
void send_json(struct boxlink *l, enum wire_type type, uint32_t stream, const char *json);
void send_credit(struct boxlink *l, uint32_t stream, uint64_t value);
void send_output(struct boxlink *l, uint32_t stream, uint64_t offset, const void *data, size_t n);
/* A runner starts an exec and the box takes it: EXEC, STARTED. */
void shimrig_exec(struct rig *rig, struct peerlink *p, uint32_t stream);
