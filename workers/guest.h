#pragma once
/*
 * The runner's side of a box: a connection to its shim in one lane, and the requests that go over
 * it. Everything waits under a deadline (time_boot_ms) and wakes for the worker's cancel and term.
 * What comes is hostile: text is the caller's to sanitise, and a frame that should not come ends
 * the connection as "protocol".
 *
 * Errors are ERR_UPSTREAM (ERR_TIMEOUT past a deadline, ERR_BUSY "term" where the worker wants us
 * gone) with a reason word of turns.reason where the box or its agent died.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/wire.h"
#include "buf.h"
#include "err.h"

struct json_object;
struct runner;

struct guest {
	struct runner *r;
	int fd; /* -1: not attached */
	struct wire_decoder in;
	const char *lane;
	bool resume;		   /* attaching lets a paused box go on */
	struct json_object *hello; /* the shim's facts */
	uint32_t agent;		   /* the stream whose frames guest_next hands out; 0: none */
	uint32_t request;	   /* the stream of the request under way; 0: none */
	uint32_t next_stream, end_stream; /* a reserved block of boxes.next_stream */
};
#define GUEST_INIT(runner) ((struct guest){.r = (runner), .fd = -1})

/* Connects and attaches, trying again until the deadline while the shim is not there or the box is
 * not ready. Streams of the lane that no one follows, but `agent`, are killed and forgotten. */
bool guest_attach(struct guest *g, const char *lane, uint32_t agent, int64_t deadline,
	struct err *err) NODISCARD;
void guest_detach(struct guest *g);
void cleanup_guest(struct guest *g);
/* Facts of the box. "" where the shim did not say. */
const char *guest_boot_id(const struct guest *g);
const char *guest_kernel(const struct guest *g);
const char *guest_machine(const struct guest *g); /* JSON text in the job's pool */
/* The shim knows this stream: it was started, and its EXIT is not committed yet. */
bool guest_has_exec(const struct guest *g, uint32_t stream);
/* The id of the question that is open in the box; NULL: none. */
const char *guest_question(const struct guest *g);

/* A stream number that no one ever had in this box. */
bool guest_stream(struct guest *g, uint32_t *stream, struct err *err) NODISCARD;
/* Takes some for later, while there is time. */
bool guest_streams_take(struct guest *g, struct err *err) NODISCARD;
bool guest_send(struct guest *g, enum wire_type type, uint32_t stream, const void *data, size_t n,
	struct err *err) NODISCARD;
/* EXEC, and with input (NULL: none) its one STDIN of n bytes (at most WIRE_PAYLOAD_MAX) and EOF. In
 * one write: a runner is killed before or behind it, and no process waits for the rest of its
 * input.
 */
bool guest_send_exec(struct guest *g, uint32_t stream, const char *json, const void *input,
	size_t n, struct err *err) NODISCARD;
/* The acknowledgement of output below `offset`, and of an EXIT. */
bool guest_ack(struct guest *g, uint32_t stream, uint64_t offset, struct err *err) NODISCARD;
bool guest_ack_exit(struct guest *g, uint32_t stream, struct err *err) NODISCARD;

enum guest_event {
	GUEST_FRAME,
	GUEST_IDLE,    /* the deadline passed */
	GUEST_CONTROL, /* the worker said something: look at r->cancel and r->term */
};
/* The next thing that happens. The frame's payload is good until the next call on g. */
bool guest_next(struct guest *g, int64_t deadline, enum guest_event *event,
	struct wire_frame *frame, struct err *err) NODISCARD;
/* A control frame's payload as JSON, else "protocol". */
bool guest_json(
	const struct wire_frame *frame, struct json_object **out, struct err *err) NODISCARD;

/* --- guest_ops.c: one request at a time, each on a stream of its own --- */

/* Bytes of an exec's stdout (1) or stderr (2), or of a tar. */
typedef bool guest_sink(void *arg, int stream, const void *data, size_t n, struct err *err);
/* Where bytes for stdin or a tar come from: fills at most `size`, *n 0 at the end. */
typedef bool guest_source(void *arg, void *data, size_t size, size_t *n, struct err *err);

struct guest_exec {
	const char *const *argv;
	const char *const *env; /* pairs: name, value, ...; NULL: none */
	const char *cwd, *user;
	const char *stdin_data; /* NULL: no stdin */
	size_t stdin_size;
	int64_t timeout_ms;
	guest_sink *sink; /* NULL: output is dropped, but for the last words of stderr */
	void *arg;
	/* filled */
	int64_t exit_code; /* -1: by a signal */
	char said[200];	   /* the last of stderr, for error sentences; as the box wrote it */
};
bool guest_exec(struct guest *g, struct guest_exec *x, int64_t deadline, struct err *err) NODISCARD;
/* guest_exec, and anything but exit 0 is ERR_UPSTREAM "what: <last of stderr>". */
bool guest_exec_ok(struct guest *g, struct guest_exec *x, const char *what, int64_t deadline,
	struct err *err) NODISCARD;
/* A guest_sink that keeps the first of stdout: arg is a struct guest_said. */
struct guest_said {
	char text[96]; /* ends with a NUL; more than fits is dropped by whole reads */
	size_t n;
};
bool guest_said_read(void *arg, int stream, const void *data, size_t n, struct err *err);
/* Unpacks a tar at path as user; ERR_INVALID "tree" naming the entry that was refused. */
bool guest_tar_in(struct guest *g, const char *path, const char *user, guest_source *source,
	void *arg, int64_t deadline, struct err *err) NODISCARD;
/* One file: in one frame where it is a small text and dir is boxd's own, else as a tar. */
bool guest_file_in(struct guest *g, const char *dir, const char *name, const char *user,
	unsigned mode, const void *data, size_t n, int64_t deadline, struct err *err) NODISCARD;
bool guest_tar_out(struct guest *g, const char *path, int64_t max_bytes, guest_sink *sink,
	void *arg, int64_t deadline, struct err *err) NODISCARD;
/* From lane admin: stops the box until somebody attaches with `resume`. Nothing may run in it. */
bool guest_pause(struct guest *g, int64_t deadline, struct err *err) NODISCARD;
/* LIST, READ, SEARCH or DIFF (wire.h). Its bytes go to sink, DONE's JSON is the caller's.
 * ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_INVALID of the path. */
bool guest_look(struct guest *g, enum wire_type type, struct json_object *request, guest_sink *sink,
	void *arg, struct json_object **done, int64_t deadline, struct err *err) NODISCARD;
/* The box tries to reach out. *text: its PROBE answer, in the job's pool. */
bool guest_probe(struct guest *g, const char **text, bool *sealed, int64_t deadline,
	struct err *err) NODISCARD;
/* The code of an exec: a file that goes with it. text NULL: it is there already. ahead: the box may
 * begin the next such exec before it is asked for. */
struct guest_code {
	const char *path, *text;
	bool ahead;
};
/* The JSON of a WIRE_EXEC, for who starts one that is followed by guest_next. code NULL: none. */
const char *guest_exec_json(struct guest *g, const char *const *argv, const char *const *env,
	const char *cwd, const char *user, bool has_stdin, int64_t timeout_ms, const char *ask,
	const struct guest_code *code);
/* Whether this text fits one frame beside what else goes with an exec. */
bool guest_text_fits(const void *data, size_t n);
