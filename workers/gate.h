#pragma once
/*
 * asb-gate inside: connections of shims, the streams their boxes opened, and the transfers that
 * serve them. gate_server.c speaks frames, gate_stream.c is one request from its first byte to its
 * egress row, gate_fetch.c is libcurl on our loop, gate_model.c what a model call is besides,
 * gate_pkg.c the package indexes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <curl/curl.h>

#include "buf.h"
#include "err.h"
#include "gate_http.h"
#include "gate_pkg.h"
#include "gate_routes.h"
#include "gate_usage.h"
#include "secret.h"
#include "wire.h"

struct config;
struct db;
struct loop;
struct pool;
struct watch;

#define GATE_STREAMS_PER_BOX 64 /* a git clone uses 1, an agent 2 to 5 */
/* Connections a box may open at once, and one in so many ms from then on: each leaves a row. */
#define GATE_OPENS_BURST 256
#define GATE_OPEN_MS 30
#define GATE_BYTES_MAX (2LL << 30) /* down a stream; a larger repository wants a shallow clone */

struct gate {
	const struct config *cfg;
	struct loop *loop;
	struct db *db;
	int listen_fd;
	CURLM *multi;
	struct watch *curl_timer;
	struct gate_conn *conns;
	struct seal_key seal; /* opens secrets; without a name where the site has none */
	struct watch *seal_tell;
};

struct gate_conn {
	struct gate *gate;
	struct gate_conn *next, **prev;
	int fd;
	struct watch *watch;
	uid_t peer_uid;
	struct wire_decoder in;
	struct buf out;
	bool attached;
	char box[40];
	int64_t opens_ms;      /* when all its OPENs so far are paid for */
	int64_t package_bytes; /* from package indexes so far; loaded where package_known */
	bool package_known;
	struct gate_stream *streams;
	size_t nstreams;
};

/* A request to the model's host under way: what its row will say, and the key's cover. */
struct model_call {
	int64_t start_ms, first_ms; /* time_boot_ms; first_ms 0: no head yet */
	const char *path;
	int status;
	bool is_stream, is_json;
	struct usage usage;
	const char *key; /* never shown: its bytes come out of an answer as stars */
	size_t key_n;
	struct buf held; /* the end of what came that may be the beginning of the key */
	bool has_row;
};

struct gate_stream {
	struct gate_conn *conn;
	struct gate_stream *next, **prev;
	struct pool *pool;
	uint32_t id;
	enum { STREAM_HEAD, STREAM_FETCH, STREAM_ENDED } state;
	struct gate_caller who;
	const struct gate_route *route;
	struct gate_target to;
	struct http_request req;
	struct http_body body;
	struct buf raw;		     /* bytes from the box not read yet */
	struct buf decoded;	     /* body bytes waiting for curl */
	uint64_t received, credited; /* from the box */
	uint64_t sent, allowed;	     /* to the box */
	CURL *easy;
	struct curl_slist *headers;
	struct buf head;	 /* response head being collected */
	struct model_call *call; /* NULL: another route, or not begun */
	struct rewrite *rewrite; /* NULL: the answer goes down as it came */
	const char *stopped;	 /* NULL, or the reason why a package route was cut off */
	int64_t window_ms;	 /* when the box's package window was last seen open */
	int64_t body_bytes;	 /* decoded, of the request */
	enum err_code
		body_error; /* ERR_NONE, or how the request's body went wrong while curl read it */
	bool head_sent, chunked, read_paused, write_paused;
};

/* gate_server.c */
bool gate_listen(struct gate *g, int fd, struct err *err) NODISCARD;
void gate_conn_send(
	struct gate_conn *c, enum wire_type type, uint32_t stream, const void *payload, size_t n);
void gate_conn_flush(struct gate_conn *c); /* may close c: touch nothing of it afterwards */
void gate_close_all(struct gate *g);

/* gate_stream.c */
void gate_stream_open(struct gate_conn *c, const struct wire_frame *f);
void gate_stream_data(struct gate_stream *s, const struct wire_frame *f);
void gate_stream_eof(struct gate_stream *s); /* the box's side has said all */
void gate_stream_credit(struct gate_stream *s, uint64_t allowed);
void gate_stream_free(struct gate_stream *s); /* without another word to the box */
/* Ends the stream with a short answer of our own, and its row. */
void gate_stream_refuse(struct gate_stream *s, int status, const char *reason, const char *message);
/* The transfer is over: EOF to the box, the row, gone. error: NULL or what went wrong. */
void gate_stream_finish(struct gate_stream *s, const char *error);
/* Sends bytes under credit; false: not now. */
bool gate_stream_send(struct gate_stream *s, const void *data, size_t n);
bool gate_stream_has_room(const struct gate_stream *s, size_t n);
/* Is the window of a package route still open? Reads the box's row anew. ERR_FORBIDDEN `sealed`: it
 * is not; ERR_BUSY `gate_unavailable`: that cannot be read now, so that nothing may come in either.
 */
bool gate_stream_window(struct gate_stream *s, struct err *err) NODISCARD;
/* curl took body bytes: reads on and lets the box send more. */
void gate_stream_body_more(struct gate_stream *s);
void gate_egress_row(struct gate *g, const struct gate_caller *who, const char *route,
	const char *target, bool allowed, const char *reason, uint64_t up, uint64_t down);

/* gate_model.c: for a stream with a call. */
void model_call_begin(struct gate_stream *s);
void model_call_done(struct gate_stream *s); /* writes the row, unless it is written */
/* A line of the answer's head; false: the answer may not go on. */
bool model_call_header(struct model_call *m, const char *line, size_t n);
void model_call_head(struct model_call *m, long status);
/* Body bytes as they may be shown, in the empty out; no more than came and MODEL_KEY_MAX. */
void model_call_body(struct model_call *m, const char *data, size_t n, struct buf *out);
/* The rest of them. NULL, or the word for how the answer is not whole although it ended well. */
const char *model_call_end(struct model_call *m, struct buf *out);
/* Ends it as this, in the row. */
void model_call_error(struct model_call *m, const char *word);
/* What a client of the model's API reads: the text of an error. */
const char *model_error_json(struct pool *pool, int status, const char *message);
#define MODEL_KEY_MAX SECRET_VALUE_MAX

/* gate_secret.c */
/* Reads the key that opens secrets, and tells its public half in a row as soon as there is a
 * database. */
bool gate_secret_init(struct gate *g, struct err *err) NODISCARD;
/* Sets who->model_key where the account has entered one. */
bool gate_secret_load(struct gate_stream *s, struct err *err) NODISCARD;

/* gate_fetch.c */
bool fetch_init(struct gate *g, struct err *err) NODISCARD;
bool fetch_start(struct gate_stream *s, struct err *err) NODISCARD;
void fetch_resume(struct gate_stream *s); /* bytes to read came, or credit to write */
void fetch_stop(struct gate_stream *s);
