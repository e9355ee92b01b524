#pragma once
/*
 * asb-gate on its own: the real program, rows of one box in slot 3 with a run of one repository
 * (owner/name) and a turn that is running, and the shim's part spoken by the test. Everything fails
 * the test by itself.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire.h"

struct pool;

#define GATE_BASE_UID 1900040000
#define GATE_SLOT 3
#define GATE_UID (GATE_BASE_UID + 16 + GATE_SLOT)
#define GATE_BOX "box-gatetest"
#define GATE_STREAM(n) (WIRE_STREAM_EGRESS + (n))

/* A new folder of the site, removed by gatesite_stop; memory of the pool. */
const char *gatesite_dir(struct pool *pool);
/* The rows, and the program with these settings ("NAME=value", NULL-ended). */
void gatesite_start(struct pool *pool, const char *dir, const char *const *settings);
/* The same; what the program says on stderr is added to the folder's `log`. */
void gatesite_start_logged(struct pool *pool, const char *dir, const char *const *settings);
/* The program alone. */
void gatesite_program(struct pool *pool, const char *dir, const char *const *settings);
void gatesite_end(void); /* the program; another may be started in its place */
void gatesite_stop(const char *dir);

/* The model's endpoint of tests/support, which wants this key and writes what it was asked to the
 * folder's `requests`; its port. The caller ends it. */
int gatesite_model(struct pool *pool, const char *dir, const char *key_text, pid_t *endpoint);
/* The text of a file in the folder; memory of the pool. "" where there is none. */
const char *gatesite_file(struct pool *pool, const char *dir, const char *name);

int port_free(void);
void command_run(const char *const *argv); /* must exit with 0 within 30 s */
void file_write(const char *path, const char *text);

struct gate_peer {
	int fd;
	struct wire_decoder in;
};
/* Connects as this uid (a child becomes it and hands the socket over) and attaches. */
void gate_peer_open(struct gate_peer *p, const char *dir, uid_t uid);
void gate_peer_close(struct gate_peer *p);
void gate_peer_send(
	struct gate_peer *p, enum wire_type type, uint32_t stream, const void *data, size_t n);
void gate_peer_say(struct gate_peer *p, enum wire_type type, uint32_t stream, const char *text);
void gate_peer_credit(struct gate_peer *p, uint32_t stream, uint64_t value);
/* The next frame, or false when the gate closed the connection. */
bool gate_peer_next(struct gate_peer *p, struct wire_frame *f);
/* Opens a route stream, sends a request and collects the answer until EOF or REFUSE (*whole, which
 * may be NULL: it was EOF). NULs become spaces. Memory of the pool. */
const char *gate_peer_ask(
	struct gate_peer *p, struct pool *pool, uint32_t stream, const char *request, bool *whole);
/* The same where the request was sent already. */
const char *gate_peer_answer(struct gate_peer *p, struct pool *pool, uint32_t stream, bool *whole);
